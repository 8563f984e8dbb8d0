// SPDX-License-Identifier: Apache-2.0
// Become due: the time of a scheduled job, or of the retry of a failed one, has come. last_verb
// stays: a worker may still repeat the verb that ended its attempt.
#include "core/job/transitions/transition.h"

namespace weir::core {
namespace {

bool is_due(const Job& job, Now now) {
  switch (job.state) {
    case JobState::scheduled:
      return job.due_at.is_set() ? job.due_at <= now.store : job.run_at <= now.wall;
    case JobState::failed:
      return job.due_at <= now.store;
    default:
      return false;
  }
}

}  // namespace

Decided decide_become_due(Deciding& d, const BecomeDue& command) {
  const FoundJob found = find_timed_job(d, command.job);
  if (found.job == nullptr || !is_due(*found.job, d.now())) return Nothing{};
  const Job& before = *found.job;
  JobChange& change = start_change(d, before);
  change.after.due_at = StoreTime::none();
  move_to(d, change, before, Verb::become_due, JobState::pending);
  commit_riding(d);
  return moved(change.after);
}

}  // namespace weir::core
