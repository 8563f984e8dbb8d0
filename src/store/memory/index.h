// SPDX-License-Identifier: Apache-2.0
// What the memory store derives from its entities: counts, lanes, due times, ended jobs in order.
// Everything here can be rebuilt from the tables; tests compare the kept index with a rebuilt one.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/dispatch/lane.h"
#include "core/view.h"
#include "store/memory/tables.h"
#include "store/store.h"

namespace weir::store::memory {

// A thing that falls due at an instant of one clock; ordered by the instant first.
struct TimedDue {
  std::int64_t at_ms = 0;
  Due::Kind kind = Due::Kind::run_at;
  core::JobId job;
  core::QueueId queue;
  std::string key;
  Hash128 scope;

  auto operator<=>(const TimedDue&) const = default;
};

// A claimable job's place.
struct Place {
  core::LaneKey lane;
  core::LaneOrder order;

  bool operator==(const Place&) const = default;
};

// Ended jobs of a queue, oldest first.
struct Ended {
  using Order = std::set<std::pair<StoreTime, core::JobId>>;
  Order short_kept;  // completed, cancelled, expired
  Order dead;
  Order completed;  // these once more, for completed_max

  bool operator==(const Ended&) const = default;
};

// Value.
class Index {
 public:
  Index() = default;
  // Rebuilds all of it.
  explicit Index(const Tables& tables);
  bool operator==(const Index&) const = default;

  // A changed job is removed as it was and added as it is; its group must then be settled.
  void add(const core::Job& job);
  void remove(const core::Job& job);
  void add(const core::UniqueKey& entry);
  void remove(const core::UniqueKey& entry);
  void add(const core::IdempotencyEntry& entry);
  void remove(const core::IdempotencyEntry& entry);

  // Puts the one job of a group that may be claimed into its lane: without a lock the pending job
  // of the lowest rank; with a lock its holder, if pending, and nobody else.
  void settle_group(const KeyInQueue& group, const core::GroupLock* lock);

  core::QueueCounts counts(core::QueueId queue) const;
  WallTime oldest_pending_since(core::QueueId queue) const;
  std::uint64_t urgent(core::QueueId queue) const;
  const std::map<core::LaneKey, std::set<core::LaneOrder>>& lanes() const { return lanes_; }

  // The most overdue first.
  std::vector<Due> due(const Tables& tables, Now now, std::size_t limit) const;
  void next_due(const Tables& tables, WallTime& wall, StoreTime& store) const;

 private:
  struct Group {
    std::map<std::pair<std::int64_t, core::JobId>, Place> pending;  // by (rank, id)
    std::optional<Place> standing;

    bool operator==(const Group&) const = default;
  };

  void enter_lane(const Place& place);
  void leave_lane(const Place& place);
  void add_ended(const core::Job& job);
  void remove_ended(const core::Job& job);
  void collect_retention(const Tables& tables, StoreTime now, std::size_t limit,
                         std::vector<std::pair<std::int64_t, TimedDue>>& out) const;

  std::map<core::QueueId, core::QueueCounts> counts_;
  std::map<core::QueueId, std::multiset<WallTime>> pending_since_;
  std::map<core::QueueId, std::uint64_t> urgent_;
  std::map<core::LaneKey, std::set<core::LaneOrder>> lanes_;
  std::map<KeyInQueue, Group> groups_;
  std::set<TimedDue> wall_dues_;
  std::set<TimedDue> store_dues_;
  std::map<core::QueueId, Ended> ended_;
};

// When a pending job became claimable: its run_at, else its created_at.
inline WallTime waiting_since(const core::Job& job) {
  return job.run_at.is_set() ? job.run_at : job.created_at;
}

}  // namespace weir::store::memory
