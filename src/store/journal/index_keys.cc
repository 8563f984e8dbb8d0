// SPDX-License-Identifier: Apache-2.0
// Queues, unique keys, idempotency entries, tokens and audit.
#include <algorithm>

#include "store/journal/index.h"

namespace weir::store::journal {

Index::QueueState& Index::queue_state(std::uint32_t id) {
  if (last_queue_ != nullptr && last_queue_id_ == id) return *last_queue_;
  std::unique_ptr<QueueState>& state = queues_[id];
  if (!state) {
    state = std::make_unique<QueueState>();
    state->queue.id = core::QueueId{id};
  }
  last_queue_ = state.get();
  last_queue_id_ = id;
  return *state;
}

const Index::QueueState* Index::find_queue_state(std::uint32_t id) const {
  if (last_queue_ != nullptr && last_queue_id_ == id) return last_queue_;
  const auto at = queues_.find(id);
  if (at == queues_.end()) return nullptr;
  last_queue_ = at->second.get();
  last_queue_id_ = id;
  return last_queue_;
}

void Index::drop_queue_if_empty(std::uint32_t id) {
  if (is_loading_) return;
  const auto at = queues_.find(id);
  if (at == queues_.end() || at->second->exists || at->second->counts.total() != 0) return;
  for (const Lane& lane : at->second->lanes) strings_.release(lane.kind);
  queues_.erase(at);
  last_queue_ = nullptr;
}

void Index::put_queue(const core::Queue& queue) {
  QueueState& state = queue_state(queue.id.value);
  if (state.exists) queue_names_.erase({state.queue.namespace_id, state.queue.name});
  state.exists = true;
  state.queue = queue;
  queue_names_[{queue.namespace_id, queue.name}] = queue.id.value;
  highest_queue_id_ = std::max(highest_queue_id_, queue.id.value);
  if (!is_loading_) refresh_retention(state);
}

void Index::erase_queue(core::QueueId id) {
  const auto at = queues_.find(id.value);
  if (at == queues_.end() || !at->second->exists) return;
  QueueState& state = *at->second;
  queue_names_.erase({state.queue.namespace_id, state.queue.name});
  state.exists = false;
  state.queue = core::Queue{.id = id};
  drop_queue_if_empty(id.value);
}

void Index::keep_only_queues(const std::vector<std::uint32_t>& sorted_ids) {
  std::vector<core::QueueId> gone;
  for (const auto& [id, state] : queues_) {
    if (state->exists && !std::binary_search(sorted_ids.begin(), sorted_ids.end(), id)) {
      gone.push_back(core::QueueId{id});
    }
  }
  for (const core::QueueId id : gone) erase_queue(id);
}

const core::Queue* Index::queue(core::QueueId id) const {
  const QueueState* state = find_queue_state(id.value);
  return state != nullptr && state->exists ? &state->queue : nullptr;
}

const core::Queue* Index::queue(std::uint32_t namespace_id, std::string_view name) const {
  const auto at = queue_names_.find({namespace_id, std::string(name)});
  return at == queue_names_.end() ? nullptr : queue(core::QueueId{at->second});
}

std::uint64_t Index::urgent(core::QueueId id) const {
  const QueueState* state = find_queue_state(id.value);
  return state == nullptr ? 0 : state->urgent;
}

core::QueueCounts Index::counts(core::QueueId id) const {
  const QueueState* state = find_queue_state(id.value);
  return state == nullptr ? core::QueueCounts{} : state->counts;
}

std::vector<core::Queue> Index::queues() const {
  std::vector<core::Queue> all;
  for (const auto& [id, state] : queues_) {
    if (state->exists) all.push_back(state->queue);
  }
  return all;
}

// ---- unique keys ----

void Index::put_unique_key(const core::UniqueKey& entry) {
  const std::uint32_t text = strings_.acquire(entry.key);
  auto [at, is_new] = uniques_[text_partition(entry.queue.value, entry.key)].try_emplace(
      text_key(entry.queue.value, text));
  if (is_new) {
    ++unique_count_;
  } else {
    strings_.release(text);  // the entry holds one reference
    if (at->second.until != 0) --unique_timed_;
  }
  const bool is_timed = entry.until.is_set() && entry.until != StoreTime::never();
  at->second = {entry.job.value, entry.until.ms};
  if (at->second.until != 0) ++unique_timed_;
  if (!is_timed) return;
  unique_until_.put(entry.until.ms, at->first);
  unique_until_.compact(unique_timed_, [this](const auto& timer) { return is_true_unique(timer); });
}

void Index::erase_unique_key(core::QueueId queue, std::string_view key) {
  const std::uint32_t text = strings_.find(key);
  if (text == 0) return;
  auto& shard = uniques_[text_partition(queue.value, key)];
  const auto at = shard.find(text_key(queue.value, text));
  if (at == shard.end()) return;
  if (at->second.until != 0) --unique_timed_;
  --unique_count_;
  shard.erase(at);
  strings_.release(text);
}

std::optional<core::UniqueKey> Index::unique_key(core::QueueId queue, std::string_view key) const {
  const std::uint32_t text = strings_.find(key);
  if (text == 0) return std::nullopt;
  const auto& shard = uniques_[text_partition(queue.value, key)];
  const auto at = shard.find(text_key(queue.value, text));
  if (at == shard.end()) return std::nullopt;
  return core::UniqueKey{queue, std::string(key), core::JobId{at->second.job},
                         StoreTime{at->second.until}};
}

bool Index::is_true_unique(const TimerHeap<std::uint64_t>::Entry& entry) const {
  const auto queue = static_cast<std::uint32_t>(entry.key >> 32);
  const auto& shard =
      uniques_[text_partition(queue, strings_.text(static_cast<std::uint32_t>(entry.key)))];
  const auto at = shard.find(entry.key);
  return at != shard.end() && at->second.until == entry.at;
}

// ---- idempotency ----

void Index::put_idempotency(const core::IdempotencyEntry& entry) {
  auto [at, is_new] = idempotency_[scope_partition(entry.scope)].try_emplace(entry.scope);
  if (is_new) ++idempotency_count_;
  idempotency_bytes_ += entry.answer.size() - at->second.answer.size();
  at->second = entry;
  if (entry.expires_at == StoreTime::never()) return;
  idempotency_until_.put(entry.expires_at.ms, entry.scope);
  idempotency_until_.compact(idempotency_count_, [this](const auto& timer) {
    const core::IdempotencyEntry* found = idempotency(timer.key);
    return found != nullptr && found->expires_at.ms == timer.at;
  });
}

void Index::erase_idempotency(const Hash128& scope) {
  auto& shard = idempotency_[scope_partition(scope)];
  const auto at = shard.find(scope);
  if (at == shard.end()) return;
  idempotency_bytes_ -= at->second.answer.size();
  --idempotency_count_;
  shard.erase(at);
}

const core::IdempotencyEntry* Index::idempotency(const Hash128& scope) const {
  const auto& shard = idempotency_[scope_partition(scope)];
  const auto at = shard.find(scope);
  return at == shard.end() ? nullptr : &at->second;
}

// ---- tokens and audit ----

void Index::put_token(const core::ApiToken& token) { tokens_[token.id] = token; }

const core::ApiToken* Index::token(std::string_view id) const {
  const auto at = tokens_.find(id);
  return at == tokens_.end() ? nullptr : &at->second;
}

void Index::add_audit(const core::AuditRecord& record) {
  audit_.push_back(record);
  if (audit_.size() > kAuditKeptMax) audit_.pop_front();
}

void Index::clear_tokens_and_audit() {
  tokens_.clear();
  audit_.clear();
}

// ---- partitions ----

void Index::begin_partition(std::uint32_t partition) {
  for (const auto& [key, entry] : uniques_[partition]) {
    if (entry.until != 0) --unique_timed_;
    --unique_count_;
    strings_.release(static_cast<std::uint32_t>(key));
  }
  uniques_[partition].clear();
  for (const auto& [key, group] : groups_[partition])
    strings_.release(static_cast<std::uint32_t>(key));
  groups_[partition].clear();
  for (const auto& [scope, entry] : idempotency_[partition]) {
    idempotency_bytes_ -= entry.answer.size();
    --idempotency_count_;
  }
  idempotency_[partition].clear();
}

void Index::for_partition(std::uint32_t partition,
                          const std::function<void(const core::Job&)>& living,
                          const std::function<void(std::uint64_t)>& ended) const {
  core::Job job;
  ids_.for_each(partition, [&](std::uint32_t slot) {
    if ((slot & kEndedBit) != 0 || core::is_ended(hot_[slot].job_state())) {
      ended(id_of(slot));
      return;
    }
    job = core::Job{};
    unpack(hot_[slot], job);
    living(job);
  });
}

void Index::for_partition_keys(
    std::uint32_t partition, const std::function<void(const core::UniqueKey&)>& keys,
    const std::function<void(const core::GroupLock&)>& locks,
    const std::function<void(const core::IdempotencyEntry&)>& answers) const {
  const auto queue_in = [](TextKey key) {
    return core::QueueId{static_cast<std::uint32_t>(key >> 32)};
  };
  const auto text_in = [this](TextKey key) {
    return std::string(strings_.text(static_cast<std::uint32_t>(key)));
  };
  for (const auto& [key, entry] : uniques_[partition]) {
    keys({queue_in(key), text_in(key), core::JobId{entry.job}, StoreTime{entry.until}});
  }
  for (const auto& [key, group] : groups_[partition]) {
    if (group.holder != 0) locks({queue_in(key), text_in(key), core::JobId{group.holder}});
  }
  for (const auto& [scope, entry] : idempotency_[partition]) answers(entry);
}

std::uint32_t Index::walk_places(bool ended, std::uint32_t from, std::uint32_t count,
                                 const std::function<bool(std::uint32_t)>& wanted,
                                 const std::function<void(core::JobId)>& found) const {
  const std::uint32_t slots = ended ? ended_.end() : hot_.end();
  std::uint32_t at = from == 0 ? 1 : from;
  JobPlaces places;
  for (; at < slots && count > 0; ++at, --count) {
    const std::uint64_t id = ended ? ended_[at].id : hot_[at].id;
    if (id == 0) continue;
    bool is_found = false;
    if (!ended && hot_[at].side == 0) {
      is_found = wanted(hot_[at].body.segment);
    } else {
      places = JobPlaces{};
      this->places(core::JobId{id}, places);
      const auto lies_in = [&](const PackedLocation& place) {
        return place && wanted(place.segment);
      };
      is_found = lies_in(places.body) || lies_in(places.result) || lies_in(places.last) ||
                 std::any_of(places.attempts.begin(), places.attempts.end(), lies_in);
    }
    if (is_found) found(core::JobId{id});
  }
  return at < slots ? at : 0;
}

}  // namespace weir::store::journal
