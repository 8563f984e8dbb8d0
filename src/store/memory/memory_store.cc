// SPDX-License-Identifier: Apache-2.0
#include "store/memory/memory_store.h"

#include <algorithm>

#include "store/due_rule.h"
#include "store/history.h"

namespace weir::store::memory {

namespace {

// Jobs that one scan looks at before it gives a short page.
constexpr std::size_t kScanLooksMax = 1000;

template <typename T>
bool admits(const std::vector<T>& list, const T& value) {
  return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
}

bool admits(const core::LaneFilter& filter, const core::LaneKey& lane) {
  return admits(filter.queues, lane.queue) && admits(filter.classes, lane.priority_class) &&
         admits(filter.kinds, lane.kind);
}

bool admits(const ScanQuery& query, const core::Job& job) {
  if (query.queue && job.queue != *query.queue) return false;
  if (query.states != 0 && (query.states >> static_cast<unsigned>(job.state) & 1U) == 0)
    return false;
  if (query.kind && job.kind != *query.kind) return false;
  if (query.group && job.group != *query.group) return false;
  if (query.unique_key && job.unique_key != *query.unique_key) return false;
  return !query.tag || std::find(job.tags.begin(), job.tags.end(), *query.tag) != job.tags.end();
}

Failure not_found(core::JobId id) {
  return failure(ErrorCode::not_found, "job " + std::to_string(id.value) + " is not there");
}

// Puts, replaces or erases an entry that the index follows.
template <typename Map, typename Change>
void put_indexed(Map& map, Index& index, const typename Map::key_type& key, const Change& change) {
  const auto found = map.find(key);
  if (found != map.end()) {
    index.remove(found->second);
    map.erase(found);
  }
  if (change.erase) return;
  index.add(map.emplace(key, change.after).first->second);
}

}  // namespace

MemoryStore::MemoryStore(const MemoryOptions& options) : options_(options) {
  const Hash128 seed{options.seed, 0};
  const bool is_random = options.seed == 0;
  identity_.store_key = is_random ? secure_random_128() : siphash128(seed, "store key");
  identity_.lease_secret = is_random ? secure_random_128() : siphash128(seed, "lease secret");
  identity_.store_time = options.store_time;
  identity_.name = "memory";
}

void MemoryStore::restart(Now now) {
  ++identity_.epoch;
  const StoreTime grace_end = now.store.plus(core::kLeaseGraceMs);
  for (auto& [id, job] : tables_.jobs) {
    if (!job.lease) continue;
    const StoreTime deadline{
        deadline_after_start(job.lease->owner, job.lease->deadline_at.ms, grace_end)};
    if (deadline == job.lease->deadline_at) continue;
    index_.remove(job);
    job.lease->deadline_at = deadline;
    index_.add(job);
  }
}

Capabilities MemoryStore::capabilities() const {
  Capabilities capabilities;
  capabilities.commit_is_durable = options_.commit_is_durable;
  return capabilities;
}

Result<IdRange> MemoryStore::allocate_job_ids() {
  const IdRange range{.first = next_job_id_, .count = core::kIdBlock};
  next_job_id_ += core::kIdBlock;
  return range;
}

Result<core::QueueId> MemoryStore::allocate_queue_id() { return core::QueueId{next_queue_id_++}; }

Result<std::uint64_t> MemoryStore::commit(std::span<const core::ChangeSet> change_sets, Now,
                                          std::vector<CommitResult>& results) {
  results.clear();
  bool is_written = false;
  for (const core::ChangeSet& change_set : change_sets) {
    if (!guards_hold(tables_, change_set)) {
      results.push_back(CommitResult::guard_missed);
    } else if (!has_room(change_set)) {
      results.push_back(CommitResult::refused_full);
    } else {
      apply(change_set);
      is_written = is_written || !change_set.is_empty();
      results.push_back(CommitResult::applied);
    }
  }
  if (!is_written) return 0;
  ++stats_.commits;
  ++last_seq_;
  if (options_.commit_is_durable) durable_seq_ = last_seq_;
  return last_seq_;
}

Result<void> MemoryStore::sync() {
  if (durable_seq_ != last_seq_) ++stats_.syncs;
  durable_seq_ = last_seq_;
  return {};
}

bool MemoryStore::is_full() const {
  return options_.capacity_jobs != 0 && tables_.jobs.size() >= options_.capacity_jobs;
}

bool MemoryStore::has_room(const core::ChangeSet& change_set) const {
  if (change_set.is_empty() || change_set.may_use_reserve || options_.capacity_jobs == 0) {
    return true;
  }
  if (is_full()) return false;
  const auto added =
      std::count_if(change_set.jobs.begin(), change_set.jobs.end(),
                    [](const core::JobChange& change) { return change.guard.absent; });
  return tables_.jobs.size() + static_cast<std::size_t>(added) <= options_.capacity_jobs;
}

void MemoryStore::apply(const core::ChangeSet& change_set) {
  std::vector<KeyInQueue> groups;  // of the jobs as they were
  for (const core::JobChange& change : change_set.jobs) {
    const core::Job* before = find_in(tables_.jobs, change.after.id);
    if (before != nullptr && !before->group.empty())
      groups.emplace_back(before->queue, before->group);
  }
  for (const core::JobChange& change : change_set.jobs) apply_job(change);
  for (const core::UniqueKeyChange& change : change_set.unique_keys) {
    put_indexed(tables_.unique_keys, index_, {change.after.queue, change.after.key}, change);
  }
  for (const core::GroupLockChange& change : change_set.group_locks) {
    const KeyInQueue key{change.after.queue, change.after.group};
    if (change.erase) {
      tables_.group_locks.erase(key);
    } else {
      tables_.group_locks.insert_or_assign(key, change.after);
    }
  }
  for (const core::QueueChange& change : change_set.queues) apply_queue(change);
  for (const core::IdempotencyChange& change : change_set.idempotency) {
    put_indexed(tables_.idempotency, index_, change.after.scope, change);
  }
  for (const core::ApiTokenChange& change : change_set.tokens) {
    tables_.tokens.insert_or_assign(change.after.id, change.after);
  }
  tables_.audit.insert(tables_.audit.end(), change_set.audit.begin(), change_set.audit.end());
  settle_groups(change_set, groups);
}

void MemoryStore::apply_job(const core::JobChange& change) {
  const core::JobId id = change.after.id;
  if (change.erase) {
    tables_.bodies.erase(id);
    tables_.histories.erase(id);
    tables_.results.erase(id);
  }
  put_indexed(tables_.jobs, index_, id, change);
  if (change.erase) return;
  if (change.body) tables_.bodies.insert_or_assign(id, *change.body);
  if (change.result) tables_.results.insert_or_assign(id, *change.result);
  if (change.attempt) {
    std::vector<core::AttemptRecord>& history = tables_.histories[id];
    history.push_back(*change.attempt);
    bound_history(history);
  }
}

void MemoryStore::apply_queue(const core::QueueChange& change) {
  const core::Queue* before = find_in(tables_.queues, change.after.id);
  if (before != nullptr) tables_.queue_names.erase({before->namespace_id, before->name});
  if (change.erase) {
    tables_.queues.erase(change.after.id);
    return;
  }
  tables_.queue_names.insert_or_assign({change.after.namespace_id, change.after.name},
                                       change.after.id);
  tables_.queues.insert_or_assign(change.after.id, change.after);
}

void MemoryStore::settle_groups(const core::ChangeSet& change_set,
                                const std::vector<KeyInQueue>& before) {
  std::vector<KeyInQueue> touched = before;
  for (const core::JobChange& change : change_set.jobs) {
    if (!change.erase && !change.after.group.empty()) {
      touched.emplace_back(change.after.queue, change.after.group);
    }
  }
  for (const core::GroupLockChange& change : change_set.group_locks) {
    touched.emplace_back(change.after.queue, change.after.group);
  }
  for (const KeyInQueue& key : touched) {
    index_.settle_group(key, find_in(tables_.group_locks, key));
  }
}

void MemoryStore::heads(const core::LaneFilter& filter, std::size_t places,
                        std::vector<core::LaneHead>& out) {
  out.clear();
  for (const auto& [key, orders] : index_.lanes()) {
    if (!admits(filter, key)) continue;
    const core::Queue* queue = find_in(tables_.queues, key.queue);
    if (queue == nullptr || queue->paused || queue->is_deleted) continue;
    core::LaneHead head;
    head.key = key;
    for (const core::LaneOrder& order : orders) {
      head.first.push_back(order);
      if (head.first.size() >= places) break;
    }
    head.waiting_since = waiting_since(tables_.jobs.at(head.first.front().id));
    out.push_back(std::move(head));
  }
}

void MemoryStore::due(Now now, std::size_t limit, std::vector<Due>& out) {
  out = index_.due(tables_, now, limit);
}

void MemoryStore::next_due(WallTime& wall, StoreTime& store) {
  index_.next_due(tables_, wall, store);
}

Result<core::Job> MemoryStore::read_job(core::JobId id) {
  const core::Job* job = find_in(tables_.jobs, id);
  if (job == nullptr) return not_found(id);
  return *job;
}

Result<core::JobBody> MemoryStore::read_body(core::JobId id) {
  const core::JobBody* body = find_in(tables_.bodies, id);
  if (body == nullptr) return not_found(id);
  return *body;
}

Result<std::vector<core::AttemptRecord>> MemoryStore::read_history(core::JobId id) {
  if (!tables_.jobs.contains(id)) return not_found(id);
  const auto* history = find_in(tables_.histories, id);
  return history != nullptr ? *history : std::vector<core::AttemptRecord>{};
}

Result<std::string> MemoryStore::read_result(core::JobId id) {
  const std::string* result = find_in(tables_.results, id);
  if (result == nullptr) return not_found(id);
  return *result;
}

Result<Page> MemoryStore::scan_page(const ScanQuery& query) {
  Page page;
  std::size_t looks = 0;
  // True when the page ends at this job and there is more behind it.
  const auto look = [&](const core::Job& job, bool is_last) {
    if (admits(query, job)) page.jobs.push_back(job);
    if (++looks < kScanLooksMax && page.jobs.size() < query.limit) return false;
    if (!is_last) page.next_after_id = job.id.value;
    return true;
  };
  const auto& jobs = tables_.jobs;
  if (query.newest_first) {
    const auto end = query.after_id == 0 ? jobs.end() : jobs.lower_bound({query.after_id});
    for (auto it = std::make_reverse_iterator(end); it != jobs.rend();) {
      const core::Job& job = it->second;
      ++it;
      if (look(job, it == jobs.rend())) break;
    }
  } else {
    for (auto it = jobs.upper_bound({query.after_id}); it != jobs.end();) {
      const core::Job& job = it->second;
      ++it;
      if (look(job, it == jobs.end())) break;
    }
  }
  return page;
}

Result<std::vector<core::Queue>> MemoryStore::read_queues() {
  std::vector<core::Queue> out;
  for (const auto& [id, queue] : tables_.queues) out.push_back(queue);
  return out;
}

Result<std::vector<core::ApiToken>> MemoryStore::read_tokens() {
  std::vector<core::ApiToken> out;
  for (const auto& [id, token] : tables_.tokens) out.push_back(token);
  return out;
}

Result<std::vector<core::AuditRecord>> MemoryStore::read_audit(std::size_t newest) {
  const std::size_t count = std::min(newest, tables_.audit.size());
  return std::vector<core::AuditRecord>(tables_.audit.end() - static_cast<std::ptrdiff_t>(count),
                                        tables_.audit.end());
}

Result<QueueStats> MemoryStore::queue_stats(core::QueueId id) {
  if (!tables_.queues.contains(id)) {
    return failure(ErrorCode::not_found, "queue " + std::to_string(id.value) + " is not there");
  }
  return QueueStats{.counts = index_.counts(id),
                    .oldest_pending_since = index_.oldest_pending_since(id),
                    .urgent = index_.urgent(id)};
}

StoreStats MemoryStore::stats() const {
  StoreStats stats = stats_;
  stats.is_full = is_full();
  return stats;
}

Result<bool> MemoryStore::work(Now) { return false; }

Result<void> MemoryStore::backup(const std::string&) {
  return failure(ErrorCode::unsupported, "the memory store has no backup");
}

Result<void> MemoryStore::close(Now) { return sync(); }

}  // namespace weir::store::memory
