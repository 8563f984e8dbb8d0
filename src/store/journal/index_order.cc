// SPDX-License-Identifier: Apache-2.0
// Lanes and groups. A job of a group stands in its group's order; only the group's head, and only
// while the group is free (or the head holds it), stands in a lane.
#include <algorithm>

#include "base/digest.h"
#include "store/journal/index.h"

namespace weir::store::journal {
namespace {

constexpr std::size_t kEmptyLanesKept = 64;

bool heap_later(const OrderEntry& a, const OrderEntry& b) { return b < a; }

// Within a group only acceptance counts.
OrderEntry group_order_of(const HotJob& job, std::uint32_t slot) {
  OrderEntry order = order_of(job, slot);
  order.priority = 0;
  return order;
}

bool admits(const std::vector<std::string>& kinds, std::string_view kind) {
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

bool admits(const std::vector<core::PriorityClass>& classes, std::uint8_t priority_class) {
  return classes.empty() ||
         std::find(classes.begin(), classes.end(),
                   static_cast<core::PriorityClass>(priority_class)) != classes.end();
}

}  // namespace

std::uint32_t Index::text_partition(std::uint32_t queue, std::string_view text) {
  return crc32c(text, queue) & (kPartitionCount - 1);
}

LaneQueue& Index::lane_of(const HotJob& job) {
  std::vector<Lane>& lanes = queue_state(job.queue).lanes;
  const auto priority_class = static_cast<std::uint8_t>(job.priority_class);
  auto at =
      std::lower_bound(lanes.begin(), lanes.end(), job, [](const Lane& lane, const HotJob& j) {
        return lane.priority_class != j.priority_class ? lane.priority_class < j.priority_class
                                                       : lane.kind < j.kind;
      });
  if (at != lanes.end() && at->priority_class == priority_class && at->kind == job.kind)
    return *at->jobs;
  Lane lane{priority_class, job.kind, std::make_unique<LaneQueue>(job.queue, priority_class)};
  strings_.retain(job.kind);
  return *lanes.insert(at, std::move(lane))->jobs;
}

void Index::lane_put(std::uint32_t slot) { lane_of(hot_[slot]).put(hot_, slot); }

void Index::lane_remove(std::uint32_t slot) {
  LaneQueue& lane = lane_of(hot_[slot]);
  lane.remove(hot_, slot);
  if (!lane.is_empty()) return;
  std::vector<Lane>& lanes = queue_state(hot_[slot].queue).lanes;
  if (lanes.size() <= kEmptyLanesKept) return;
  // Kinds without end must not leave a lane each behind.
  std::erase_if(lanes, [this](const Lane& each) {
    if (!each.jobs->is_empty()) return false;
    strings_.release(each.kind);
    return true;
  });
}

Index::Group& Index::group_state(std::uint32_t queue, std::string_view group) {
  const std::uint32_t text = strings_.acquire(group);
  auto [at, is_new] = groups_[text_partition(queue, group)].try_emplace(text_key(queue, text));
  if (!is_new) strings_.release(text);  // the group holds one reference itself
  return at->second;
}

void Index::group_put(std::uint32_t slot, std::uint32_t group_text) {
  const HotJob& job = hot_[slot];
  Group& group = group_state(job.queue, strings_.text(group_text));
  group.waiting.push_back(group_order_of(job, slot));
  std::push_heap(group.waiting.begin(), group.waiting.end(), heap_later);
  ++group.true_count;
  refresh_group(job.queue, group_text);
}

void Index::group_remove(std::uint32_t slot, std::uint32_t group_text) {
  HotJob& job = hot_[slot];
  Group& group = group_shard(job.queue, group_text)[text_key(job.queue, group_text)];
  --group.true_count;
  if (group.offered == slot) {
    lane_remove(slot);
    group.offered = 0;
  }
  // Its entry is stale as soon as the job is not pending; the caller changes the state (or frees
  // the slot) next, so the next head is looked for without it.
  const std::uint32_t state = job.state;
  job.state = 0;
  refresh_group(job.queue, group_text);
  job.state = state & 15u;
}

std::uint32_t Index::group_head(Group& group) {
  const auto is_true = [this](const OrderEntry& entry) {
    const HotJob& job = hot_[entry.slot];
    return job.id == entry.id && job.rank == entry.rank &&
           job.job_state() == core::JobState::pending;
  };
  if (group.waiting.size() > 2 * group.true_count + 16) {
    std::erase_if(group.waiting, [&](const OrderEntry& entry) { return !is_true(entry); });
    std::sort(group.waiting.begin(), group.waiting.end());
    group.waiting.erase(std::unique(group.waiting.begin(), group.waiting.end()),
                        group.waiting.end());
  }
  while (!group.waiting.empty() && !is_true(group.waiting.front())) {
    std::pop_heap(group.waiting.begin(), group.waiting.end(), heap_later);
    group.waiting.pop_back();
  }
  if (group.holder == 0) return group.waiting.empty() ? 0 : group.waiting.front().slot;
  const std::uint32_t slot = find(group.holder);
  if (slot == 0 || (slot & kEndedBit) != 0) return 0;
  return hot_[slot].job_state() == core::JobState::pending ? slot : 0;
}

// Puts the job that may go first into its lane, and takes the one that may not out of it.
void Index::refresh_group(std::uint32_t queue, std::uint32_t group_text) {
  auto& shard = group_shard(queue, group_text);
  const auto at = shard.find(text_key(queue, group_text));
  if (at == shard.end()) return;
  Group& group = at->second;
  const std::uint32_t head = group_head(group);
  if (head != group.offered) {
    if (group.offered != 0) lane_remove(group.offered);
    if (head != 0) lane_put(head);
    group.offered = head;
  }
  if (group.true_count == 0 && group.holder == 0) {
    shard.erase(at);
    strings_.release(group_text);
  }
}

void Index::put_group_lock(const core::GroupLock& lock) {
  Group& group = group_state(lock.queue.value, lock.group);
  group.holder = lock.holder.value;
  if (!is_loading_) refresh_group(lock.queue.value, strings_.find(lock.group));
}

void Index::erase_group_lock(core::QueueId queue, std::string_view group) {
  const std::uint32_t text = strings_.find(group);
  if (text == 0) return;
  auto& shard = group_shard(queue.value, text);
  const auto at = shard.find(text_key(queue.value, text));
  if (at == shard.end()) return;
  at->second.holder = 0;
  if (!is_loading_) {
    refresh_group(queue.value, text);
  } else {
    shard.erase(at);
    strings_.release(text);
  }
}

std::optional<core::GroupLock> Index::group_lock(core::QueueId queue,
                                                 std::string_view group) const {
  const std::uint32_t text = strings_.find(group);
  if (text == 0) return std::nullopt;
  const auto& shard = groups_[text_partition(queue.value, group)];
  const auto at = shard.find(text_key(queue.value, text));
  if (at == shard.end() || at->second.holder == 0) return std::nullopt;
  return core::GroupLock{queue, std::string(group), core::JobId{at->second.holder}};
}

void Index::add_heads(QueueState& state, const core::LaneFilter& filter, std::size_t places,
                      std::vector<core::LaneHead>& out) {
  if (!state.exists || state.queue.paused || state.queue.is_deleted) return;
  const std::size_t begin = out.size();
  std::vector<OrderEntry> first;
  for (const Lane& lane : state.lanes) {
    if (lane.jobs->is_empty() || !admits(filter.classes, lane.priority_class)) continue;
    if (!admits(filter.kinds, strings_.text(lane.kind))) continue;
    first.clear();
    lane.jobs->peek(hot_, places, first);
    if (first.empty()) continue;
    core::LaneHead& head = out.emplace_back();
    head.key.queue = state.queue.id;
    head.key.priority_class = static_cast<core::PriorityClass>(lane.priority_class);
    head.key.kind = strings_.text(lane.kind);
    head.first.reserve(first.size());
    for (const OrderEntry& entry : first) {
      head.first.push_back(
          {.priority = entry.priority, .rank = entry.rank, .id = core::JobId{entry.id}});
    }
    head.waiting_since = WallTime{waiting_since_of(hot_[first.front().slot])};
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
            [](const core::LaneHead& a, const core::LaneHead& b) { return a.key < b.key; });
}

void Index::heads(const core::LaneFilter& filter, std::size_t places,
                  std::vector<core::LaneHead>& out) {
  out.clear();
  if (places == 0) places = 1;
  if (filter.queues.empty()) {
    for (auto& [id, state] : queues_) add_heads(*state, filter, places, out);
    return;
  }
  std::vector<std::uint32_t> wanted;
  for (const core::QueueId id : filter.queues) wanted.push_back(id.value);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (const std::uint32_t id : wanted) {
    const auto at = queues_.find(id);
    if (at != queues_.end()) add_heads(*at->second, filter, places, out);
  }
}

WallTime Index::oldest_pending_since(core::QueueId id) {
  const auto at = queues_.find(id.value);
  return at == queues_.end() ? WallTime::none() : WallTime{at->second->since.oldest(hot_)};
}

}  // namespace weir::store::journal
