// SPDX-License-Identifier: Apache-2.0
// See guard.h. One of the three places where exceptions are caught.
#include "worker/guard.h"

#include <exception>

namespace weir::worker {

HandlerResult run_guarded(Handler& handler, const client::ClaimedJob& job, const Cancel& cancel) {
  try {
    return handler.run(job, cancel);
  } catch (const std::exception& error) {
    return HandlerResult::fail({.error_class = "exception", .message = error.what()});
  } catch (...) {
    return HandlerResult::fail(
        {.error_class = "exception", .message = "the handler threw something unknown"});
  }
}

}  // namespace weir::worker
