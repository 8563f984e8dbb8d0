// SPDX-License-Identifier: Apache-2.0
// The time of turns: the store's clock is driven by boot time only, and stalls of the loop are
// seen.
#include "engine/turn_clock.h"

#include <gtest/gtest.h>

namespace weir::engine {
namespace {

class TurnClockTest : public testing::Test {
 protected:
  TurnClockTest() { time_.start(StoreTime{5000}); }
  void turn(std::int64_t after_ms, std::int64_t planned_ms = 0) {
    clock_.advance(after_ms);
    time_.begin_turn();
    time_.end_turn(planned_ms);
  }
  ManualClock clock_;
  TurnClock time_{clock_};
};

TEST_F(TurnClockTest, store_time_goes_on_from_where_the_store_stopped) {
  turn(7);
  EXPECT_EQ(time_.now().store, StoreTime{5007});
  clock_.step_wall(-12 * kMsPerHour);
  turn(3);
  EXPECT_EQ(time_.now().store, StoreTime{5010});
  EXPECT_EQ(time_.now().wall, clock_.wall_now());
}

TEST_F(TurnClockTest, a_planned_sleep_is_no_stall) {
  turn(10, 60'000);
  turn(60'090);
  EXPECT_TRUE(time_.may_expire_leases());
  EXPECT_EQ(time_.judged_at(), time_.now().store);
}

TEST_F(TurnClockTest, after_a_stall_leases_wait_one_round_and_verbs_are_judged_by_the_time_before) {
  turn(10);
  const StoreTime before = time_.now().store;
  turn(30'000);
  EXPECT_FALSE(time_.may_expire_leases());
  EXPECT_EQ(time_.judged_at(), before);
  turn(1);
  EXPECT_TRUE(time_.may_expire_leases());
  EXPECT_EQ(time_.judged_at(), before);
  turn(1);
  EXPECT_TRUE(time_.may_expire_leases());
  EXPECT_EQ(time_.judged_at(), time_.now().store);
}

TEST_F(TurnClockTest, a_loop_that_is_always_slow_still_expires_leases_every_other_turn) {
  turn(10);
  int expiring = 0;
  for (int i = 0; i < 10; ++i) {
    turn(150);
    expiring += time_.may_expire_leases() ? 1 : 0;
  }
  EXPECT_EQ(expiring, 5);
}

}  // namespace
}  // namespace weir::engine
