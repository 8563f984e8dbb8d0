// SPDX-License-Identifier: Apache-2.0
// The jobs that one connection holds: id -> lease token and deadline. Open addressing without
// tombstones: a delete moves what stands behind it up, so that a connection that reserves and
// deletes for ever costs nothing but its slots.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/job/lease.h"

namespace weir::doors::beanstalk {

inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

struct HeldJob {
  std::uint64_t id = 0;  // 0: a free slot
  core::LeaseToken token;
  std::int64_t lease_ms = 0;
  std::int64_t deadline_ms = kNoDeadline;  // boot time
};

// One thread.
class HeldJobs {
 public:
  bool is_empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }

  void put(const HeldJob& job) {
    if ((count_ + 1) * 2 > slots_.size()) grow();
    HeldJob& slot = slots_[place(job.id)];
    if (slot.id == 0) ++count_;
    slot = job;
    soonest_ms_ = std::min(soonest_ms_, job.deadline_ms);
  }

  const HeldJob* find(std::uint64_t id) const {
    if (count_ == 0) return nullptr;
    const HeldJob& slot = slots_[place(id)];
    return slot.id == id ? &slot : nullptr;
  }

  void set_deadline(std::uint64_t id, std::int64_t deadline_ms) {
    if (count_ == 0) return;
    HeldJob& slot = slots_[place(id)];
    if (slot.id == id) slot.deadline_ms = deadline_ms;
  }

  void erase(std::uint64_t id) {
    if (count_ == 0) return;
    std::size_t hole = place(id);
    if (slots_[hole].id != id) return;
    --count_;
    if (count_ == 0) soonest_ms_ = kNoDeadline;
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t next = (hole + 1) & mask; slots_[next].id != 0; next = (next + 1) & mask) {
      // It may move up when its own place does not lie between the hole and where it stands.
      const std::size_t home = home_of(slots_[next].id);
      if (((next - home) & mask) < ((next - hole) & mask)) continue;
      slots_[hole] = slots_[next];
      hole = next;
    }
    slots_[hole] = HeldJob{};
  }

  // The earliest deadline after `now_ms`; a lease whose deadline has passed is over. Cost: nothing
  // while the earliest that was ever put lies further than `horizon_ms`, which is all that the
  // answer says then.
  std::int64_t soonest_deadline(std::int64_t now_ms, std::int64_t horizon_ms) {
    if (soonest_ms_ > horizon_ms) return soonest_ms_;
    soonest_ms_ = kNoDeadline;
    for (const HeldJob& job : slots_) {
      if (job.id != 0 && job.deadline_ms > now_ms)
        soonest_ms_ = std::min(soonest_ms_, job.deadline_ms);
    }
    return soonest_ms_;
  }

  // Forgets those whose lease ended before `now_ms` when they are many: a client that never ends
  // what it reserves must not fill the memory.
  void drop_ended(std::int64_t now_ms) {
    if (count_ < drop_at_) return;
    std::vector<std::uint64_t> ended;
    for (const HeldJob& job : slots_) {
      if (job.id != 0 && job.deadline_ms <= now_ms) ended.push_back(job.id);
    }
    for (const std::uint64_t id : ended) erase(id);
    drop_at_ = std::max(kDropAt, 2 * count_);
  }

  template <typename F>
  void for_each(const F& call) const {
    for (const HeldJob& job : slots_) {
      if (job.id != 0) call(job);
    }
  }

  void clear() {
    slots_.clear();
    count_ = 0;
    soonest_ms_ = kNoDeadline;
  }

 private:
  static constexpr std::size_t kDropAt = 4096;

  std::size_t home_of(std::uint64_t id) const {
    return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15ULL) >> 32) & (slots_.size() - 1);
  }
  // Where `id` stands, or the free slot for it.
  std::size_t place(std::uint64_t id) const {
    std::size_t at = home_of(id);
    while (slots_[at].id != 0 && slots_[at].id != id) at = (at + 1) & (slots_.size() - 1);
    return at;
  }
  void grow() {
    std::vector<HeldJob> old(std::max<std::size_t>(16, slots_.size() * 2));
    old.swap(slots_);
    for (const HeldJob& job : old) {
      if (job.id != 0) slots_[place(job.id)] = job;
    }
  }

  std::vector<HeldJob> slots_;
  std::size_t count_ = 0;
  std::size_t drop_at_ = kDropAt;
  std::int64_t soonest_ms_ = kNoDeadline;  // never later than the true one
};

}  // namespace weir::doors::beanstalk
