// SPDX-License-Identifier: Apache-2.0
// Replay: an operator gives an ended job, but never a completed one, its attempts anew. It goes to
// the back of its lane.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {
namespace {

// Takes the job's unique key again. Errors: conflict when another living job has it.
Result<void> take_key_again(Deciding& d, const Job& job) {
  if (job.unique_key.empty()) return {};
  const UniqueKey* entry = d.view.unique_key(job.queue, job.unique_key);
  if (entry != nullptr && entry->job == job.id) return {};  // its window still runs
  UniqueKeyChange change{.after = {.queue = job.queue, .key = job.unique_key, .job = job.id}};
  if (entry != nullptr) {
    const Job* other = d.view.job(entry->job);
    if (other != nullptr && !is_ended(other->state)) {
      return failure(conflict(fmt::format("the unique key of job {} is taken by job {}",
                                          job.id.value, other->id.value)));
    }
    change.expected_job = entry->job;
  }
  d.out.unique_keys.push_back(std::move(change));
  return {};
}

}  // namespace

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
  WEIR_TRY(take_key_again(d, before));

  JobChange& change = start_change(d, before);
  Job& job = change.after;
  job.budget_start = job.attempt;
  job.excused_since = 0;
  ++job.counters.kicks;
  job.rank = static_cast<std::int64_t>(d.context.ids.next_job_id().value);
  job.last_verb = Verb::replay;
  job.completed_at = WallTime::none();
  job.dead_at = WallTime::none();
  job.ended_at = StoreTime::none();
  job.dead_reason.clear();
  job.expires_at = job.ttl_ms > 0 ? d.now().store.plus(job.ttl_ms) : StoreTime::none();
  set_start(job, {.run_at = d.now().wall});
  move_to(d, change, before, Verb::replay, JobState::pending);
  audit(d, "replay", job_subject(before.id), command.reason);
  commit_by(d, *found.queue);
  return moved(job);
}

}  // namespace weir::core
