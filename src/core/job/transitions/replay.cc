// SPDX-License-Identifier: Apache-2.0
// Replay: an operator gives an ended job, but never a completed one, its attempts anew. It goes to
// the back of its lane.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_replay(Deciding& d, const Replay& command) {
  WEIR_TRY_ASSIGN(const FoundJob found, find_job(d, command.job));
  const Job& before = *found.job;
  if (!is_legal_edge(Verb::replay, before.state, JobState::pending)) {
    return failure(
        conflict(fmt::format("job {} is {}; only dead, cancelled and expired jobs can be replayed",
                             before.id.value, to_string(before.state))));
  }
  if (found.queue->is_deleted) {
    return failure(conflict(fmt::format("queue \"{}\" is being deleted", found.queue->name)));
  }
  JobChange& change = start_change(d, before);
  Job& job = change.after;
  WEIR_TRY(revive(d, job));
  ++job.counters.kicks;
  job.rank = static_cast<std::int64_t>(d.context.ids.next_job_id().value);
  job.last_verb = Verb::replay;
  set_start(job, {.run_at = d.now().wall});
  move_to(d, change, before, Verb::replay, JobState::pending);
  audit(d, "replay", job_subject(before.id), command.reason);
  commit_by(d, *found.queue);
  return moved(job);
}

}  // namespace weir::core
