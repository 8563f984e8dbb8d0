// SPDX-License-Identifier: Apache-2.0
// What has been committed and not synced, and when it must be: at once for answers that wait,
// within the queue's interval, within a second for claims that ride. Also which queues hold jobs
// whose own enqueue is not durable yet: those are not handed out before it is.
#pragma once

#include <cstdint>
#include <limits>
#include <unordered_set>

#include "base/result.h"
#include "core/change.h"
#include "engine/registry.h"
#include "store/store.h"

namespace weir::engine {

inline constexpr std::int64_t kRideMsMax =
    1000;  // claims become durable within this time even on an idle server

// One thread.
class SyncBook {
 public:
  // `change` was applied at `boot_ms`; the intervals of its queues are looked up in `registry`.
  void note(const core::ChangeSet& change, const Registry& registry, std::int64_t boot_ms);

  bool is_due(std::int64_t boot_ms) const { return now_ || due_boot_ms_ <= boot_ms; }
  // The largest number when everything is synced.
  std::int64_t due_boot_ms() const { return due_boot_ms_; }
  bool has_unsynced_enqueue(core::QueueId queue) const { return enqueues_.contains(queue); }

  // Syncs and starts a clean page. Errors: those of the store (it is stopped).
  Result<void> sync(store::Store& store);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  bool now_ = false;
  std::int64_t due_boot_ms_ = kNever;
  std::unordered_set<core::QueueId> enqueues_;
};

}  // namespace weir::engine
