// SPDX-License-Identifier: Apache-2.0
// Promote: a scheduled or failed job may be claimed now.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_promote(Deciding& d, const Promote& command) {
  WEIR_TRY_ASSIGN(const FoundJob found, find_job(d, command.job));
  const Job& before = *found.job;
  if (before.state != JobState::scheduled && before.state != JobState::failed) {
    return failure(
        conflict(fmt::format("job {} is {}; only scheduled and failed jobs can be promoted",
                             before.id.value, to_string(before.state))));
  }
  JobChange& change = start_change(d, before);
  ++change.after.counters.kicks;
  set_start(change.after, {.run_at = d.now().wall});
  move_to(d, change, before, Verb::promote, JobState::pending);
  audit(d, "promote", job_subject(before.id));
  commit_by(d, *found.queue);
  return moved(change.after);
}

}  // namespace weir::core
