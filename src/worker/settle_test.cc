// SPDX-License-Identifier: Apache-2.0
// What is told of a run for every way it can end, and when telling stops.
#include "worker/settle.h"

#include <gtest/gtest.h>

#include "worker/fake_server_for_test.h"

namespace weir::worker {
namespace {

const HandlerResult kAck = HandlerResult::ack("1");
const HandlerResult kFail = HandlerResult::fail({.error_class = "exit", .message = "m"});

TEST(OutcomeToTell, a_run_that_nobody_stopped_is_told_as_it_ended) {
  EXPECT_EQ(outcome_to_tell(kAck, CancelReason::none, 0)->kind, HandlerResult::Kind::ack);
  EXPECT_EQ(outcome_to_tell(kFail, CancelReason::none, 0)->report.error_class, "exit");
}
TEST(OutcomeToTell, nothing_is_told_for_a_lost_lease) {
  EXPECT_FALSE(outcome_to_tell(kAck, CancelReason::lease_lost, 0));
  EXPECT_FALSE(outcome_to_tell(kFail, CancelReason::lease_lost, 0));
}
TEST(OutcomeToTell, a_stop_gives_back_what_was_not_finished) {
  EXPECT_EQ(outcome_to_tell(kAck, CancelReason::stopping, 0)->kind, HandlerResult::Kind::ack);
  EXPECT_EQ(outcome_to_tell(kFail, CancelReason::stopping, 0)->kind, HandlerResult::Kind::release);
}
TEST(OutcomeToTell, a_timeout_fails_as_such_and_is_never_dead_at_once) {
  HandlerResult dead = kFail;
  dead.report.dead = true;
  dead.report.code = "65";
  const auto told = outcome_to_tell(dead, CancelReason::timeout, 5'000);
  EXPECT_EQ(told->report.error_class, "timeout");
  EXPECT_FALSE(told->report.dead);
  EXPECT_EQ(told->report.message, "timeout: still running after 5s\nm");
  EXPECT_EQ(outcome_to_tell(kAck, CancelReason::timeout, 5'000)->kind, HandlerResult::Kind::ack);
}

struct SettleTest : testing::Test {
  FakeServer server;
  ManualClock clock;
  Cancel cancel;
  int waits = 0;
  int waits_max = 50;

  bool run(const HandlerResult& outcome) {
    return settle({.api = server,
                   .clock = clock,
                   .backoff = Backoff({}, 1),
                   .lease_ms = 1'000,
                   .wait =
                       [this](std::int64_t wait_ms) {
                         clock.advance(wait_ms);
                         return ++waits < waits_max;
                       },
                   .cancel = cancel},
                  {.id = "1", .queue = "q", .lease_token = "t1"}, outcome);
  }
};

TEST_F(SettleTest, each_code_is_repeated_or_given_up_as_it_means) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    server.verb_error = Error{.code = code};
    server.verbs = 0;
    waits = 0;
    EXPECT_FALSE(run(kFail)) << to_string(code);
    switch (code) {
      case ErrorCode::unavailable:
      case ErrorCode::queue_saturated:
      case ErrorCode::rate_limited:
      case ErrorCode::store_full:
        EXPECT_EQ(waits, waits_max) << to_string(code);
        break;
      case ErrorCode::unauthenticated:
      case ErrorCode::permission_denied:
      case ErrorCode::corruption:
      case ErrorCode::io_error:
      case ErrorCode::internal:
        EXPECT_GT(waits, 1) << to_string(code);
        EXPECT_LT(waits, waits_max) << to_string(code);
        break;
      case ErrorCode::invalid_argument:
      case ErrorCode::too_large:
      case ErrorCode::unsupported_media_type:
      case ErrorCode::not_found:
      case ErrorCode::gone:
      case ErrorCode::lease_lost:
      case ErrorCode::idempotency_mismatch:
      case ErrorCode::conflict:
      case ErrorCode::unsupported:
        EXPECT_EQ(server.verbs, 1) << to_string(code);
        break;
    }
  }
}

TEST_F(SettleTest, a_lease_that_is_lost_meanwhile_ends_the_repeats) {
  server.verb_error = Error{.code = ErrorCode::unavailable};
  cancel.cancel(CancelReason::lease_lost);
  EXPECT_FALSE(run(kAck));
  EXPECT_EQ(waits, 0);
}

}  // namespace
}  // namespace weir::worker
