// SPDX-License-Identifier: Apache-2.0
#include "net/deadline_wheel.h"

#include <algorithm>

namespace weir::net {

DeadlineEntry::~DeadlineEntry() {
  if (wheel_ != nullptr) wheel_->remove(*this);
}

DeadlineWheel::~DeadlineWheel() {
  for (DeadlineEntry*& bucket : buckets_) {
    while (bucket != nullptr) remove(*bucket);
  }
}

void DeadlineWheel::schedule(DeadlineEntry& entry, std::int64_t at_ms) {
  if (at_ms == kNoDeadline || (entry.wheel_ != nullptr && entry.check_at_ms_ <= at_ms)) return;
  remove(entry);
  insert(entry, at_ms);
}

void DeadlineWheel::remove(DeadlineEntry& entry) {
  if (entry.wheel_ == nullptr) return;
  if (entry.previous_ != nullptr) entry.previous_->next_ = entry.next_;
  if (entry.next_ != nullptr) entry.next_->previous_ = entry.previous_;
  if (*entry.head_ == &entry) *entry.head_ = entry.next_;
  entry.previous_ = entry.next_ = nullptr;
  entry.wheel_ = nullptr;
  entry.check_at_ms_ = kNoDeadline;
  --count_;
}

void DeadlineWheel::insert(DeadlineEntry& entry, std::int64_t at_ms) {
  // Rounded up, so that a bucket is never early; the current bucket has been run already.
  const std::int64_t wanted = at_ms / kTickMs + (at_ms % kTickMs > 0 ? 1 : 0);
  const std::int64_t tick = std::clamp(wanted, tick_ + 1, tick_ + kBucketCount - 1);
  DeadlineEntry** bucket = &buckets_[static_cast<std::size_t>(tick % kBucketCount)];
  entry.wheel_ = this;
  entry.head_ = bucket;
  entry.check_at_ms_ = at_ms;
  entry.previous_ = nullptr;
  entry.next_ = *bucket;
  if (*bucket != nullptr) (*bucket)->previous_ = &entry;
  *bucket = &entry;
  ++count_;
}

void DeadlineWheel::advance(std::int64_t now_ms) {
  const std::int64_t target = now_ms / kTickMs;
  // After a jump over the whole wheel each bucket is looked at once.
  std::int64_t tick = std::max(tick_, target - kBucketCount);
  while (tick < target) {
    ++tick;
    tick_ = std::max(tick_, tick);
    run_bucket(&buckets_[static_cast<std::size_t>(tick % kBucketCount)], now_ms);
  }
  tick_ = std::max(tick_, target);
}

void DeadlineWheel::run_bucket(DeadlineEntry** bucket, std::int64_t now_ms) {
  // Entries that are put back never land in the bucket being run: the clamp in insert() excludes
  // it.
  while (*bucket != nullptr) {
    DeadlineEntry& entry = **bucket;
    const std::int64_t at_ms = entry.check_at_ms_;
    remove(entry);
    if (at_ms > now_ms) {
      insert(entry, at_ms);
      continue;
    }
    const std::int64_t again_ms = entry.check_deadline(now_ms);
    // The entry may be gone when it asked for nothing more.
    if (again_ms != kNoDeadline) insert(entry, again_ms);
  }
}

}  // namespace weir::net
