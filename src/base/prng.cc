// SPDX-License-Identifier: Apache-2.0
// xoshiro256** (Blackman and Vigna, public domain algorithm), seeded by splitmix64.
#include "base/prng.h"

#include <bit>

#include "base/assert.h"

namespace weir {

Prng::Prng(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Prng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Prng::up_to(std::uint64_t bound) {
  if (bound == UINT64_MAX) return next();
  const std::uint64_t range = bound + 1;
  // Draws from the incomplete last interval are thrown away, so that every value is equally likely.
  const std::uint64_t limit = UINT64_MAX - (UINT64_MAX % range + 1) % range;
  std::uint64_t draw = next();
  while (draw > limit) draw = next();
  return draw % range;
}

std::int64_t Prng::between(std::int64_t low, std::int64_t high) {
  WEIR_ASSERT(low <= high, low, high);
  const auto span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + up_to(span));
}

}  // namespace weir
