// SPDX-License-Identifier: Apache-2.0
// One timing wheel per loop for the deadlines of all its connections: no timer per connection.
//
// Lazy: moving a deadline to later costs nothing here. The entry stays in its bucket, is asked when
// the bucket comes up, and says when it wants to be asked again. Only a deadline that moves to
// earlier is rescheduled.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

namespace weir::net {

inline constexpr std::int64_t kNoDeadline = std::numeric_limits<std::int64_t>::max();

class DeadlineWheel;

// Base of what has a deadline. Leaves its wheel when destroyed.
class DeadlineEntry {
 public:
  DeadlineEntry() = default;
  virtual ~DeadlineEntry();
  DeadlineEntry(const DeadlineEntry&) = delete;
  DeadlineEntry& operator=(const DeadlineEntry&) = delete;

  // Its time to look has come (never before it): acts if the real deadline has passed, and returns
  // the instant to look again, or kNoDeadline. May destroy other entries and itself if it then
  // returns kNoDeadline.
  virtual std::int64_t check_deadline(std::int64_t now_ms) = 0;

 private:
  friend class DeadlineWheel;
  DeadlineWheel* wheel_ = nullptr;
  DeadlineEntry* previous_ = nullptr;
  DeadlineEntry* next_ = nullptr;
  DeadlineEntry** head_ = nullptr;
  std::int64_t check_at_ms_ = kNoDeadline;
};

// One thread. Entries are not owned.
class DeadlineWheel {
 public:
  explicit DeadlineWheel(std::int64_t now_ms) : tick_(now_ms / kTickMs) {}
  ~DeadlineWheel();
  DeadlineWheel(const DeadlineWheel&) = delete;
  DeadlineWheel& operator=(const DeadlineWheel&) = delete;

  // The entry is looked at not before `at_ms`. Does nothing when it is to be looked at earlier
  // already.
  void schedule(DeadlineEntry& entry, std::int64_t at_ms);
  void remove(DeadlineEntry& entry);

  // Asks every entry whose instant has come; up to one tick late, never early.
  void advance(std::int64_t now_ms);

  bool is_empty() const { return count_ == 0; }

  static constexpr std::int64_t kTickMs = 100;

 private:
  static constexpr std::int64_t kBucketCount =
      1024;  // 102 s; what lies beyond is looked at early and put back

  void insert(DeadlineEntry& entry, std::int64_t at_ms);
  void run_bucket(DeadlineEntry** bucket, std::int64_t now_ms);

  std::array<DeadlineEntry*, kBucketCount> buckets_{};
  std::int64_t tick_;
  std::size_t count_ = 0;
};

}  // namespace weir::net
