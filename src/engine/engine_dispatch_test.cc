// SPDX-License-Identifier: Apache-2.0
// Dispatch: polls answered at once and in order, nothing swallowed, nothing scanned.
#include <gtest/gtest.h>

#include <set>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

TEST(Dispatch, a_poll_gets_what_is_there_in_the_next_turn) {
  TestEngine test;
  test.enqueue("q", 3);
  const auto got = test.poll("q", 10, 30'000);
  EXPECT_FALSE(got->is_answered);
  ASSERT_TRUE(test.engine().run_turn());
  ASSERT_TRUE(got->is_answered);
  ASSERT_EQ(got->deliveries.size(), 3U);
  const Delivery& first = got->deliveries[0];
  EXPECT_EQ(first.queue_name, "q");
  EXPECT_EQ(first.body.payload, "0");
  EXPECT_EQ(first.job.attempt, 1U);
  EXPECT_EQ(first.lease_expires_at, test.engine().now().wall.plus(core::kLeaseMsDefault));
}

TEST(Dispatch, a_waiting_poll_is_answered_in_the_turn_that_brings_the_job) {
  TestEngine test;
  const auto got = test.poll("later", 1, 30'000);  // a queue that is not there yet
  test.pass(5000);
  EXPECT_FALSE(got->is_answered);
  test.put(TestEngine::jobs("later", 1));
  ASSERT_TRUE(test.engine().run_turn());
  ASSERT_TRUE(got->is_answered);
  EXPECT_EQ(got->deliveries.size(), 1U);
}

TEST(Dispatch, first_come_first_served) {
  TestEngine test;
  std::vector<std::shared_ptr<Got>> polls;
  for (int i = 0; i < 5; ++i) polls.push_back(test.poll("q", 1, 30'000));
  test.settle();
  const auto ids = test.enqueue("q", 3);
  for (std::size_t i = 0; i < 5; ++i) {
    ASSERT_EQ(polls[i]->is_answered, i < 3) << i;
    if (i < 3) {
      EXPECT_EQ(polls[i]->deliveries.at(0).job.id, ids[i]);
    }
  }
}

TEST(Dispatch, order_holds_between_polls_that_ask_for_different_things) {
  TestEngine test;
  const auto wide = test.poll(Demand{.queues = {"a", "q"}, .wait_ms = 30'000}).second;
  const auto narrow = test.poll("q", 1, 30'000);
  const auto kinds =
      test.poll(Demand{.queues = {"q"}, .kinds = {"mail"}, .wait_ms = 30'000}).second;
  test.settle();
  test.enqueue("q", 2, core::NewJob{.kind = "mail"});
  EXPECT_TRUE(wide->is_answered);
  EXPECT_TRUE(narrow->is_answered);
  EXPECT_FALSE(kinds->is_answered);
}

TEST(Dispatch, a_poll_that_does_not_match_lets_later_ones_pass) {
  TestEngine test;
  const auto mail = test.poll(Demand{.queues = {"q"}, .kinds = {"mail"}, .wait_ms = 30'000}).second;
  const auto any = test.poll("q", 1, 30'000);
  test.settle();
  test.enqueue("q", 1, core::NewJob{.kind = "sms"});
  EXPECT_FALSE(mail->is_answered);
  EXPECT_TRUE(any->is_answered);
  test.enqueue("q", 1, core::NewJob{.kind = "mail"});
  EXPECT_TRUE(mail->is_answered);
}

TEST(Dispatch, an_empty_answer_comes_at_the_end_of_the_wait_and_not_before) {
  TestEngine test;
  const auto now = test.poll("q", 1, 0);
  const auto later = test.poll("q", 1, 20'000);
  test.settle();
  EXPECT_TRUE(now->is_answered);
  test.pass(19'999);
  EXPECT_FALSE(later->is_answered);
  test.pass(1);
  EXPECT_TRUE(later->is_answered);
  EXPECT_TRUE(later->deliveries.empty());
  EXPECT_FALSE(later->error);
}

TEST(Dispatch, a_withdrawn_poll_swallows_nothing) {
  TestEngine test;
  const auto [id, gone] = test.poll(Demand{.queues = {"q"}, .wait_ms = 30'000});
  const auto next = test.poll("q", 1, 30'000);
  test.settle();
  test.engine().withdraw(id);
  test.enqueue("q", 1);
  EXPECT_FALSE(gone->is_answered);
  ASSERT_TRUE(next->is_answered);
  EXPECT_EQ(next->deliveries[0].job.attempt, 1U);
}

TEST(Dispatch, abandoned_polls_leave_the_job_pending_without_an_attempt) {
  TestEngine test;
  for (int i = 0; i < 100; ++i) {
    const auto [id, got] = test.poll(Demand{.queues = {"q"}, .wait_ms = 30'000});
    if (i % 2 == 0) test.settle();
    test.engine().withdraw(id);
  }
  const auto ids = test.enqueue("q", 1);
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::pending);
  EXPECT_EQ(test.engine().job(ids[0])->job.attempt, 0U);
  EXPECT_EQ(test.engine().lease_count(), 0U);
}

TEST(Dispatch, a_poll_withdrawn_while_answers_are_given_gives_its_job_back_uncharged) {
  TestEngine test;
  DemandId second = 0;
  bool is_second_called = false;
  test.engine().demand(Demand{.queues = {"q"}, .wait_ms = 1000},
                       [&](const auto&) { test.engine().withdraw(second); });
  second = test.engine().demand(Demand{.queues = {"q"}, .wait_ms = 1000},
                                [&](const auto&) { is_second_called = true; });
  const auto ids = test.enqueue("q", 2);
  EXPECT_FALSE(is_second_called);
  EXPECT_EQ(test.state_of(ids[1]), core::JobState::pending);
  const core::Job job = test.engine().job(ids[1])->job;
  EXPECT_EQ(job.charged(), 0U);
  EXPECT_EQ(test.engine().job_history(ids[1])->at(0).outcome, core::AttemptOutcome::undelivered);
}

TEST(Dispatch, what_could_not_be_handed_over_is_excused_and_comes_again) {
  TestEngine test;
  test.enqueue("q", 2);
  const auto lost = test.claim("q", 2);
  test.engine().undelivered(lost);
  const auto again = test.claim("q", 2);
  ASSERT_EQ(again.size(), 2U);
  EXPECT_EQ(again[0].job.attempt, 2U);
  EXPECT_EQ(again[0].job.charged(), 1U);
}

TEST(Dispatch, an_answer_is_cut_at_its_bytes_and_the_rest_stays_for_others) {
  TestEngine test;
  test.enqueue("q", 5, core::NewJob{.body = {.payload = std::string(1000, 'x')}});
  const auto small = test.poll(Demand{.queues = {"q"}, .credit = 5, .body_bytes_max = 2500}).second;
  const auto tiny = test.poll(Demand{.queues = {"q"}, .credit = 5, .body_bytes_max = 10}).second;
  const auto rest = test.poll("q", 5, 0);
  test.settle();
  EXPECT_EQ(small->deliveries.size(), 2U);
  EXPECT_EQ(tiny->deliveries.size(), 1U);
  EXPECT_EQ(rest->deliveries.size(), 2U);
}

TEST(Dispatch, claims_of_a_turn_share_one_commit) {
  TestEngine test;
  test.enqueue("q", 50);
  for (int i = 0; i < 50; ++i) test.poll("q", 1, 0);
  test.store().log.clear();
  test.settle();
  EXPECT_EQ(test.store().log, std::vector<std::string>{"commit 50"});
}

TEST(Dispatch, many_polls_over_many_queues_cost_no_scan) {
  TestEngine test;
  for (int queue = 0; queue < 1000; ++queue) {
    for (int i = 0; i < 5; ++i) test.poll("q" + std::to_string(queue), 1, 60'000);
  }
  test.settle();
  test.enqueue("q7", 1);
  test.store().heads_calls = 0;
  for (int i = 0; i < 20; ++i) test.pass(1);
  EXPECT_EQ(test.store().heads_calls, 0);
  test.enqueue("q8", 1);
  EXPECT_LE(test.store().heads_calls, 2);
  // As many polls on one queue: still by the line, not by the poll.
  for (int i = 0; i < 5000; ++i) test.poll("hot", 1, 60'000);
  test.settle();
  test.store().heads_calls = 0;
  test.enqueue("hot", 3);
  EXPECT_LE(test.store().heads_calls, 3);
}

TEST(Dispatch, a_large_backlog_goes_to_many_polls_each_job_once) {
  TestEngine test;
  test.enqueue("q", 1000);
  test.enqueue("q", 1000);
  std::vector<std::shared_ptr<Got>> polls;
  for (int i = 0; i < 300; ++i) polls.push_back(test.poll("q", i % 2 == 0 ? 1 : 12, 0));
  polls.push_back(test.poll("q", 1000, 0));
  test.settle();
  std::set<std::uint64_t> seen;
  std::size_t total = 0;
  for (const auto& got : polls) {
    total += got->deliveries.size();
    for (const Delivery& d : got->deliveries) seen.insert(d.job.id.value);
  }
  EXPECT_EQ(total, 2000U);
  EXPECT_EQ(seen.size(), 2000U);
  EXPECT_EQ(test.engine().lease_count(), 2000U);
}

TEST(Dispatch, a_paused_queue_gives_nothing_until_it_is_resumed) {
  TestEngine test;
  test.ask(core::PutQueue{.queue = "q", .patch = {.paused = true}});
  test.enqueue("q", 1);
  const auto got = test.poll("q", 1, 60'000);
  test.pass(3000);
  EXPECT_FALSE(got->is_answered);
  test.ask(core::PutQueue{.queue = "q", .patch = {.paused = false}});
  EXPECT_TRUE(got->is_answered);
}

TEST(Dispatch, classes_go_before_queues_and_queues_take_turns) {
  TestEngine test;
  test.enqueue("a", 4, core::NewJob{.priority_class = core::PriorityClass::P3});
  test.enqueue("b", 4, core::NewJob{.priority_class = core::PriorityClass::P3});
  test.enqueue("c", 1, core::NewJob{.priority_class = core::PriorityClass::P0});
  const auto got = test.poll(Demand{.queues = {"a", "b", "c"}, .credit = 5}).second;
  test.settle();
  ASSERT_EQ(got->deliveries.size(), 5U);
  EXPECT_EQ(got->deliveries[0].queue_name, "c");
  int from_a = 0;
  for (const Delivery& d : got->deliveries) from_a += d.queue_name == "a" ? 1 : 0;
  EXPECT_EQ(from_a, 2);
}

TEST(Dispatch, an_unreadable_body_buries_the_job_and_the_poll_goes_on) {
  TestEngine test;
  const auto ids = test.enqueue("q", 2);
  test.store().corrupt_bodies.insert(ids[0].value);
  const auto got = test.poll("q", 1, 30'000);
  test.settle();
  ASSERT_TRUE(got->is_answered);
  ASSERT_EQ(got->deliveries.size(), 1U);
  EXPECT_EQ(got->deliveries[0].job.id, ids[1]);
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::dead);
  EXPECT_EQ(test.engine().job(ids[0])->job.dead_reason.str().rfind("corruption: ", 0), 0U);
}

TEST(Dispatch, a_claim_that_was_lost_to_another_server_goes_to_the_next_job) {
  TestEngine test;
  const auto ids = test.enqueue("q", 2);
  test.store().misses = 4;  // the guard of the first misses at every try
  const auto got = test.poll("q", 1, 30'000);
  test.settle();
  ASSERT_TRUE(got->is_answered);
  EXPECT_EQ(got->deliveries.at(0).job.id, ids[1]);
}

TEST(Dispatch, at_most_once_and_sync_claims_are_durable_before_they_leave) {
  TestEngine test;
  test.ask(
      core::PutQueue{.queue = "once", .patch = {.delivery = core::DeliveryMode::at_most_once}});
  test.ask(core::PutQueue{.queue = "sync", .patch = {.claim = core::ClaimMode::sync}});
  for (const std::string queue : {"once", "sync"}) {
    test.enqueue(queue, 1);
    test.store().log.clear();
    std::vector<std::string> log_at_delivery;
    test.engine().demand(Demand{.queues = {queue}}, [&](const Result<std::vector<Delivery>>& got) {
      ASSERT_EQ(got->size(), 1U);
      EXPECT_TRUE((*got)[0].lease_expires_at.is_set());
      log_at_delivery = test.store().log;
    });
    test.settle();
    EXPECT_EQ(log_at_delivery, (std::vector<std::string>{"commit 1", "sync"})) << queue;
  }
}

TEST(Dispatch, the_next_of_a_group_comes_when_the_one_before_has_ended) {
  TestEngine test;
  const auto ids = test.enqueue("q", 3, core::NewJob{.group = "g"});
  const auto first = test.claim("q", 3);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].job.id, ids[0]);
  const auto waiting = test.poll("q", 3, 60'000);
  test.pass(1000);
  EXPECT_FALSE(waiting->is_answered);
  test.ask(TestEngine::ack_of(first[0]));
  ASSERT_TRUE(waiting->is_answered);
  ASSERT_EQ(waiting->deliveries.size(), 1U);
  EXPECT_EQ(waiting->deliveries[0].job.id, ids[1]);
  // A head that is cancelled while it waits opens the group as well.
  test.ask(TestEngine::ack_of(waiting->deliveries[0]));
  test.enqueue("q", 1, core::NewJob{.group = "g"});
  test.ask(core::Cancel{.job = ids[2]});
  EXPECT_EQ(test.claim("q", 3).size(), 1U);
}

TEST(Dispatch, polls_end_in_time_while_the_store_takes_no_claims) {
  TestEngine test;
  test.enqueue("q");
  test.store().is_unavailable = true;
  const auto now = test.poll("q", 1, 0);
  const auto later = test.poll("q", 1, 5'000);
  ASSERT_TRUE(test.engine().run_turn());
  EXPECT_TRUE(now->is_answered);
  EXPECT_TRUE(now->deliveries.empty());
  EXPECT_GT(test.engine().next_turn_in_ms(), 0);  // nor does anybody wait busily
  test.pass(4'999);
  EXPECT_FALSE(later->is_answered);
  test.store().is_unavailable = false;
  test.pass(1'000);
  EXPECT_EQ(later->deliveries.size(), 1U);
}

TEST(Dispatch, draining_refuses_polls_and_enqueues_and_serves_workers) {
  TestEngine test;
  test.enqueue("q", 2);
  const auto held = test.claim("q", 1);
  const auto waiting = test.poll("other", 1, 60'000);
  test.settle();
  test.engine().drain();
  const auto late = test.poll("q", 1, 60'000);
  test.settle();
  for (const auto& got : {waiting, late}) {
    ASSERT_TRUE(got->is_answered);
    ASSERT_TRUE(got->error);
    EXPECT_EQ(got->error->code, ErrorCode::unavailable);
  }
  const Result<void> refused =
      test.engine().submit(core::Request{.command = TestEngine::jobs("q", 1)}, nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_EQ(test.engine().lease_count(), 1U);
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::extend_of(held[0]))), std::nullopt);
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::ack_of(held[0]))), std::nullopt);
  EXPECT_EQ(test.engine().lease_count(), 0U);
  EXPECT_TRUE(test.engine().stop());
}

}  // namespace
}  // namespace weir::engine
