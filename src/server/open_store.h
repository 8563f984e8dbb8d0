// SPDX-License-Identifier: Apache-2.0
// Opens the store that the configuration names.
#pragma once

#include <memory>

#include "base/clock.h"
#include "config/config.h"
#include "store/store.h"

namespace weir::server {

// Errors: conflict (the directory is in use), corruption, unsupported, io_error, store_full.
Result<std::unique_ptr<store::Store>> open_store(const config::ServerConfig& server,
                                                 const Clock& clock);

}  // namespace weir::server
