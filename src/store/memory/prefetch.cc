// SPDX-License-Identifier: Apache-2.0
// MemoryStore::prefetch: loads what a command names and follows it to what deciding needs besides.
#include "store/memory/memory_store.h"

namespace weir::store::memory {

Result<void> MemoryStore::prefetch(const core::ReadSet& wanted, core::View& view) {
  for (const core::JobId id : wanted.jobs) load_job(id, view);
  for (const core::QueueName& name : wanted.queue_names) load_queue(name, view);
  for (const auto& [name, key] : wanted.unique_keys) {
    load_queue(name, view);
    const core::Queue* queue = view.queue(name);
    if (queue != nullptr) load_unique_key(queue->id, key, view);
  }
  for (const core::QueueId id : wanted.queues) load_queue(id, view);
  for (const auto& [queue, key] : wanted.unique_keys_by_id) load_unique_key(queue, key, view);
  for (const Hash128& scope : wanted.idempotency) {
    if (!view.has_idempotency(scope)) {
      view.put_idempotency(scope, find_in(tables_.idempotency, scope));
    }
  }
  for (const std::string& id : wanted.tokens) {
    if (!view.has_token(id)) view.put_token(id, find_in(tables_.tokens, id));
  }
  for (const core::QueueId id : wanted.queue_depths) load_counts(id, view);
  return {};
}

void MemoryStore::load_job(core::JobId id, core::View& view) const {
  if (!view.has_job(id)) view.put_job(id, find_in(tables_.jobs, id));
  // The view's job, not ours: an earlier command of the turn may have made or changed it.
  const core::Job* found = view.job(id);
  if (found == nullptr) return;
  const core::Job job = *found;  // a put may move what the view holds
  load_queue(job.queue, view);
  if (!job.group.empty()) load_group_lock(job.queue, job.group.str(), view);
  if (!job.unique_key.empty()) load_unique_key(job.queue, job.unique_key.str(), view);
}

void MemoryStore::load_queue(core::QueueId id, core::View& view) const {
  if (!view.has_queue(id)) {
    const core::Queue* queue = find_in(tables_.queues, id);
    if (queue != nullptr) {
      view.put_queue(*queue);
    } else {
      view.put_no_queue(id);
    }
  }
  load_counts(id, view);
}

void MemoryStore::load_queue(const core::QueueName& name, core::View& view) const {
  if (!view.has_queue(name)) {
    const core::QueueId* id = find_in(tables_.queue_names, {name.namespace_id, name.name});
    if (id != nullptr) {
      view.put_queue(tables_.queues.at(*id));
    } else {
      view.put_no_queue(name);
    }
  }
  const core::Queue* queue = view.queue(name);
  if (queue != nullptr) load_counts(queue->id, view);
}

void MemoryStore::load_counts(core::QueueId id, core::View& view) const {
  if (!view.has_counts(id)) view.put_counts(id, index_.counts(id));
}

void MemoryStore::load_unique_key(core::QueueId queue, const std::string& key,
                                  core::View& view) const {
  if (!view.has_unique_key(queue, key)) {
    view.put_unique_key(queue, key, find_in(tables_.unique_keys, {queue, key}));
  }
  const core::UniqueKey* entry = view.unique_key(queue, key);
  // A job that is there already was followed when it came; stopping here ends the chain job - key -
  // job.
  if (entry != nullptr && !view.has_job(entry->job)) load_job(entry->job, view);
}

void MemoryStore::load_group_lock(core::QueueId queue, const std::string& group,
                                  core::View& view) const {
  if (view.has_group_lock(queue, group)) return;
  view.put_group_lock(queue, group, find_in(tables_.group_locks, {queue, group}));
}

}  // namespace weir::store::memory
