// SPDX-License-Identifier: Apache-2.0
// Retry policies: how long until the next attempt, and how many there may be.
//
// For charged attempt n: step = base * factor^(n-1), or the n-th delay of the list (the last
// repeats), at most cap. delay = step + uniform(0, jitter * step), never over the cap; a step at
// the cap gives uniform((1 - jitter) * cap, cap); a step of 0 gives uniform(0, 250 ms). All
// arithmetic saturates; jitter can't be switched off; attempts are bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/prng.h"
#include "base/result.h"

namespace weir::core {

// Value.
struct RetryPolicy {
  std::string name;                     // "ladder", "exp2", a configured name, or empty
  std::vector<std::int64_t> delays_ms;  // explicit list; when empty the formula holds
  std::int64_t base_ms = 0;
  double factor = 1.0;
  std::int64_t cap_ms = 0;
  double jitter = 0.2;
  std::uint32_t max_attempts = 0;  // charged attempts that the policy brings along

  bool operator==(const RetryPolicy&) const = default;
};

RetryPolicy ladder_policy();  // 0, 1, 4, 16, 60 s; max_attempts 6
RetryPolicy exp2_policy();    // base 1 s, factor 2, cap 15 min; max_attempts 5

// nullptr-free lookup of the presets by name. Errors: invalid_argument, naming the presets.
Result<RetryPolicy> retry_preset(std::string_view name);

// What a written policy leaves open: the attempts (of a list one more than it has delays, of a
// formula those of exp2) and the cap of a list (its longest delay).
RetryPolicy complete_retry_policy(RetryPolicy written);
// The factor of a formula that names none.
inline constexpr double kRetryFactorDefault = 2.0;

// Errors: invalid_argument. Attempts are bounded.
Result<void> check_max_attempts(std::uint32_t max_attempts);
// Errors: invalid_argument (negative or over-long delays, factor below 1 or not finite, jitter
// outside (0, 1], no cap, cap over 24 h, unbounded attempts), saying what would be right.
Result<void> check_retry_policy(const RetryPolicy& policy);

// The step before jitter. Requires: charged >= 1 and a checked policy. Monotone in `charged` for
// the formula.
std::int64_t retry_step_ms(const RetryPolicy& policy, std::uint32_t charged);

// The delay until the attempt after charged attempt `charged`.
std::int64_t retry_delay_ms(const RetryPolicy& policy, std::uint32_t charged, Prng& prng);

// The delay when the worker said itself when to come back: `asked_ms` takes the place of the step,
// 24 h that of the cap. Jitter stays (callers of a service that answers 429 must not come back all
// at once), but never before the time asked for.
std::int64_t asked_retry_delay_ms(const RetryPolicy& policy, std::int64_t asked_ms, Prng& prng);

}  // namespace weir::core
