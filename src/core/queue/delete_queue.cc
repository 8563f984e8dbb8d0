// SPDX-License-Identifier: Apache-2.0
// Delete queue: an empty queue goes at once, with the answer Removed. With force one with jobs is
// marked (answer QueueChanged); the engine then removes its jobs in slices and repeats the command.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_delete_queue(Deciding& d, const DeleteQueue& command) {
  WEIR_TRY_ASSIGN(const Queue* queue, find_queue(d, command.queue));
  const std::uint64_t jobs = d.view.counts(queue->id).total();
  const bool was_marked = queue->is_deleted;
  if (jobs == 0) {
    d.out.queues.push_back({.after = *queue, .erase = true, .expected_version = queue->version});
    if (!was_marked) audit(d, "delete", "queue " + queue->name);
    commit_synced(d);
    return Removed{};
  }
  if (was_marked) return QueueChanged{.queue = *queue};
  if (!command.force) {
    return failure(conflict(
        fmt::format("queue \"{}\" has {} jobs; delete it with force=1", queue->name, jobs)));
  }
  Queue after = *queue;
  after.is_deleted = true;
  after.paused = true;
  ++after.version;
  d.out.queues.push_back({.after = after, .expected_version = queue->version});
  audit(d, "delete", "queue " + queue->name);
  commit_synced(d);
  return QueueChanged{.queue = std::move(after)};
}

}  // namespace weir::core
