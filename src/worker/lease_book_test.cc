// SPDX-License-Identifier: Apache-2.0
// When leases are extended and runs time out, by times that the test gives.
#include "worker/lease_book.h"

#include <gtest/gtest.h>

#include "worker/backoff.h"

namespace weir::worker {
namespace {

struct LeaseBookTest : testing::Test {
  LeaseBook book;

  std::shared_ptr<Cancel> add(const std::string& token, std::int64_t lease_ms,
                              std::int64_t timeout_ms, std::int64_t now_ms) {
    auto cancel = std::make_shared<Cancel>();
    book.add({.lease = {.job_id = "j" + token, .token = token},
              .lease_ms = lease_ms,
              .timeout_ms = timeout_ms,
              .cancel = cancel},
             now_ms);
    return cancel;
  }
};

TEST_F(LeaseBookTest, a_lease_is_due_at_a_third_and_again_a_third_after_each_answer) {
  add("a", 60'000, 0, 1'000);
  EXPECT_EQ(book.next_due_ms(), 21'000);
  EXPECT_TRUE(book.take_due(20'999, 100).empty());
  ASSERT_EQ(book.take_due(21'000, 100).size(), 1U);
  book.answered({.job_id = "ja", .token = "a"}, WallTime{1}, 21'500);
  EXPECT_EQ(book.next_due_ms(), 41'500);
}

TEST_F(LeaseBookTest, an_extend_without_answer_is_sent_again_long_before_the_lease_ends) {
  add("a", 60'000, 0, 0);
  book.take_due(20'000, 100);
  EXPECT_LE(book.next_due_ms(), 22'000);
  book.answered({.job_id = "ja", .token = "a"}, failure(ErrorCode::unavailable, "x"), 20'100);
  EXPECT_LE(book.next_due_ms(), 22'000);
}

TEST_F(LeaseBookTest, only_the_words_of_the_server_that_mean_loss_cancel_a_run) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const auto cancel = add("a", 60'000, 0, 0);
    book.answered({.job_id = "ja", .token = "a"}, failure(code, "x"), 1);
    const bool means_loss =
        code == ErrorCode::lease_lost || code == ErrorCode::gone || code == ErrorCode::not_found;
    EXPECT_EQ(cancel->is_cancelled(), means_loss) << to_string(code);
    book.remove({.job_id = "ja", .token = "a"});
  }
}

TEST_F(LeaseBookTest, a_lost_lease_is_not_extended_again) {
  add("a", 60'000, 0, 0);
  book.take_due(20'000, 100);
  book.answered({.job_id = "ja", .token = "a"}, failure(ErrorCode::lease_lost, "x"), 20'001);
  EXPECT_TRUE(book.take_due(1'000'000'000, 100).empty());
}

TEST_F(LeaseBookTest, a_run_is_cancelled_at_its_timeout_and_once) {
  const auto cancel = add("a", 60'000, 5'000, 1'000);
  EXPECT_EQ(book.next_timeout_ms(), 6'000);
  EXPECT_EQ(book.cancel_overdue(5'999), 0U);
  EXPECT_EQ(book.cancel_overdue(6'000), 1U);
  EXPECT_EQ(cancel->reason(), CancelReason::timeout);
  EXPECT_EQ(book.cancel_overdue(7'000), 0U);
  cancel->cancel(CancelReason::stopping);
  EXPECT_EQ(cancel->reason(), CancelReason::timeout) << "the first reason stays";
}

TEST_F(LeaseBookTest, a_call_takes_as_many_as_it_may_and_the_rest_stays_due) {
  for (int i = 0; i < 5; ++i) add(std::to_string(i), 3, 0, 0);
  EXPECT_EQ(book.take_due(1, 3).size(), 3U);
  EXPECT_EQ(book.take_due(1, 3).size(), 2U);
}

TEST_F(LeaseBookTest, an_answer_that_comes_after_the_end_is_nothing) {
  const auto cancel = add("a", 60'000, 0, 0);
  book.remove({.job_id = "ja", .token = "a"});
  book.answered({.job_id = "ja", .token = "a"}, failure(ErrorCode::lease_lost, "x"), 1);
  EXPECT_FALSE(cancel->is_cancelled());
  EXPECT_EQ(book.size(), 0U);
}

TEST(Backoff, waits_grow_to_the_cap_stay_jittered_and_start_anew) {
  Backoff backoff({.base_ms = 100, .cap_ms = 4'000}, 7);
  const std::vector<std::int64_t> steps = {100, 200, 400, 800, 1'600, 3'200, 4'000, 4'000};
  bool differs = false;
  for (const std::int64_t step : steps) {
    const std::int64_t wait = backoff.next_ms();
    EXPECT_GE(wait, step / 2);
    EXPECT_LE(wait, step);
    differs = differs || wait != step;
  }
  EXPECT_TRUE(differs);
  EXPECT_EQ(backoff.next_ms(1'000'000), 4'000) << "what the server asks for is bounded by the cap";
  backoff.reset();
  EXPECT_LE(backoff.next_ms(), 100);
}

}  // namespace
}  // namespace weir::worker
