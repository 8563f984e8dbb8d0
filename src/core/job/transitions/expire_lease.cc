// SPDX-License-Identifier: Apache-2.0
// Expire lease: the deadline has passed without an extend. Counts as a failure of class timeout,
// under the same policy and the same bound: a job that kills its workers ends dead too.
#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_expire_lease(Deciding& d, const ExpireLease& command) {
  const FoundJob found = find_timed_job(d, command.job);
  if (found.job == nullptr || found.job->state != JobState::processing ||
      found.job->lease->deadline_at > d.now().store) {
    return Nothing{};
  }
  JobChange& change = start_change(d, *found.job);
  const Lease& lease = *found.job->lease;
  if (lease.owner == OwnerKind::connection && lease.boot != d.context.epoch) {
    // Its connection ended with the server that granted it.
    commit_riding(d);
    return give_back(d, change, found, Verb::expire_lease, AttemptOutcome::released,
                     "the server was restarted");
  }
  ++change.after.counters.timeouts;
  if (effective_max_attempts(*found.job, *found.queue) == kUnbounded) {
    commit_riding(d);
    return give_back(d, change, found, Verb::expire_lease, AttemptOutcome::timeout,
                     "lease expired");
  }
  Outcome outcome = fail_attempt(d, change, found,
                                 {.verb = Verb::expire_lease,
                                  .outcome = AttemptOutcome::timeout,
                                  .error = {.error_class = "timeout", .message = "lease expired"}});
  // Nobody waits for the answer.
  commit_riding(d);
  d.out.answer.durable = true;
  return outcome;
}

}  // namespace weir::core
