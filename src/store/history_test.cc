// SPDX-License-Identifier: Apache-2.0
// The bound on histories: the middle goes first, the ends stay.
#include "store/history.h"

#include <gtest/gtest.h>

namespace weir::store {
namespace {

std::vector<core::AttemptRecord> history_of(std::uint32_t attempts, std::size_t message_bytes) {
  std::vector<core::AttemptRecord> history;
  for (std::uint32_t n = 1; n <= attempts; ++n) {
    core::AttemptRecord attempt;
    attempt.attempt = n;
    attempt.error.message = std::string(message_bytes, 'x');
    history.push_back(attempt);
  }
  return history;
}

std::size_t bytes_of(const std::vector<core::AttemptRecord>& history) {
  std::size_t sum = 0;
  for (const core::AttemptRecord& attempt : history) sum += history_bytes(attempt);
  return sum;
}

TEST(HistoryTest, short_histories_stay_whole) {
  auto history = history_of(3, 1000);
  const auto before = history;
  bound_history(history);
  EXPECT_EQ(history, before);
}

TEST(HistoryTest, middle_texts_are_cut_first) {
  auto history = history_of(6, 60'000);
  bound_history(history);
  ASSERT_EQ(history.size(), 6U);
  EXPECT_LE(bytes_of(history), core::kHistoryBytesMax);
  EXPECT_EQ(history.front().error.message.size(), 60'000U);
  EXPECT_EQ(history.back().error.message.size(), 60'000U);
  EXPECT_LT(history[1].error.message.size(), 60'000U);
}

TEST(HistoryTest, endless_histories_lose_their_middle) {
  auto history = history_of(20'000, 10);
  bound_history(history);
  EXPECT_LE(bytes_of(history), core::kHistoryBytesMax);
  EXPECT_EQ(history.front().attempt, 1U);
  EXPECT_EQ(history.back().attempt, 20'000U);
}

TEST(HistoryTest, cut_texts_stay_utf8) {
  auto history = history_of(4, 0);
  // Two bytes a character, at odd places: a cut at 1024 would fall between them.
  for (auto& attempt : history) {
    attempt.error.message = "x";
    for (int i = 0; i < 2000; ++i) attempt.error.message += "\xc3\xa4";
  }
  bound_history(history, 10'000);
  EXPECT_EQ(history[1].error.message.size() % 2, 1U);
}

TEST(HistoryTest, nothing_fits_no_bound_of_two_attempts) {
  auto history = history_of(2, 1000);
  bound_history(history, 10);
  EXPECT_EQ(history.size(), 2U);
  std::vector<core::AttemptRecord> none;
  bound_history(none, 10);
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace weir::store
