// SPDX-License-Identifier: Apache-2.0
// Kick: jobs that are dead or wait for their time may be claimed now. Unlike a replay they keep
// their places.
#include <unordered_set>

#include "core/job/transitions/transition.h"

namespace weir::core {
namespace {

// False: the job does not qualify.
bool kick_one(Deciding& d, const FoundJob& found) {
  const Job& before = *found.job;
  const bool is_dead = before.state == JobState::dead;
  const bool waits = before.state == JobState::scheduled || before.state == JobState::failed;
  if ((!is_dead && !waits) || found.queue->is_deleted) return false;
  JobChange& change = start_change(d, before);
  Job& job = change.after;
  // Another living job may have taken its unique key.
  if (is_dead && !revive(d, job)) {
    d.out.jobs.pop_back();
    return false;
  }
  ++job.counters.kicks;
  set_start(job, {.run_at = d.now().wall});
  if (is_dead) job.last_verb = Verb::replay;
  move_to(d, change, before, is_dead ? Verb::replay : Verb::promote, JobState::pending);
  commit_by(d, *found.queue);
  return true;
}

}  // namespace

Decided decide_kick(Deciding& d, const Kick& command) {
  Kicked answer;
  std::unordered_set<JobId> seen;
  d.out.jobs.reserve(command.jobs.size());
  for (const JobId id : command.jobs) {
    if (!seen.insert(id).second) continue;
    const Result<FoundJob> found = find_job(d, id);
    if (found && kick_one(d, *found)) ++answer.count;
  }
  if (answer.count > 0) audit(d, "kick", command.subject);
  return answer;
}

}  // namespace weir::core
