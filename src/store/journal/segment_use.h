// SPDX-License-Identifier: Apache-2.0
// How many bytes of each segment are still needed: the records that living jobs point at.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "store/journal/hot_job.h"

namespace weir::store::journal {

// One thread.
class SegmentUse {
 public:
  void add(const PackedLocation& at) {
    live_of(at.segment) += at.length();
    total_ += at.length();
  }
  void subtract(const PackedLocation& at) {
    live_of(at.segment) -= at.length();
    total_ -= at.length();
  }
  std::uint64_t live_bytes(std::uint32_t segment) const {
    const auto at = live_.find(segment);
    return at == live_.end() ? 0 : at->second;
  }
  std::uint64_t total_bytes() const { return total_; }
  void forget(std::uint32_t segment) {
    live_.erase(segment);
    if (cached_segment_ == segment) cached_segment_ = 0;
  }

 private:
  // Neighbouring changes mostly touch the same segment.
  std::uint64_t& live_of(std::uint32_t segment) {
    if (segment != cached_segment_ || cached_segment_ == 0) {
      cached_ = &live_[segment];
      cached_segment_ = segment;
    }
    return *cached_;
  }

  std::unordered_map<std::uint32_t, std::uint64_t> live_;
  std::uint32_t cached_segment_ = 0;
  std::uint64_t* cached_ = nullptr;
  std::uint64_t total_ = 0;
};

}  // namespace weir::store::journal
