// SPDX-License-Identifier: Apache-2.0
// Jobs in and out of the index.
#include "store/journal/index.h"

#include <algorithm>

#include "store/due_rule.h"

namespace weir::store::journal {

void Index::put_job(const core::Job& job, const RecordParts& parts) {
  std::uint32_t slot = find(job.id.value);
  bool is_same_end = false;
  bool was_ended = false;
  if (slot == 0) {
    slot = hot_.take();
    hot_[slot].id = job.id.value;
    hot_[slot].queue = job.queue.value;
    ids_.insert(job.id.value, slot);
    order_.insert(job.id.value);
    highest_job_id_ = std::max(highest_job_id_, job.id.value);
  } else {
    if ((slot & kEndedBit) != 0) {
      EndedJob& ended = ended_[slot & ~kEndedBit];
      // The cleaner moved it. Not so when it is a later end of a job that was replayed in between,
      // whose own records went with their segment.
      if (parts.is_whole && ended.state == static_cast<std::uint8_t>(job.state) &&
          ended.version == static_cast<std::uint32_t>(job.version)) {
        set_ended_places(slot & ~kEndedBit, parts);
        return;
      }
      slot = grow_back(slot & ~kEndedBit);
    }
    const HotJob& old = hot_[slot];
    const Extra* extra = extra_of(old);
    const std::uint64_t version =
        old.version |
        (static_cast<std::uint64_t>(extra == nullptr ? 0 : extra->version_high) << 32);
    if (job.version < version) {
      remember_places(slot, parts);
      return;
    }
    was_ended = core::is_ended(old.job_state());
    is_same_end = was_ended && old.job_state() == job.state && extra != nullptr &&
                  extra->ended_at == job.ended_at.ms;
    detach(slot);
  }
  pack(job, hot_[slot]);
  remember_places(slot, parts);
  attach(slot);
  if (core::is_ended(job.state) && !is_same_end) {
    add_ended(slot);
  } else if (was_ended && !is_loading_) {
    refresh_retention(queue_state(job.queue.value));
  }
}

void Index::erase_job(core::JobId id) {
  const std::uint32_t slot = find(id.value);
  if (slot == 0) return;
  const auto id_at = [this](std::uint32_t s) { return id_of(s); };
  std::uint32_t queue = 0;
  bool was_ended = true;
  if ((slot & kEndedBit) != 0) {
    const std::uint32_t number = slot & ~kEndedBit;
    const EndedJob& ended = ended_[number];
    queue = ended.queue;
    count(ended.queue, static_cast<core::JobState>(ended.state), -1);
    release_ended_places(number);
    ids_.erase(id.value, id_at);
    ended_.release(number);
  } else {
    queue = hot_[slot].queue;
    was_ended = core::is_ended(hot_[slot].job_state());
    detach(slot);
    release_places(slot);
    ids_.erase(id.value, id_at);
    release_hot(slot);
  }
  order_.erase(id.value);
  if (was_ended && !is_loading_) refresh_retention(queue_state(queue));
  drop_queue_if_empty(queue);
}

void Index::move_job(core::JobId id, const RecordParts& parts) {
  const std::uint32_t slot = find(id.value);
  if (slot == 0) return;
  if ((slot & kEndedBit) != 0) {
    set_ended_places(slot & ~kEndedBit, parts);
  } else {
    remember_places(slot, parts);
  }
}

// Counters, lanes and timers of a job that is packed.
void Index::attach(std::uint32_t slot) {
  if (is_loading_) return;
  const HotJob& job = hot_[slot];
  count(job.queue, job.job_state(), 1);
  if (ttl_of(job) != 0) ++ttl_count_;
  if (job.job_state() == core::JobState::pending) {
    QueueState& state = queue_state(job.queue);
    if (job.priority < core::kUrgentBelow) ++state.urgent;
    state.since.put(hot_, slot, state.counts.of(core::JobState::pending));
    const Extra* extra = extra_of(job);
    if (extra != nullptr && extra->group != 0) {
      group_put(slot, extra->group);
    } else {
      lane_put(slot);
    }
  }
  start_timers(slot);
}

void Index::detach(std::uint32_t slot) {
  if (is_loading_) return;
  const HotJob& job = hot_[slot];
  count(job.queue, job.job_state(), -1);
  if (ttl_of(job) != 0) --ttl_count_;
  if (job.job_state() != core::JobState::pending) return;
  if (job.priority < core::kUrgentBelow) --queue_state(job.queue).urgent;
  const Extra* extra = extra_of(job);
  if (extra != nullptr && extra->group != 0) {
    group_remove(slot, extra->group);
  } else {
    lane_remove(slot);
  }
}

void Index::count(std::uint32_t queue, core::JobState state, int change) {
  if (is_loading_) return;
  const auto at = static_cast<std::size_t>(state);
  const auto delta = static_cast<std::uint64_t>(static_cast<std::int64_t>(change));
  queue_state(queue).counts.by_state[at] += delta;
  state_counts_[at] += delta;
}

// ---- looking ----

JobFacts Index::facts(core::JobId id) const {
  JobFacts facts;
  const std::uint32_t slot = find(id.value);
  if (slot == 0) return facts;
  facts.exists = true;
  if ((slot & kEndedBit) != 0) {
    const EndedJob& ended = ended_[slot & ~kEndedBit];
    facts.state = static_cast<core::JobState>(ended.state);
    facts.attempt = ended.attempt;
    facts.version = ended.version;
    return facts;
  }
  const HotJob& job = hot_[slot];
  const Extra* extra = extra_of(job);
  facts.state = job.job_state();
  facts.attempt = job.attempt;
  facts.version =
      job.version | (static_cast<std::uint64_t>(extra == nullptr ? 0 : extra->version_high) << 32);
  facts.deadline_at = StoreTime{deadline_of(job)};
  return facts;
}

const HotJob* Index::whole_job(core::JobId id) const {
  const std::uint32_t slot = find(id.value);
  return slot == 0 || (slot & kEndedBit) != 0 ? nullptr : &hot_[slot];
}

bool Index::load_job(core::JobId id, core::Job& out) const {
  const HotJob* job = whole_job(id);
  if (job == nullptr) return false;
  unpack(*job, out);
  return true;
}

core::QueueId Index::queue_of(core::JobId id) const {
  const std::uint32_t slot = find(id.value);
  return core::QueueId{(slot & kEndedBit) != 0 ? ended_[slot & ~kEndedBit].queue
                                               : hot_[slot].queue};
}

core::JobState Index::state_of(core::JobId id) const {
  const std::uint32_t slot = find(id.value);
  return (slot & kEndedBit) != 0 ? static_cast<core::JobState>(ended_[slot & ~kEndedBit].state)
                                 : hot_[slot].job_state();
}

// ---- loading ----

void Index::keep_only(std::uint32_t partition, const std::vector<std::uint64_t>& sorted_ids) {
  std::vector<std::uint64_t> gone;
  ids_.for_each(partition, [&](std::uint32_t slot) {
    if (!std::binary_search(sorted_ids.begin(), sorted_ids.end(), id_of(slot)))
      gone.push_back(id_of(slot));
  });
  for (const std::uint64_t id : gone) erase_job(core::JobId{id});
}

// The slots of hot_ in order of id. Loading in order of the log leaves them so, but for what was
// moved: then they are sorted. Never by way of the id table: a miss of the cache for every job.
std::vector<std::uint32_t> Index::slots_by_id() const {
  std::vector<std::uint32_t> slots;
  slots.reserve(hot_.used());
  bool is_sorted = true;
  std::uint64_t last = 0;
  for (std::uint32_t slot = 1; slot < hot_.end(); ++slot) {
    const std::uint64_t id = hot_[slot].id;
    if (id == 0) continue;
    slots.push_back(slot);
    is_sorted = is_sorted && last < id;
    last = id;
  }
  if (!is_sorted) {
    std::sort(slots.begin(), slots.end(),
              [this](std::uint32_t a, std::uint32_t b) { return hot_[a].id < hot_[b].id; });
  }
  return slots;
}

void Index::finish_loading(StoreTime least_deadline) {
  is_loading_ = false;
  std::array<std::vector<std::pair<std::uint32_t, EndedRef>>, 3> ended;  // (queue, ref)
  const auto add = [&ended](core::JobState state, std::uint32_t queue, const EndedRef& ref) {
    if (core::is_ended(state)) ended[list_of(state)].emplace_back(queue, ref);
  };
  for (const std::uint32_t slot : slots_by_id()) {
    const HotJob& job = hot_[slot];
    if (job.has_lease) {
      LeaseSide& lease = leases_[job.side];
      lease.deadline_at = deadline_after_start(static_cast<core::OwnerKind>(lease.owner),
                                               lease.deadline_at, least_deadline);
    }
    attach(slot);
    const Extra* extra = extra_of(job);
    add(job.job_state(), job.queue, {job.id, extra == nullptr ? 0 : extra->ended_at});
  }
  for (std::uint32_t number = 1; number < ended_.end(); ++number) {
    const EndedJob& job = ended_[number];
    if (job.id == 0) continue;
    const auto state = static_cast<core::JobState>(job.state);
    count(job.queue, state, 1);
    add(state, job.queue, {job.id, job.ended_at});
  }
  for (std::size_t list = 0; list < ended.size(); ++list) {
    std::sort(ended[list].begin(), ended[list].end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [queue, ref] : ended[list]) queue_state(queue).ended[list].push_back(ref);
  }
  for (auto& [id, state] : queues_) refresh_retention(*state);
}

std::size_t Index::memory_bytes() const {
  std::size_t bytes = hot_.memory_bytes() + extras_.memory_bytes() + leases_.memory_bytes() +
                      ended_.memory_bytes() + ids_.memory_bytes() + order_.memory_bytes() +
                      strings_.memory_bytes();
  bytes += run_at_wall_.memory_bytes() + run_at_store_.memory_bytes() + retry_.memory_bytes() +
           lease_.memory_bytes() + ttl_.memory_bytes() + unique_until_.memory_bytes() +
           idempotency_until_.memory_bytes() + retention_.memory_bytes();
  for (const auto& [id, state] : queues_) {
    bytes += sizeof(QueueState) + 64;
    for (const Lane& lane : state->lanes) bytes += sizeof(Lane) + lane.jobs->memory_bytes();
    bytes += state->since.memory_bytes();
    for (const auto& list : state->ended) bytes += list.size() * sizeof(EndedRef) + 512;
  }
  bytes += unique_count_ * 48 + idempotency_count_ * (sizeof(core::IdempotencyEntry) + 40) +
           idempotency_bytes_;
  bytes +=
      recently_ended_.size() * sizeof(EndedRef) + ended_more_.size() * (sizeof(EndedMore) + 32);
  return bytes;
}

std::size_t Index::living_count() const {
  std::size_t ended = 0;
  for (const core::JobState state : core::kJobStates) {
    if (core::is_ended(state)) ended += state_counts_[static_cast<std::size_t>(state)];
  }
  return job_count() - ended;
}

}  // namespace weir::store::journal
