// SPDX-License-Identifier: Apache-2.0
#include "store/memory/tables.h"

#include <algorithm>

namespace weir::store::memory {

namespace {

bool holds(const Tables& tables, const core::JobChange& change) {
  const core::JobGuard& guard = change.guard;
  const core::Job* job = find_in(tables.jobs, change.after.id);
  if (guard.absent || job == nullptr) return guard.absent == (job == nullptr);
  if (job->state != guard.state || job->attempt != guard.attempt || job->version != guard.version) {
    return false;
  }
  if (!guard.deadline_after.is_set()) return true;
  return job->lease && job->lease->deadline_at > guard.deadline_after;
}

bool holds(const Tables& tables, const core::UniqueKeyChange& change) {
  const core::UniqueKey* entry =
      find_in(tables.unique_keys, {change.after.queue, change.after.key});
  if (change.expected_job) return entry != nullptr && entry->job == *change.expected_job;
  return entry == nullptr || entry->job == change.after.job;
}

bool holds(const Tables& tables, const core::GroupLockChange& change) {
  const core::GroupLock* lock =
      find_in(tables.group_locks, {change.after.queue, change.after.group});
  if (change.expected_holder) return lock != nullptr && lock->holder == *change.expected_holder;
  return lock == nullptr;
}

bool holds(const Tables& tables, const core::QueueChange& change) {
  const core::Queue* queue = find_in(tables.queues, change.after.id);
  if (change.expected_version != 0) {
    return queue != nullptr && queue->version == change.expected_version;
  }
  return queue == nullptr &&
         !tables.queue_names.contains({change.after.namespace_id, change.after.name});
}

bool holds(const Tables& tables, const core::IdempotencyChange& change) {
  return change.erase || !tables.idempotency.contains(change.after.scope);
}

template <typename Change>
bool all_hold(const Tables& tables, const std::vector<Change>& changes) {
  return std::all_of(changes.begin(), changes.end(),
                     [&tables](const Change& change) { return holds(tables, change); });
}

}  // namespace

bool guards_hold(const Tables& tables, const core::ChangeSet& change_set) {
  return all_hold(tables, change_set.jobs) && all_hold(tables, change_set.unique_keys) &&
         all_hold(tables, change_set.group_locks) && all_hold(tables, change_set.queues) &&
         all_hold(tables, change_set.idempotency);
}

}  // namespace weir::store::memory
