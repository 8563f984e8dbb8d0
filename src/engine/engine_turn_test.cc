// SPDX-License-Identifier: Apache-2.0
// Turns: one now, one commit, one sync, answers in order and only when durable by the configured
// rule.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

TEST(Turn, all_that_has_arrived_shares_one_commit_and_one_sync) {
  TestEngine test;
  test.enqueue("q");  // the queue is there
  test.store().log.clear();
  std::vector<std::shared_ptr<std::optional<core::Answer>>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(test.put(TestEngine::jobs("q", 1)));
  ASSERT_TRUE(test.engine().run_turn());
  EXPECT_EQ(test.store().log, (std::vector<std::string>{"commit 100", "sync"}));
  for (const auto& answer : answers) EXPECT_TRUE(answer->has_value());
}

TEST(Turn, answers_come_in_the_order_of_the_commands_and_never_from_submit) {
  TestEngine test;
  std::vector<int> order;
  for (int i = 0; i < 10; ++i) {
    // Refusals, new jobs and a queue that is made on the way, mixed.
    core::Command command = TestEngine::jobs("q" + std::to_string(i % 2), 1);
    if (i % 3 == 1) command = core::Cancel{.job = core::JobId{999'999}};
    ASSERT_TRUE(test.engine().submit(core::Request{.command = std::move(command)},
                                     [&order, i](const core::Answer&) { order.push_back(i); }));
  }
  EXPECT_TRUE(order.empty());
  test.settle();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(Turn, no_answer_leaves_before_the_sync) {
  TestEngine test;
  int syncs_at_answer = -1;
  ASSERT_TRUE(
      test.engine().submit(core::Request{.command = TestEngine::jobs("q", 1)},
                           [&](const core::Answer&) { syncs_at_answer = test.store().syncs; }));
  test.settle();
  EXPECT_EQ(syncs_at_answer, 1);
}

TEST(Turn, one_now_for_all_commands_of_a_turn) {
  TestEngine test;
  test.enqueue("q");
  test.store().commit_nows.clear();
  const auto a = test.put(TestEngine::jobs("q", 1));
  test.clock().advance(5);
  const auto b = test.put(TestEngine::jobs("q", 1));
  test.clock().advance(5);
  test.settle();
  ASSERT_EQ(test.store().commit_nows.size(), 1U);
  EXPECT_EQ(test.store().commit_nows[0], test.engine().now());
  const auto created = [&](const auto& answer) {
    return test.engine().job(std::get<core::Enqueued>((*answer)->outcome).ids[0])->job.created_at;
  };
  EXPECT_EQ(created(a), created(b));
  EXPECT_EQ(created(a), test.engine().now().wall);
}

TEST(Turn, a_turn_is_bounded_and_the_rest_comes_in_the_next) {
  TestEngine test;
  test.enqueue("q");
  for (std::size_t i = 0; i < core::kTurnCommandsMax + 10; ++i) test.put(TestEngine::jobs("q", 1));
  const Result<bool> more = test.engine().run_turn();
  ASSERT_TRUE(more);
  EXPECT_TRUE(*more);
  EXPECT_EQ(test.store().largest_commit, core::kTurnCommandsMax);
  test.settle();
  EXPECT_EQ(test.count("q", core::JobState::pending), core::kTurnCommandsMax + 11);
}

TEST(Turn, commits_are_bounded_in_bytes_whatever_the_commands_weighed) {
  TestEngine test;
  // A claim is a small command, but the after-image of a job with long texts is not.
  const core::NewJob heavy{.kind = std::string(250, 'k'),
                           .limit_key = std::string(250, 'l'),
                           .tags = std::vector<std::string>(16, std::string(250, 't'))};
  for (int i = 0; i < 4; ++i) test.enqueue("q", 500, heavy);
  const auto held = test.claim("q", 1000);
  ASSERT_EQ(held.size(), 1000U);
  test.store().log.clear();
  test.store().heaviest_commit = 0;
  for (const Delivery& d : held) test.put(TestEngine::ack_of(d));
  test.settle();
  EXPECT_EQ(test.count("q", core::JobState::completed), 1000U);
  EXPECT_GT(test.store().heaviest_commit, core::kMiB);
  EXPECT_LE(test.store().heaviest_commit, core::kTurnBytesMax);
  EXPECT_EQ(std::count(test.store().log.begin(), test.store().log.end(), "sync"), 1);
}

TEST(Turn, a_full_mailbox_refuses_enqueues_and_takes_acks) {
  TestEngine test(Options{.mailbox_max = 8});
  test.enqueue("q", 2);
  const auto deliveries = test.claim("q", 2);
  ASSERT_EQ(deliveries.size(), 2U);
  for (int i = 0; i < 6; ++i) test.put(TestEngine::jobs("q", 1));
  const Result<void> refused =
      test.engine().submit(core::Request{.command = TestEngine::jobs("q", 1)}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  const auto acked = test.put(TestEngine::ack_of(deliveries[0]));
  test.settle();
  EXPECT_EQ(std::get<core::Moved>((*acked)->outcome).state, core::JobState::completed);
}

TEST(Turn, claims_ride_and_are_synced_within_a_second_of_idleness) {
  TestEngine test;
  test.enqueue("q", 1);
  const int before = test.store().syncs;
  ASSERT_EQ(test.claim("q").size(), 1U);
  EXPECT_EQ(test.store().syncs, before);
  test.pass(999);
  EXPECT_EQ(test.store().syncs, before);
  test.pass(1);
  EXPECT_EQ(test.store().syncs, before + 1);
  test.pass(5000);
  EXPECT_EQ(test.store().syncs, before + 1);
}

TEST(Turn, interval_queues_answer_before_the_sync_and_say_so) {
  TestEngine test;
  test.ask(core::PutQueue{
      .queue = "q",
      .patch = {.durability = core::Durability::interval, .durability_interval_ms = 200}});
  const int before = test.store().syncs;
  const core::Answer answer = test.ask(TestEngine::jobs("q", 1));
  EXPECT_FALSE(answer.durable);
  EXPECT_EQ(test.store().syncs, before);
  test.pass(199);
  EXPECT_EQ(test.store().syncs, before);
  test.pass(1);
  EXPECT_EQ(test.store().syncs, before + 1);
}

TEST(Turn, a_job_whose_enqueue_is_not_durable_is_not_handed_out_before_it_is) {
  TestEngine test;
  test.ask(core::PutQueue{
      .queue = "q",
      .patch = {.durability = core::Durability::interval, .durability_interval_ms = 200}});
  test.ask(TestEngine::jobs("q", 1));
  test.store().log.clear();
  ASSERT_EQ(test.claim("q").size(), 1U);
  EXPECT_EQ(test.store().log, (std::vector<std::string>{"sync", "commit 1"}));
}

TEST(Turn, a_guard_that_missed_is_decided_again_from_fresh_data) {
  TestEngine test;
  test.enqueue("q");
  test.store().misses = 1;
  const auto missed = test.put(TestEngine::jobs("q", 1));
  const auto other = test.put(TestEngine::jobs("q", 1));
  test.settle();
  EXPECT_TRUE(std::holds_alternative<core::Enqueued>((*missed)->outcome));
  EXPECT_TRUE(std::holds_alternative<core::Enqueued>((*other)->outcome));
  EXPECT_EQ(test.count("q", core::JobState::pending), 3U);
}

TEST(Turn, an_answer_that_rested_on_a_missed_change_is_decided_again) {
  TestEngine test;
  test.enqueue("q");
  test.store().misses = 1;
  const core::NewJob keyed{.unique_key = "k"};
  const auto first = test.put(TestEngine::jobs("q", 1, keyed));
  const auto second =
      test.put(TestEngine::jobs("q", 1, keyed));  // says "duplicate of the first", at first
  test.settle();
  const auto& a = std::get<core::Enqueued>((*first)->outcome);
  const auto& b = std::get<core::Enqueued>((*second)->outcome);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.duplicates.size() + b.duplicates.size(), 1U);
  EXPECT_TRUE(test.engine().job(a.ids[0]));
}

TEST(Turn, guards_that_miss_for_ever_end_in_unavailable) {
  TestEngine test;
  test.enqueue("q");
  test.store().misses = 1000;
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::jobs("q", 1))), ErrorCode::unavailable);
}

TEST(Turn, a_full_store_refuses_enqueues_and_lets_workers_go_on) {
  TestEngine test;
  test.enqueue("q", 2);
  const auto deliveries = test.claim("q", 2);
  test.memory().set_capacity(2);
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::jobs("q", 1))), ErrorCode::store_full);
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::ack_of(deliveries[0]))), std::nullopt);
}

TEST(Turn, a_store_out_of_reach_answers_unavailable_and_the_engine_lives) {
  TestEngine test;
  test.enqueue("q");
  test.store().is_unavailable = true;
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::jobs("q", 1))), ErrorCode::unavailable);
  test.store().is_unavailable = false;
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::jobs("q", 1))), std::nullopt);
}

}  // namespace
}  // namespace weir::engine
