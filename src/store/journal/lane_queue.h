// SPDX-License-Identifier: Apache-2.0
// The jobs of one lane in order (priority, rank, id): jobs that arrive in order go into a ring of
// 8-byte entries, the others into a binary heap. Taking a job out marks the job and leaves its
// entry behind; stale entries are passed over, dropped when they reach the front, and swept when
// they outnumber the true ones. So putting and taking cost O(1) for FIFO lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "core/dispatch/lane.h"
#include "store/journal/hot_job.h"
#include "store/journal/slot_pool.h"
#include "store/journal/timer_heap.h"

namespace weir::store::journal {

using HotJobs = SlotPool<HotJob>;

// A place in an order, with the slot that stands there.
struct OrderEntry {
  std::int64_t rank = 0;
  std::uint64_t id = 0;
  std::int32_t priority = 0;
  std::uint32_t slot = 0;

  bool operator<(const OrderEntry& other) const {
    if (priority != other.priority) return priority < other.priority;
    return rank != other.rank ? rank < other.rank : id < other.id;
  }
  bool operator==(const OrderEntry& other) const {
    return priority == other.priority && rank == other.rank && id == other.id;
  }
};
static_assert(sizeof(OrderEntry) == 24);

inline OrderEntry order_of(const HotJob& job, std::uint32_t slot) {
  return {.rank = job.rank, .id = job.id, .priority = job.priority, .slot = slot};
}

// One thread. Every call gets the pool in which the slots lie.
class LaneQueue {
 public:
  LaneQueue(std::uint32_t queue, std::uint8_t priority_class)
      : queue_(queue), class_(priority_class) {}

  // Puts a job in, by its present order. Requires: it is in no lane.
  void put(HotJobs& jobs, std::uint32_t slot);
  // Takes a job out. Requires: it is in this lane.
  void remove(HotJobs& jobs, std::uint32_t slot);

  // The first `places` jobs in order. Cost: O(places log places) and the stale entries passed over.
  void peek(HotJobs& jobs, std::size_t places, std::vector<OrderEntry>& out);

  std::size_t size() const { return true_count_; }
  bool is_empty() const { return true_count_ == 0; }
  std::size_t memory_bytes() const;

 private:
  struct RingEntry {
    std::uint32_t slot = 0;
    std::uint32_t check = 0;
  };
  static std::uint32_t check_of(const HotJob& job);
  bool is_true(const HotJobs& jobs, const RingEntry& entry) const;
  bool is_true(const HotJobs& jobs, const OrderEntry& entry) const;
  void drop_stale_fronts(HotJobs& jobs);
  void sweep(HotJobs& jobs);

  std::deque<RingEntry> ring_;
  OrderEntry ring_last_;  // order of the last ring entry, also when it is stale
  std::vector<OrderEntry> heap_;
  std::vector<std::size_t> frontier_;
  std::size_t true_count_ = 0;
  std::uint32_t queue_;
  std::uint8_t class_;
};

// The instant since when a job waits, as lanes show it.
inline std::int64_t waiting_since_of(const HotJob& job) {
  return job.run_at != 0 ? job.run_at : job.created_at;
}

// The oldest of a queue's pending jobs. Entries are left behind like those of a lane: 8 bytes a job
// that comes in order of time, 16 for others.
class PendingSince {
 public:
  void put(HotJobs& jobs, std::uint32_t slot, std::size_t pending_count);
  // 0 when nothing is pending.
  std::int64_t oldest(const HotJobs& jobs);
  std::size_t memory_bytes() const;

 private:
  struct Entry {
    std::uint32_t slot = 0;
    std::uint32_t check = 0;  // of the job and its instant
    bool operator==(const Entry&) const = default;
    auto operator<=>(const Entry&) const = default;
  };
  static std::uint32_t check_of(const HotJob& job);
  static bool is_true(const HotJobs& jobs, const Entry& entry);

  std::deque<Entry> ring_;
  std::int64_t ring_last_ = 0;
  TimerHeap<Entry> heap_;
};

}  // namespace weir::store::journal
