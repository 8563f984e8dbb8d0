// SPDX-License-Identifier: Apache-2.0
// Keys through turns: idempotency in the same turn and later, unique keys over all that may happen
// to a job.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

core::IdempotencyRef key_of(std::uint64_t scope, std::uint64_t body = 1) {
  return {.scope = {1, scope}, .request = {2, body}};
}

TEST(Keys, a_repeat_in_the_same_turn_conflicts_and_later_gets_the_first_answer) {
  TestEngine test;
  const auto first = test.put(TestEngine::jobs("q", 1), key_of(5));
  const auto same_turn = test.put(TestEngine::jobs("q", 1), key_of(5));
  test.settle();
  EXPECT_EQ(TestEngine::code_of(**same_turn), ErrorCode::conflict);
  const core::Answer repeat = test.ask(TestEngine::jobs("q", 1), key_of(5));
  EXPECT_TRUE(repeat.replayed);
  EXPECT_EQ(std::get<core::Enqueued>(repeat.outcome).ids,
            std::get<core::Enqueued>((*first)->outcome).ids);
  EXPECT_EQ(test.count("q", core::JobState::pending), 1U);
}

TEST(Keys, the_same_key_with_another_body_is_a_mismatch) {
  TestEngine test;
  test.ask(TestEngine::jobs("q", 1), key_of(5, 1));
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::jobs("q", 1), key_of(5, 2))),
            ErrorCode::idempotency_mismatch);
}

TEST(Keys, idempotency_entries_are_forgotten_after_their_time) {
  TestEngine test;
  test.ask(TestEngine::jobs("q", 1), key_of(5));
  test.leap(core::kIdempotencyMs - 1);
  EXPECT_TRUE(test.ask(TestEngine::jobs("q", 1), key_of(5)).replayed);
  test.leap(1000);
  EXPECT_FALSE(test.ask(TestEngine::jobs("q", 1), key_of(5)).replayed);
  EXPECT_EQ(test.count("q", core::JobState::pending), 2U);
}

TEST(Keys, a_unique_key_is_taken_while_its_job_lives_and_free_when_it_ends) {
  TestEngine test;
  const core::NewJob keyed{.unique_key = "k"};
  const auto first = test.enqueue("q", 1, keyed);
  EXPECT_EQ(test.enqueue("q", 1, keyed), first);
  const auto held = test.claim("q");
  EXPECT_EQ(test.enqueue("q", 1, keyed), first);
  // Ack and enqueue in one turn: the later sees the earlier.
  const auto acked = test.put(TestEngine::ack_of(held.at(0)));
  const auto next = test.put(TestEngine::jobs("q", 1, keyed));
  test.settle();
  EXPECT_NE(std::get<core::Enqueued>((*next)->outcome).ids, first);
}

TEST(Keys, a_hundred_enqueues_of_one_key_in_one_turn_make_one_job) {
  TestEngine test;
  std::vector<std::shared_ptr<std::optional<core::Answer>>> answers;
  for (int i = 0; i < 100; ++i)
    answers.push_back(test.put(TestEngine::jobs("q", 1, core::NewJob{.unique_key = "k"})));
  test.settle();
  EXPECT_EQ(test.count("q", core::JobState::pending), 1U);
  for (const auto& answer : answers) {
    EXPECT_EQ(std::get<core::Enqueued>((*answer)->outcome).ids,
              std::get<core::Enqueued>((*answers[0])->outcome).ids);
  }
}

TEST(Keys, a_unique_window_outlives_its_job_and_ends_by_time) {
  TestEngine test;
  const core::NewJob keyed{.unique_key = "k", .unique_window_ms = 60'000};
  const auto first = test.enqueue("q", 1, keyed);
  test.ask(TestEngine::ack_of(test.claim("q").at(0)));
  EXPECT_EQ(test.enqueue("q", 1, keyed), first);
  test.pass(61'000);
  EXPECT_NE(test.enqueue("q", 1, keyed), first);
}

TEST(Keys, max_depth_counts_the_jobs_of_the_same_turn) {
  TestEngine test;
  test.ask(core::PutQueue{.queue = "q", .patch = {.max_depth = 3}});
  int refused = 0;
  std::vector<std::shared_ptr<std::optional<core::Answer>>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(test.put(TestEngine::jobs("q", 1)));
  test.settle();
  for (const auto& answer : answers)
    refused += TestEngine::code_of(**answer) == ErrorCode::queue_saturated ? 1 : 0;
  EXPECT_EQ(refused, 7);
}

}  // namespace
}  // namespace weir::engine
