// SPDX-License-Identifier: Apache-2.0
#include "store/memory/index.h"

#include <algorithm>

#include "base/assert.h"
#include "store/counts.h"
#include "store/due_rule.h"

namespace weir::store::memory {

namespace {

Place place_of(const core::Job& job) {
  return Place{.lane = {.queue = job.queue, .priority_class = job.priority_class, .kind = job.kind},
               .order = {.priority = job.priority, .rank = job.rank, .id = job.id}};
}

TimedDue timed(const DueAt& due, core::JobId job) {
  TimedDue timed_due;
  timed_due.at_ms = due.wall.is_set() ? due.wall.ms : due.store.ms;
  timed_due.kind = due.kind;
  timed_due.job = job;
  return timed_due;
}

std::optional<TimedDue> timed(const core::UniqueKey& entry) {
  if (!entry.until.is_set() || entry.until == StoreTime::never()) return std::nullopt;
  TimedDue due;
  due.at_ms = entry.until.ms;
  due.kind = Due::Kind::unique_key;
  due.queue = entry.queue;
  due.key = entry.key;
  return due;
}

std::optional<TimedDue> timed(const core::IdempotencyEntry& entry) {
  if (entry.expires_at == StoreTime::never()) return std::nullopt;
  TimedDue due;
  due.at_ms = entry.expires_at.ms;
  due.kind = Due::Kind::idempotency;
  due.scope = entry.scope;
  return due;
}

Due untimed(const TimedDue& timed_due) {
  Due due;
  due.kind = timed_due.kind;
  due.job = timed_due.job;
  due.queue = timed_due.queue;
  due.key = timed_due.key;
  due.scope = timed_due.scope;
  return due;
}

const core::QueueSettings& settings_of(const Tables& tables, core::QueueId queue,
                                       const core::QueueSettings& otherwise) {
  const core::Queue* found = find_in(tables.queues, queue);
  return found != nullptr ? found->settings : otherwise;
}

}  // namespace

Index::Index(const Tables& tables) {
  for (const auto& [id, job] : tables.jobs) add(job);
  for (const auto& [key, entry] : tables.unique_keys) add(entry);
  for (const auto& [scope, entry] : tables.idempotency) add(entry);
  std::vector<KeyInQueue> keys;
  for (const auto& [key, group] : groups_) keys.push_back(key);
  for (const KeyInQueue& key : keys) settle_group(key, find_in(tables.group_locks, key));
}

void Index::add(const core::Job& job) {
  move_count(counts_[job.queue], std::nullopt, job.state);
  for (const DueAt& due : dues_of(job)) {
    (due.wall.is_set() ? wall_dues_ : store_dues_).insert(timed(due, job.id));
  }
  if (core::is_ended(job.state)) add_ended(job);
  if (job.state != core::JobState::pending) return;
  pending_since_[job.queue].insert(waiting_since(job));
  if (job.priority < core::kUrgentBelow) ++urgent_[job.queue];
  const Place place = place_of(job);
  if (job.group.empty()) {
    enter_lane(place);
  } else {
    groups_[{job.queue, job.group.str()}].pending.emplace(std::pair(job.rank, job.id), place);
  }
}

void Index::remove(const core::Job& job) {
  core::QueueCounts& counts = counts_[job.queue];
  move_count(counts, job.state, std::nullopt);
  if (counts == core::QueueCounts{}) counts_.erase(job.queue);
  for (const DueAt& due : dues_of(job)) {
    (due.wall.is_set() ? wall_dues_ : store_dues_).erase(timed(due, job.id));
  }
  if (core::is_ended(job.state)) remove_ended(job);
  if (job.state != core::JobState::pending) return;
  std::multiset<WallTime>& since = pending_since_[job.queue];
  since.erase(since.find(waiting_since(job)));
  if (since.empty()) pending_since_.erase(job.queue);
  if (job.priority < core::kUrgentBelow && --urgent_[job.queue] == 0) urgent_.erase(job.queue);
  if (job.group.empty()) {
    leave_lane(place_of(job));
  } else {
    groups_[{job.queue, job.group.str()}].pending.erase({job.rank, job.id});
  }
}

void Index::add(const core::UniqueKey& entry) {
  if (auto due = timed(entry)) store_dues_.insert(*due);
}
void Index::remove(const core::UniqueKey& entry) {
  if (auto due = timed(entry)) store_dues_.erase(*due);
}
void Index::add(const core::IdempotencyEntry& entry) {
  if (auto due = timed(entry)) store_dues_.insert(*due);
}
void Index::remove(const core::IdempotencyEntry& entry) {
  if (auto due = timed(entry)) store_dues_.erase(*due);
}

void Index::settle_group(const KeyInQueue& key, const core::GroupLock* lock) {
  const auto found = groups_.find(key);
  if (found == groups_.end()) return;
  Group& group = found->second;
  if (group.standing) leave_lane(*group.standing);
  group.standing.reset();
  for (const auto& [order, place] : group.pending) {
    if (lock != nullptr && lock->holder != place.order.id) continue;
    group.standing = place;
    enter_lane(place);
    break;
  }
  if (group.pending.empty()) groups_.erase(found);
}

void Index::enter_lane(const Place& place) {
  const bool is_new = lanes_[place.lane].insert(place.order).second;
  WEIR_ASSERT(is_new, place.order.id.value);
}

void Index::leave_lane(const Place& place) {
  const auto lane = lanes_.find(place.lane);
  WEIR_ASSERT(lane != lanes_.end() && lane->second.erase(place.order) == 1, place.order.id.value);
  if (lane->second.empty()) lanes_.erase(lane);
}

void Index::add_ended(const core::Job& job) {
  Ended& ended = ended_[job.queue];
  const std::pair order(job.ended_at, job.id);
  (job.state == core::JobState::dead ? ended.dead : ended.short_kept).insert(order);
  if (job.state == core::JobState::completed) ended.completed.insert(order);
}

void Index::remove_ended(const core::Job& job) {
  Ended& ended = ended_[job.queue];
  const std::pair order(job.ended_at, job.id);
  (job.state == core::JobState::dead ? ended.dead : ended.short_kept).erase(order);
  if (job.state == core::JobState::completed) ended.completed.erase(order);
  if (ended == Ended{}) ended_.erase(job.queue);
}

core::QueueCounts Index::counts(core::QueueId queue) const {
  const core::QueueCounts* counts = find_in(counts_, queue);
  return counts != nullptr ? *counts : core::QueueCounts{};
}

WallTime Index::oldest_pending_since(core::QueueId queue) const {
  const auto* since = find_in(pending_since_, queue);
  return since != nullptr ? *since->begin() : WallTime::none();
}

std::uint64_t Index::urgent(core::QueueId queue) const {
  const std::uint64_t* urgent = find_in(urgent_, queue);
  return urgent != nullptr ? *urgent : 0;
}

void Index::collect_retention(const Tables& tables, StoreTime now, std::size_t limit,
                              std::vector<std::pair<std::int64_t, TimedDue>>& out) const {
  const core::QueueSettings defaults;
  for (const auto& [queue, ended] : ended_) {
    const core::QueueSettings& settings = settings_of(tables, queue, defaults);
    std::set<core::JobId> taken;
    const auto take = [&](std::int64_t at_ms, core::JobId job) {
      if (!taken.insert(job).second) return;
      TimedDue due;
      due.at_ms = at_ms;
      due.kind = Due::Kind::retention;
      due.job = job;
      out.emplace_back(saturating_add(now.ms, -at_ms), due);
    };
    // A job over completed_max counts as due since it ended.
    std::size_t over = ended.completed.size() -
                       std::min<std::size_t>(ended.completed.size(), settings.completed_max);
    for (const auto& [ended_at, job] : ended.completed) {
      if (over == 0 || taken.size() >= limit) break;
      take(ended_at.ms, job);
      --over;
    }
    const auto take_old = [&](const Ended::Order& order, std::int64_t kept_ms) {
      std::size_t left = limit;
      for (const auto& [ended_at, job] : order) {
        if (left == 0 || ended_at.plus(kept_ms) > now) break;
        take(ended_at.plus(kept_ms).ms, job);
        --left;
      }
    };
    take_old(ended.short_kept, settings.completed_retention_ms);
    take_old(ended.dead, settings.dead_retention_ms);
  }
}

std::vector<Due> Index::due(const Tables& tables, Now now, std::size_t limit) const {
  std::vector<std::pair<std::int64_t, TimedDue>> found;  // overdue by, what
  const auto collect = [&found, limit](const std::set<TimedDue>& dues, std::int64_t now_ms) {
    std::size_t left = limit;
    for (const TimedDue& due : dues) {
      if (left == 0 || due.at_ms > now_ms) break;
      found.emplace_back(saturating_add(now_ms, -due.at_ms), due);
      --left;
    }
  };
  collect(wall_dues_, now.wall.ms);
  collect(store_dues_, now.store.ms);
  collect_retention(tables, now.store, limit, found);
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  if (found.size() > limit) found.resize(limit);
  std::vector<Due> out;
  for (const auto& [overdue_ms, due] : found) out.push_back(untimed(due));
  return out;
}

void Index::next_due(const Tables& tables, WallTime& wall, StoreTime& store) const {
  wall = wall_dues_.empty() ? WallTime::never() : WallTime{wall_dues_.begin()->at_ms};
  store = store_dues_.empty() ? StoreTime::never() : StoreTime{store_dues_.begin()->at_ms};
  const core::QueueSettings defaults;
  for (const auto& [queue, ended] : ended_) {
    const core::QueueSettings& settings = settings_of(tables, queue, defaults);
    const auto first_of = [&store](const Ended::Order& order, std::int64_t kept_ms) {
      if (!order.empty()) store = std::min(store, order.begin()->first.plus(kept_ms));
    };
    first_of(ended.short_kept, settings.completed_retention_ms);
    first_of(ended.dead, settings.dead_retention_ms);
    if (ended.completed.size() > settings.completed_max) first_of(ended.completed, 0);
  }
}

}  // namespace weir::store::memory
