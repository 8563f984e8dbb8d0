// SPDX-License-Identifier: Apache-2.0
// How long to wait between attempts to reach the server: exponential, capped, jittered so that a
// fleet does not come back as one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prng.h"

namespace weir::worker {

struct BackoffOptions {
  std::int64_t base_ms = 100;
  std::int64_t cap_ms = 4'000;  // consumption begins again within 10 s of the server's return
};

// Value, one thread.
class Backoff {
 public:
  Backoff(BackoffOptions options, std::uint64_t seed) : options_(options), prng_(seed) {}

  // The next wait: between half of the step and the step. `at_least_ms` is what the server asked
  // for; the cap holds.
  std::int64_t next_ms(std::int64_t at_least_ms = 0) {
    step_ms_ = step_ms_ == 0 ? options_.base_ms : std::min(step_ms_ * 2, options_.cap_ms);
    const std::int64_t jittered = prng_.between(step_ms_ / 2, step_ms_);
    return std::min(std::max(jittered, at_least_ms), options_.cap_ms);
  }
  void reset() { step_ms_ = 0; }
  bool is_reset() const { return step_ms_ == 0; }

 private:
  BackoffOptions options_;
  Prng prng_;
  std::int64_t step_ms_ = 0;
};

}  // namespace weir::worker
