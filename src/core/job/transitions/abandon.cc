// SPDX-License-Identifier: Apache-2.0
// Abandon: the connection that a lease is bound to has ended. At a stop of the server, and in a
// queue that gives leases back, nobody failed; else the attempt is charged, as a crash.
#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_abandon(Deciding& d, const Abandon& command) {
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::release));
  const Job& before = *held.found.job;
  if (held.is_repeated) return moved(before);
  JobChange& change = start_held_change(d, before);
  if (command.is_server_stop) {
    commit_by(d, *held.found.queue);
    return give_back(d, change, held.found, Verb::release, AttemptOutcome::released,
                     "the server stops");
  }
  if (effective_max_attempts(before, *held.found.queue) == kUnbounded) {
    // Nobody waits for the answer.
    commit_riding(d);
    return give_back(d, change, held.found, Verb::release, AttemptOutcome::released,
                     "connection closed");
  }
  Outcome outcome =
      fail_attempt(d, change, held.found,
                   {.verb = Verb::expire_lease,
                    .outcome = AttemptOutcome::crash,
                    .error = {.error_class = "crash", .message = "connection closed"}});
  commit_riding(d);
  d.out.answer.durable = true;
  return outcome;
}

}  // namespace weir::core
