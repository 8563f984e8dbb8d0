// SPDX-License-Identifier: Apache-2.0
// Purge: removes the named jobs of a queue, the waiting ones only, or all when the queue is being
// deleted. Ids that are gone or do not qualify are passed over, so that a slice may be repeated.
#include <unordered_set>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_purge(Deciding& d, const Purge& command) {
  WEIR_TRY_ASSIGN(const Queue* queue, find_queue(d, command.queue));
  Removed answer;
  std::unordered_set<JobId> seen;
  d.out.jobs.reserve(command.slice.size());
  for (const JobId id : command.slice) {
    if (!seen.insert(id).second) continue;
    const Job* job = d.view.job(id);
    if (job == nullptr || job->queue != queue->id) continue;
    if (!queue->is_deleted && !is_waiting(job->state)) continue;
    remove_job(d, *job, Verb::purge);
    ++answer.count;
  }
  if (!queue->is_deleted) audit(d, "purge", "queue " + queue->name);
  commit_by(d, *queue);
  return answer;
}

}  // namespace weir::core
