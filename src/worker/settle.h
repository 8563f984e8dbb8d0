// SPDX-License-Identifier: Apache-2.0
// Tells the server how a run ended, again and again until it has heard: a result that was worked
// for is not given up because the server restarts.
#pragma once

#include <functional>

#include "base/clock.h"
#include "client/job_api.h"
#include "worker/backoff.h"
#include "worker/handler.h"

namespace weir::worker {

// What to tell for a run that ended with `result` while `reason` was raised. Pure.
//   lease_lost  nothing (nullopt)
//   timeout     an ack stays an ack, all else is a failure of class timeout
//   stopping    an ack stays an ack, all else is given back uncharged
std::optional<HandlerResult> outcome_to_tell(HandlerResult result, CancelReason reason,
                                             std::int64_t timeout_ms);

struct SettleContext {
  client::JobApi& api;
  const Clock& clock;
  Backoff backoff;
  std::int64_t lease_ms;
  // Waits that long; false when there is no more time to wait (the process is ending).
  std::function<bool(std::int64_t)> wait;
  const Cancel& cancel;  // a lease that is lost meanwhile ends the repeats
};

// True when the server took it (or had it already).
bool settle(SettleContext context, const client::ClaimedJob& job, const HandlerResult& outcome);

}  // namespace weir::worker
