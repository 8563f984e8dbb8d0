// SPDX-License-Identifier: Apache-2.0
// The guard around a handler: what user code throws is a failed attempt, not the end of the worker.
#pragma once

#include "worker/handler.h"

namespace weir::worker {

// Runs the handler; an exception becomes a failure of class exception with its text.
HandlerResult run_guarded(Handler& handler, const client::ClaimedJob& job, const Cancel& cancel);

}  // namespace weir::worker
