// SPDX-License-Identifier: Apache-2.0
#include "engine/sync_book.h"

#include <algorithm>

namespace weir::engine {

void SyncBook::note(const core::ChangeSet& change, const Registry& registry, std::int64_t boot_ms) {
  for (const core::JobChange& job : change.jobs) {
    if (job.guard.absent) enqueues_.insert(job.after.queue);
  }
  switch (change.commit_class) {
    case core::CommitClass::none:
      break;
    case core::CommitClass::sync:
      now_ = true;
      break;
    case core::CommitClass::ride:
      due_boot_ms_ = std::min(due_boot_ms_, boot_ms + kRideMsMax);
      break;
    case core::CommitClass::interval:
      for (const core::JobChange& job : change.jobs) {
        const core::Queue* queue = registry.queue(job.after.queue);
        const std::int64_t interval_ms =
            queue == nullptr ? kRideMsMax : queue->settings.durability_interval_ms;
        due_boot_ms_ =
            std::min(due_boot_ms_, saturating_add(boot_ms, std::max<std::int64_t>(interval_ms, 1)));
      }
      // Changes without a job are never left behind for longer than a claim is.
      if (change.jobs.empty()) due_boot_ms_ = std::min(due_boot_ms_, boot_ms + kRideMsMax);
      break;
  }
}

Result<void> SyncBook::sync(store::Store& store) {
  WEIR_TRY(store.sync());
  now_ = false;
  due_boot_ms_ = kNever;
  enqueues_.clear();
  return {};
}

}  // namespace weir::engine
