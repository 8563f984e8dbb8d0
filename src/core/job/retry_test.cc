// SPDX-License-Identifier: Apache-2.0
// Retry delays: exact values of the presets, and for wild policies (B47) that nothing is negative,
// over the cap or shrinking.
#include "core/job/retry.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/limits.h"

namespace weir::core {
namespace {

RetryPolicy formula(std::int64_t base_ms, double factor, std::int64_t cap_ms) {
  return {.base_ms = base_ms, .factor = factor, .cap_ms = cap_ms, .jitter = 0.2, .max_attempts = 5};
}

TEST(RetryTest, ladder_steps_are_0_1_4_16_60_seconds_and_stay_there) {
  const RetryPolicy ladder = ladder_policy();
  const std::int64_t expected[] = {0, 1'000, 4'000, 16'000, 60'000, 60'000, 60'000};
  for (std::uint32_t n = 1; n <= 7; ++n) EXPECT_EQ(retry_step_ms(ladder, n), expected[n - 1]);
  EXPECT_EQ(ladder.max_attempts, 6U);
  EXPECT_TRUE(check_retry_policy(ladder));
}

TEST(RetryTest, exp2_doubles_from_one_second_up_to_fifteen_minutes) {
  const RetryPolicy exp2 = exp2_policy();
  for (std::uint32_t n = 1; n <= 10; ++n) EXPECT_EQ(retry_step_ms(exp2, n), 1'000LL << (n - 1));
  EXPECT_EQ(retry_step_ms(exp2, 11), 900'000);
  EXPECT_EQ(retry_step_ms(exp2, std::numeric_limits<std::uint32_t>::max()), 900'000);
  EXPECT_EQ(exp2.max_attempts, 5U);
  EXPECT_TRUE(check_retry_policy(exp2));
}

TEST(RetryTest, presets_are_found_by_name_only) {
  EXPECT_EQ(retry_preset("ladder").value(), ladder_policy());
  EXPECT_EQ(retry_preset("exp2").value(), exp2_policy());
  const auto none = retry_preset("exp3");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().detail.find("ladder"), std::string::npos);
}

TEST(RetryTest, what_a_written_policy_leaves_open_is_filled_and_no_more) {
  const RetryPolicy list = complete_retry_policy({.delays_ms = {1'000, 9'000, 4'000}});
  EXPECT_EQ(list.max_attempts, 4U);
  EXPECT_EQ(list.cap_ms, 9'000);
  const RetryPolicy formula = complete_retry_policy({.base_ms = 1'000, .factor = 3});
  EXPECT_EQ(formula.max_attempts, 5U);
  EXPECT_EQ(formula.cap_ms, 0);  // a formula must name its cap
  const RetryPolicy named =
      complete_retry_policy({.delays_ms = {1'000}, .cap_ms = 2'000, .max_attempts = 9});
  EXPECT_EQ(named.max_attempts, 9U);
  EXPECT_EQ(named.cap_ms, 2'000);
}

TEST(RetryTest, jitter_stays_in_its_band_and_moves) {
  Prng prng(4);
  const RetryPolicy ladder = ladder_policy();
  const struct {
    std::uint32_t charged;
    std::int64_t low, high;
  } bands[] = {
      {1, 0, 250}, {2, 1'000, 1'200}, {3, 4'000, 4'800}, {4, 16'000, 19'200}, {5, 48'000, 60'000}};
  for (const auto& band : bands) {
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    for (int i = 0; i < 2'000; ++i) {
      const std::int64_t delay = retry_delay_ms(ladder, band.charged, prng);
      ASSERT_GE(delay, band.low);
      ASSERT_LE(delay, band.high);
      least = std::min(least, delay);
      most = std::max(most, delay);
    }
    EXPECT_LT(least, most);
  }
}

// B47: attempts 1…10,000 with overflowing bases and every factor that is accepted.
TEST(RetryTest, wild_exponents_saturate_at_the_cap_and_never_shrink) {
  Prng prng(47);
  const std::int64_t bases[] = {0, 1, 1'000, 1LL << 31, 1LL << 62, INT64_MAX};
  const double factors[] = {1.0, 1.0000001, 2, 10, 1e300};
  for (const std::int64_t base : bases) {
    for (const double factor : factors) {
      for (const std::int64_t cap : {std::int64_t{1}, std::int64_t{900'000}, kRetryDelayMsMax}) {
        const RetryPolicy policy = formula(base, factor, cap);
        ASSERT_TRUE(check_retry_policy(policy));
        std::int64_t before = 0;
        for (std::uint32_t n = 1; n <= 10'000; ++n) {
          const std::int64_t step = retry_step_ms(policy, n);
          ASSERT_GE(step, before);
          ASSERT_LE(step, cap);
          before = step;
          const std::int64_t delay = retry_delay_ms(policy, n, prng);
          ASSERT_GE(delay, 0);
          ASSERT_LE(delay, cap);
          ASSERT_TRUE(step == cap || delay >= step);
        }
        for (const std::uint32_t n : {1U << 31, UINT32_MAX}) {
          ASSERT_GE(retry_step_ms(policy, n), before);
          ASSERT_LE(retry_step_ms(policy, n), cap);
        }
      }
    }
  }
}

TEST(RetryTest, nonsense_is_refused) {
  RetryPolicy good = formula(1'000, 2, 60'000);
  ASSERT_TRUE(check_retry_policy(good));
  const auto refused = [&](auto change) {
    RetryPolicy bad = good;
    change(bad);
    const auto checked = check_retry_policy(bad);
    return !checked && checked.error().code == ErrorCode::invalid_argument;
  };
  for (const double factor :
       {0.0, -1.0, 0.99, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_TRUE(refused([&](RetryPolicy& p) { p.factor = factor; })) << factor;
  }
  for (const double jitter : {0.0, -0.1, 1.01, std::nan("")}) {
    EXPECT_TRUE(refused([&](RetryPolicy& p) { p.jitter = jitter; })) << jitter;
  }
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.base_ms = -1; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.cap_ms = 0; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.cap_ms = -5; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.cap_ms = kRetryDelayMsMax + 1; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.delays_ms = {0, -1}; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.delays_ms = {kRetryDelayMsMax + 1}; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.max_attempts = 0; }));
  EXPECT_TRUE(refused([](RetryPolicy& p) { p.max_attempts = kMaxAttemptsMax + 1; }));
}

TEST(RetryTest, an_asked_delay_is_never_early_and_at_most_a_day) {
  Prng prng(3);
  const RetryPolicy ladder = ladder_policy();
  for (int i = 0; i < 1'000; ++i) {
    const std::int64_t delay = asked_retry_delay_ms(ladder, 600'000, prng);
    ASSERT_GE(delay, 600'000);  // over the cap of the ladder
    ASSERT_LE(delay, 720'000);
  }
  EXPECT_EQ(asked_retry_delay_ms(ladder, INT64_MAX, prng), kRetryDelayMsMax);
  EXPECT_LE(asked_retry_delay_ms(ladder, 0, prng), 250);
}

}  // namespace
}  // namespace weir::core
