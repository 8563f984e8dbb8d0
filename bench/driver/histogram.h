// SPDX-License-Identifier: Apache-2.0
// Counts durations in buckets that are at most 1/64 of their value wide: percentiles in constant
// memory, a few nanoseconds a sample.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace weir::bench {

// Value; one thread.
class Histogram {
 public:
  void add(std::uint64_t us) {
    ++buckets_[bucket_of(us)];
    ++count_;
  }
  std::uint64_t count() const { return count_; }

  // The upper edge of the bucket that holds the sample of rank `share` (0 to 1); 0 without samples.
  std::uint64_t percentile_us(double share) const {
    if (count_ == 0) return 0;
    const auto rank = static_cast<std::uint64_t>(share * static_cast<double>(count_ - 1));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      seen += buckets_[i];
      if (seen > rank) return upper_edge(i);
    }
    return upper_edge(buckets_.size() - 1);
  }

 private:
  // Values below 128 have a bucket each; each doubling above has 64.
  static constexpr unsigned kDirectBits = 7;
  static constexpr unsigned kStepBits = 6;
  static constexpr std::size_t kBucketCount = (1U << kDirectBits) + 32U * (1U << kStepBits);

  static std::size_t bucket_of(std::uint64_t us) {
    if (us < (1U << kDirectBits)) return us;
    const auto width = static_cast<unsigned>(std::bit_width(us));
    const unsigned shift = width - kStepBits - 1;
    const std::size_t step = (us >> shift) & ((1U << kStepBits) - 1);
    const std::size_t index =
        (1U << kDirectBits) + std::size_t{width - kDirectBits - 1} * (1U << kStepBits) + step;
    return index < kBucketCount ? index : kBucketCount - 1;
  }
  static std::uint64_t upper_edge(std::size_t index) {
    if (index < (1U << kDirectBits)) return index;
    const std::size_t above = index - (1U << kDirectBits);
    const auto shift = static_cast<unsigned>((above >> kStepBits) + 1);
    const std::uint64_t step = above & ((1U << kStepBits) - 1);
    return (((1ULL << kStepBits) + step + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBucketCount> buckets_{};
  std::uint64_t count_ = 0;
};

}  // namespace weir::bench
