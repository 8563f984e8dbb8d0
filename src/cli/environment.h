// SPDX-License-Identifier: Apache-2.0
// The process's environment, as far as weir reads it.
#pragma once

#include "config/config.h"

namespace weir::cli {

// WEIR_* and what systemd gives (STATE_DIRECTORY, NOTIFY_SOCKET, WATCHDOG_…).
config::Environment process_environment();

}  // namespace weir::cli
