// SPDX-License-Identifier: Apache-2.0
// Own seeded generator (xoshiro256**, seeded by splitmix64) with portable draws: the standard
// distributions give other numbers with other libraries, and a seed must reproduce a run. Not for
// secrets: those come from base/digest.h.
#pragma once

#include <cstdint>

namespace weir {

// Value, one thread.
class Prng {
 public:
  explicit Prng(std::uint64_t seed);

  std::uint64_t next();

  // Uniform in [0, bound]; bound may be the largest value.
  std::uint64_t up_to(std::uint64_t bound);

  // Uniform in [low, high]. Requires: low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);

  // True once in `n` draws on average. Requires: n > 0.
  bool one_in(std::uint64_t n) { return up_to(n - 1) == 0; }

 private:
  std::uint64_t state_[4];
};

}  // namespace weir
