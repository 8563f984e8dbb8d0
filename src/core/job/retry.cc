// SPDX-License-Identifier: Apache-2.0
// Steps are computed in double and compared with the cap before they become integers, so nothing
// can overflow.
#include "core/job/retry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/limits.h"

namespace weir::core {
namespace {

constexpr std::int64_t kZeroStepSpreadMs = 250;

// A list may leave its cap out; then only the bound on every delay holds.
std::int64_t effective_cap_ms(const RetryPolicy& policy) {
  return policy.cap_ms > 0 ? std::min(policy.cap_ms, kRetryDelayMsMax) : kRetryDelayMsMax;
}

std::int64_t fraction_of(std::int64_t ms, double fraction) {
  return static_cast<std::int64_t>(static_cast<double>(ms) * fraction);
}

}  // namespace

RetryPolicy ladder_policy() {
  return RetryPolicy{.name = "ladder",
                     .delays_ms = {0, 1'000, 4'000, 16'000, 60'000},
                     .cap_ms = 60'000,
                     .jitter = 0.2,
                     .max_attempts = 6};
}

RetryPolicy exp2_policy() {
  return RetryPolicy{.name = "exp2",
                     .base_ms = 1'000,
                     .factor = 2.0,
                     .cap_ms = 15 * kMsPerMinute,
                     .jitter = 0.2,
                     .max_attempts = 5};
}

Result<RetryPolicy> retry_preset(std::string_view name) {
  if (name == "ladder") return ladder_policy();
  if (name == "exp2") return exp2_policy();
  return failure(ErrorCode::invalid_argument,
                 fmt::format("retry \"{}\" is unknown; there are ladder and exp2", name));
}

RetryPolicy complete_retry_policy(RetryPolicy written) {
  const bool is_list = !written.delays_ms.empty();
  if (written.max_attempts == 0) {
    written.max_attempts = is_list ? static_cast<std::uint32_t>(written.delays_ms.size()) + 1
                                   : exp2_policy().max_attempts;
  }
  if (is_list && written.cap_ms == 0) {
    written.cap_ms = *std::max_element(written.delays_ms.begin(), written.delays_ms.end());
  }
  return written;
}

Result<void> check_max_attempts(std::uint32_t max_attempts) {
  if (max_attempts > 0 && max_attempts <= kMaxAttemptsMax) return {};
  return failure(ErrorCode::invalid_argument, fmt::format("max_attempts is {}; it must be 1 to {}",
                                                          max_attempts, kMaxAttemptsMax));
}

Result<void> check_retry_policy(const RetryPolicy& policy) {
  const auto refuse = [](std::string text) {
    return failure(ErrorCode::invalid_argument, std::move(text));
  };
  for (const std::int64_t delay_ms : policy.delays_ms) {
    if (delay_ms < 0 || delay_ms > kRetryDelayMsMax) {
      return refuse(fmt::format("retry: a delay of {} ms is outside 0 ms to 24h", delay_ms));
    }
  }
  const bool is_formula = policy.delays_ms.empty();
  if (policy.base_ms < 0) {
    return refuse(fmt::format("retry: base is {} ms, it must be 0 or more", policy.base_ms));
  }
  if (is_formula && (!std::isfinite(policy.factor) || policy.factor < 1.0)) {
    return refuse(
        fmt::format("retry: factor is {}, it must be a number of 1 or more", policy.factor));
  }
  if (is_formula && policy.cap_ms == 0) {
    return refuse("retry: there is no cap; set one of 1 ms to 24h");
  }
  if (policy.cap_ms < 0 || policy.cap_ms > kRetryDelayMsMax) {
    return refuse(fmt::format("retry: cap is {} ms, it must be 1 ms to 24h", policy.cap_ms));
  }
  if (!(policy.jitter > 0.0 && policy.jitter <= 1.0)) {
    return refuse(
        fmt::format("retry: jitter is {}, it must be over 0 and at most 1", policy.jitter));
  }
  return check_max_attempts(policy.max_attempts);
}

std::int64_t retry_step_ms(const RetryPolicy& policy, std::uint32_t charged) {
  const std::int64_t cap_ms = effective_cap_ms(policy);
  const std::uint32_t exponent = charged == 0 ? 0 : charged - 1;
  if (!policy.delays_ms.empty()) {
    const std::size_t index = std::min<std::size_t>(exponent, policy.delays_ms.size() - 1);
    return std::clamp<std::int64_t>(policy.delays_ms[index], 0, cap_ms);
  }
  if (policy.base_ms <= 0) return 0;
  const double step = static_cast<double>(policy.base_ms) * std::pow(policy.factor, exponent);
  // Written so that infinity and NaN end at the cap too.
  if (!(step < static_cast<double>(cap_ms))) return cap_ms;
  return std::max<std::int64_t>(static_cast<std::int64_t>(step), 0);
}

std::int64_t retry_delay_ms(const RetryPolicy& policy, std::uint32_t charged, Prng& prng) {
  const std::int64_t cap_ms = effective_cap_ms(policy);
  const std::int64_t step_ms = retry_step_ms(policy, charged);
  if (step_ms == 0) return std::min(prng.between(0, kZeroStepSpreadMs), cap_ms);
  if (step_ms >= cap_ms) {
    const std::int64_t low_ms = cap_ms - fraction_of(cap_ms, policy.jitter);
    return prng.between(std::clamp<std::int64_t>(low_ms, 0, cap_ms), cap_ms);
  }
  const std::int64_t spread_ms = std::max<std::int64_t>(fraction_of(step_ms, policy.jitter), 0);
  return std::min(saturating_add(step_ms, prng.between(0, spread_ms)), cap_ms);
}

std::int64_t asked_retry_delay_ms(const RetryPolicy& policy, std::int64_t asked_ms, Prng& prng) {
  const std::int64_t step_ms = std::clamp<std::int64_t>(asked_ms, 0, kRetryDelayMsMax);
  if (step_ms == 0) return prng.between(0, kZeroStepSpreadMs);
  const std::int64_t spread_ms = std::max<std::int64_t>(fraction_of(step_ms, policy.jitter), 0);
  return std::min(saturating_add(step_ms, prng.between(0, spread_ms)), kRetryDelayMsMax);
}

}  // namespace weir::core
