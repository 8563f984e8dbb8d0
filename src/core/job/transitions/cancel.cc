// SPDX-License-Identifier: Apache-2.0
// Cancel: a job that has not ended stops here. Of a running one the lease ends too; its worker
// hears lease_lost.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_cancel(Deciding& d, const Cancel& command) {
  WEIR_TRY_ASSIGN(const FoundJob found, find_job(d, command.job));
  const Job& before = *found.job;
  if (before.state == JobState::cancelled) return moved(before);
  if (is_ended(before.state)) {
    return failure(
        conflict(fmt::format("job {} is {}; only jobs that have not ended can be cancelled",
                             before.id.value, to_string(before.state))));
  }
  JobChange& change = start_change(d, before);
  if (before.lease) {
    end_attempt(d, change, before,
                {.outcome = AttemptOutcome::cancelled, .reason = command.reason});
    change.after.last_verb = Verb::cancel;
  }
  end_job(d, change, before, Verb::cancel, JobState::cancelled);
  audit(d, "cancel", job_subject(before.id), command.reason);
  commit_by(d, *found.queue);
  return moved(change.after);
}

}  // namespace weir::core
