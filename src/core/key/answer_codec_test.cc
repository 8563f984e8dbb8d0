// SPDX-License-Identifier: Apache-2.0
// The codec of stored answers: everything comes back, and nothing that is read can crash it.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "core/decide.h"

namespace weir::core {
namespace {

std::vector<Answer> samples() {
  Queue queue{.id = QueueId{3}, .namespace_id = 1, .name = "q°", .paused = true, .version = 8};
  queue.settings.retry = {
      .name = "n", .delays_ms = {0, 5, 86'400'000}, .factor = 1.5, .cap_ms = 7, .jitter = 0.25};
  queue.settings.order = QueueOrder::fifo;
  queue.settings.durability = Durability::interval;
  return {
      {.outcome = Nothing{}},
      {.outcome = Enqueued{.queue = QueueId{2},
                           .ids = {JobId{1}, JobId{UINT64_MAX}, JobId{5}},
                           .duplicates = {0, 2},
                           .first_state = JobState::scheduled},
       .durable = false},
      {.outcome = Moved{.job = JobId{9},
                        .state = JobState::dead,
                        .retry_after_ms = 5,
                        .run_at = kWallTimeMax,
                        .reason = std::string("a\0b", 3),
                        .version = 7}},
      {.outcome = Extended{.job = JobId{1}, .lease_expires_at = WallTime{-5}}},
      {.outcome = Removed{.count = 12}, .replayed = true},
      {.outcome = QueueChanged{.queue = queue, .created = true, .warnings = {"w", ""}}},
      {.outcome = TokenChanged{.id = "wt_1"}},
      {.outcome = Kicked{.count = 4}},
      {.outcome = Error{.code = ErrorCode::conflict,
                        .detail = "d",
                        .retry_after_ms = 1,
                        .depth = 2,
                        .max_depth = -1}},
  };
}

TEST(AnswerCodecTest, every_outcome_comes_back) {
  for (const Answer& answer : samples()) {
    const Result<Answer> back = decode_answer(encode_answer(answer));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, answer);
  }
}

TEST(AnswerCodecTest, every_error_code_comes_back) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const Answer answer{.outcome = Error{.code = static_cast<ErrorCode>(i)}};
    EXPECT_EQ(decode_answer(encode_answer(answer)).value(), answer);
  }
}

TEST(AnswerCodecTest, an_enqueue_of_a_whole_batch_is_small) {
  Enqueued batch;
  for (std::uint64_t i = 0; i < 1'000; ++i) batch.ids.push_back(JobId{(1ULL << 40) + i});
  EXPECT_LT(encode_answer({.outcome = batch}).size(), 1'100U);
}

TEST(AnswerCodecTest, short_and_long_forms_are_corruption) {
  for (const Answer& answer : samples()) {
    const std::string bytes = encode_answer(answer);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const auto cut = decode_answer(std::string_view(bytes).substr(0, n));
      ASSERT_FALSE(cut);
      EXPECT_EQ(cut.error().code, ErrorCode::corruption);
    }
    EXPECT_FALSE(decode_answer(bytes + '\0'));
  }
}

TEST(AnswerCodecTest, noise_and_flipped_bits_never_crash) {
  Prng prng(6);
  for (int i = 0; i < 200'000; ++i) {
    std::string noise(prng.up_to(60), ' ');
    for (char& c : noise) c = static_cast<char>(prng.up_to(255));
    if (noise.size() > 4) {
      noise[0] = 1;  // a known version and outcome, so that the fields are reached
      noise[1] = noise[2] = 0;
      noise[3] = static_cast<char>(prng.between(0, 9));
    }
    static_cast<void>(decode_answer(noise));
  }
  for (const Answer& answer : samples()) {
    const std::string bytes = encode_answer(answer);
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      if (const auto decoded = decode_answer(flipped)) {
        const auto again = decode_answer(encode_answer(*decoded));
        ASSERT_TRUE(again);
      }
    }
  }
}

}  // namespace
}  // namespace weir::core
