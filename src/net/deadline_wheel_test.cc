// SPDX-License-Identifier: Apache-2.0
#include "net/deadline_wheel.h"

#include <memory>

#include "base/prng.h"

namespace weir::net {
namespace {

struct Timer final : DeadlineEntry {
  std::int64_t check_deadline(std::int64_t now_ms) override {
    looked_at.push_back(now_ms);
    return now_ms < deadline_ms ? deadline_ms : kNoDeadline;
  }
  std::int64_t deadline_ms = 0;
  std::vector<std::int64_t> looked_at;
};

TEST(DeadlineWheel, never_early_and_at_most_one_tick_late) {
  Prng prng(7);
  DeadlineWheel wheel(1'000'000);
  std::vector<std::unique_ptr<Timer>> timers;
  for (int i = 0; i < 500; ++i) {
    timers.push_back(std::make_unique<Timer>());
    timers.back()->deadline_ms = 1'000'000 + prng.between(0, 300'000);
    wheel.schedule(*timers.back(), timers.back()->deadline_ms);
  }
  for (std::int64_t now = 1'000'000; now <= 1'301'000; now += prng.between(1, 150)) {
    wheel.advance(now);
    for (const auto& timer : timers) {
      const bool is_due = timer->deadline_ms + DeadlineWheel::kTickMs <= now;
      if (is_due) {
        ASSERT_EQ(timer->looked_at.size(), 1U) << timer->deadline_ms << " at " << now;
        ASSERT_GE(timer->looked_at[0], timer->deadline_ms);
      } else if (timer->deadline_ms > now) {
        ASSERT_TRUE(timer->looked_at.empty());
      }
    }
  }
  EXPECT_TRUE(wheel.is_empty());
}

TEST(DeadlineWheel, an_earlier_deadline_moves_and_a_later_one_costs_one_look) {
  DeadlineWheel wheel(0);
  Timer timer;
  timer.deadline_ms = 60'000;
  wheel.schedule(timer, 60'000);
  timer.deadline_ms = 10'000;
  wheel.schedule(timer, 10'000);
  timer.deadline_ms = 50'000;
  wheel.schedule(timer, 50'000);
  wheel.advance(10'100);
  EXPECT_EQ(timer.looked_at.size(), 1U);
  wheel.advance(50'100);
  EXPECT_EQ(timer.looked_at.size(), 2U);
}

TEST(DeadlineWheel, survives_a_jump_over_the_whole_wheel) {
  DeadlineWheel wheel(0);
  Timer near;
  Timer far;
  near.deadline_ms = 5'000;
  far.deadline_ms = 10'000'000;
  wheel.schedule(near, 5'000);
  wheel.schedule(far, 10'000'000);
  wheel.advance(9'000'000);
  EXPECT_EQ(near.looked_at.size(), 1U);
  EXPECT_TRUE(far.looked_at.empty());
  wheel.advance(10'000'100);
  EXPECT_EQ(far.looked_at.size(), 1U);
}

TEST(DeadlineWheel, destroyed_entries_leave_it) {
  DeadlineWheel wheel(0);
  {
    Timer timer;
    wheel.schedule(timer, 100);
  }
  EXPECT_TRUE(wheel.is_empty());
  wheel.advance(1'000);
}

}  // namespace
}  // namespace weir::net
