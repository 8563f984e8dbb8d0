// SPDX-License-Identifier: Apache-2.0
// Purges and forced deletions in slices, waiting for the end of a job, events, lists, counts and
// metrics.
#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"
#include "engine/slices.h"
#include "engine/test_engine.h"

namespace weir::engine {
namespace {

std::shared_ptr<std::optional<core::Answer>> purge(TestEngine& test, const std::string& queue) {
  auto answer = std::make_shared<std::optional<core::Answer>>();
  test.engine().purge(queue, core::Principal{.id = "ann"},
                      [answer](core::Answer got) { *answer = std::move(got); });
  return answer;
}

TEST(Purge, removes_waiting_jobs_in_slices_with_one_audit_entry) {
  TestEngine test;
  for (int i = 0; i < 3; ++i) test.enqueue("q", 1000);
  test.enqueue("other", 5);
  test.enqueue("q", 5, core::NewJob{.delay_ms = 60'000});
  const auto held = test.claim("q", 2);
  const auto answer = purge(test, "q");
  ASSERT_TRUE(test.engine().run_turn());
  EXPECT_FALSE(answer->has_value());
  EXPECT_GE(test.count("q", core::JobState::pending), 1000U);
  test.settle();
  ASSERT_TRUE(answer->has_value());
  EXPECT_EQ(std::get<core::Removed>((*answer)->outcome).count, 3003U);
  EXPECT_EQ(test.count("q", core::JobState::processing), 2U);
  EXPECT_EQ(test.count("q", core::JobState::pending) + test.count("q", core::JobState::scheduled),
            0U);
  EXPECT_EQ(test.count("other", core::JobState::pending), 5U);
  const auto audit = test.memory().read_audit(100);
  ASSERT_EQ(audit->size(), 1U);
  EXPECT_EQ(audit->at(0).action, "purge");
  EXPECT_EQ(audit->at(0).principal, "ann");
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::ack_of(held[0]))), std::nullopt);
}

TEST(Purge, ends_although_jobs_keep_coming) {
  TestEngine test;
  for (int i = 0; i < 3; ++i) test.enqueue("q", 1000);
  const auto answer = purge(test, "q");
  for (int turns = 0; turns < 10 && !answer->has_value(); ++turns) {
    test.put(TestEngine::jobs("q", 1000));
    ASSERT_TRUE(test.engine().run_turn());
  }
  ASSERT_TRUE(answer->has_value());
  EXPECT_LE(std::get<core::Removed>((*answer)->outcome).count, 4000U);
  EXPECT_GT(test.count("q", core::JobState::pending), 0U);
}

TEST(Purge, of_an_empty_or_absent_queue) {
  TestEngine test;
  test.ask(core::PutQueue{.queue = "q"});
  const auto empty = purge(test, "q");
  const auto absent = purge(test, "none");
  test.settle();
  EXPECT_EQ(std::get<core::Removed>((*empty)->outcome).count, 0U);
  EXPECT_EQ(TestEngine::code_of(**absent), ErrorCode::not_found);
}

TEST(DeleteQueue, by_force_removes_jobs_of_every_state_and_then_the_queue) {
  TestEngine test;
  for (int i = 0; i < 3; ++i) test.enqueue("q", 1000);
  const auto held = test.claim("q", 10);
  test.ask(TestEngine::ack_of(held[0]));
  EXPECT_EQ(TestEngine::code_of(test.ask(core::DeleteQueue{.queue = "q"})), ErrorCode::conflict);
  test.ask(core::DeleteQueue{.queue = "q", .force = true});
  EXPECT_EQ(test.engine().find_queue("q"), nullptr);
  EXPECT_EQ(test.engine().list_jobs({})->jobs.size(), 0U);
  EXPECT_EQ(test.engine().lease_count(), 0U);
  EXPECT_EQ(test.memory().read_audit(10)->size(), 1U);
  test.enqueue("q", 1);
  EXPECT_EQ(test.count("q", core::JobState::pending), 1U);
}

TEST(DeleteQueue, goes_on_after_a_restart) {
  TestEngine test;
  for (int i = 0; i < 3; ++i) test.enqueue("q", 1000);
  test.put(core::DeleteQueue{.queue = "q", .force = true});
  ASSERT_TRUE(test.engine().run_turn());
  ASSERT_NE(test.engine().find_queue("q"), nullptr);
  test.restart();
  test.settle();
  EXPECT_EQ(test.engine().find_queue("q"), nullptr);
  EXPECT_EQ(test.engine().list_jobs({})->jobs.size(), 0U);
}

TEST(WaitForEnd, is_called_when_the_job_ends_is_gone_or_the_time_is_over) {
  TestEngine test;
  const auto ids = test.enqueue("q", 4);
  int ended = 0, removed = 0, timed_out = 0, withdrawn = 0, late = 0;
  test.engine().wait_for_end(ids[0], 30'000, [&] { ++ended; });
  test.engine().wait_for_end(ids[1], 30'000, [&] { ++removed; });
  test.engine().wait_for_end(ids[2], 5000, [&] { ++timed_out; });
  test.engine().withdraw_wait(test.engine().wait_for_end(ids[0], 30'000, [&] { ++withdrawn; }));
  test.pass(1000);
  EXPECT_EQ(ended + removed + timed_out, 0);
  test.ask(TestEngine::ack_of(test.claim("q").at(0)));
  EXPECT_EQ(ended, 1);
  test.ask(core::Cancel{.job = ids[1]});
  EXPECT_EQ(removed, 1);
  test.pass(3999);
  EXPECT_EQ(timed_out, 0);
  test.pass(1);
  EXPECT_EQ(timed_out, 1);
  test.engine().wait_for_end(ids[0], 30'000, [&] { ++late; });
  EXPECT_EQ(late, 0);
  test.settle();
  EXPECT_EQ(late, 1);
  EXPECT_EQ(withdrawn, 0);
}

TEST(Events, come_after_the_commit_is_durable_and_in_order) {
  TestEngine test;
  std::vector<std::string> seen;
  const std::uint64_t id =
      test.engine().subscribe([&](const core::Event& event, std::string_view queue) {
        if (event.verb != core::Verb::claim) {
          EXPECT_EQ(test.memory().durable_seq(), test.memory().stats().commits);
        }
        seen.push_back(std::string(queue) + " " + std::string(core::to_string(event.verb)));
      });
  test.enqueue("q", 1);
  test.ask(TestEngine::ack_of(test.claim("q").at(0)));
  EXPECT_EQ(seen, (std::vector<std::string>{"q enqueue", "q claim", "q ack"}));
  test.engine().unsubscribe(id);
  test.enqueue("q", 1);
  EXPECT_EQ(seen.size(), 3U);
}

// B73: pages over all states together are full, and each job comes once, in both orders.
TEST(Lists, pages_over_several_states_are_full_and_complete) {
  TestEngine test;
  test.enqueue("q", 20);
  test.enqueue("q", 8, core::NewJob{.delay_ms = 60'000});
  const auto held = test.claim("q", 12);
  for (int i = 0; i < 4; ++i) test.ask(TestEngine::ack_of(held[static_cast<std::size_t>(i)]));
  for (std::size_t i = 4; i < 8; ++i) {
    test.ask(core::Fail{.job = held[i].job.id, .token = held[i].claimed.token, .dead = true});
  }
  for (const bool newest_first : {false, true}) {
    std::set<std::uint64_t> seen;
    std::vector<std::size_t> sizes;
    store::ScanQuery query{.newest_first = newest_first, .limit = 10};
    do {
      const auto page = test.engine().list_jobs(query);
      ASSERT_TRUE(page);
      sizes.push_back(page->jobs.size());
      for (const JobView& job : page->jobs) EXPECT_TRUE(seen.insert(job.job.id.value).second);
      query.after_id = page->next_after_id;
    } while (query.after_id != 0);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{10, 10, 8}));
    EXPECT_EQ(seen.size(), 28U);
  }
}

TEST(Lists, a_job_shows_its_times_in_wall_time_and_its_last_error) {
  TestEngine test;
  const auto ids = test.enqueue("q", 1);
  const auto held = test.claim("q");
  EXPECT_EQ(test.engine().job(ids[0])->lease_expires_at,
            test.engine().now().wall.plus(core::kLeaseMsDefault));
  test.ask(core::Fail{.job = ids[0],
                      .token = held[0].claimed.token,
                      .error = {.error_class = "connection", .message = "refused"},
                      .retry_after_ms = 5000});
  const Result<JobView> view = test.engine().job(ids[0]);
  EXPECT_GE(view->retry_after, test.engine().now().wall.plus(5000));
  EXPECT_EQ(view->last_error, "refused");
  EXPECT_EQ(view->queue_name, "q");
  EXPECT_EQ(view->max_attempts, 6U);
}

// B75: counters equal a full count at every quiet point, whatever was done, also twice and while
// leased.
TEST(Counts, equal_the_ledger_after_any_sequence_of_verbs) {
  TestEngine test;
  Prng prng(42);
  std::vector<Delivery> held;
  std::vector<core::JobId> ids;
  for (int round = 0; round < 300; ++round) {
    const auto any_id = [&] {
      return ids.empty() ? core::JobId{1} : ids[prng.up_to(ids.size() - 1)];
    };
    const auto any_held = [&] { return held[prng.up_to(held.size() - 1)]; };
    const std::uint64_t what = prng.up_to(9);
    if (what <= 2) {
      core::NewJob job{.group = prng.one_in(3) ? "g" : ""};
      if (prng.one_in(3)) job.delay_ms = prng.between(0, 5000);
      if (prng.one_in(4)) job.ttl_ms = 3000;
      for (const core::JobId id : test.enqueue(prng.one_in(2) ? "a" : "b", 1 + prng.up_to(5), job))
        ids.push_back(id);
    } else if (what == 3) {
      for (Delivery& d : test.claim(prng.one_in(2) ? "a" : "b", 3, 2000))
        held.push_back(std::move(d));
    } else if (what == 4 && !held.empty()) {
      test.put(TestEngine::ack_of(any_held()));
      test.put(TestEngine::ack_of(any_held()));
    } else if (what == 5 && !held.empty()) {
      const Delivery d = any_held();
      test.put(core::Fail{.job = d.job.id, .token = d.claimed.token, .dead = prng.one_in(4)});
    } else if (what == 6) {
      test.put(core::Erase{.job = any_id()});
      test.put(core::Cancel{.job = any_id()});
    } else if (what == 7) {
      test.put(core::Replay{.job = any_id()});
    } else if (what == 8 && prng.one_in(10)) {
      purge(test, "a");
    } else {
      test.pass(prng.between(1, 1500));
    }
    test.settle();
    std::map<std::string, core::QueueCounts> ledger;
    store::ScanQuery query{.limit = 1000};
    do {
      const auto page = test.engine().list_jobs(query);
      for (const JobView& job : page->jobs) {
        ++ledger[job.queue_name].by_state[static_cast<std::size_t>(job.job.state)];
      }
      query.after_id = page->next_after_id;
    } while (query.after_id != 0);
    std::uint64_t leases = 0;
    const Result<std::vector<QueueView>> views = test.engine().queues();
    ASSERT_TRUE(views);
    for (const QueueView& view : *views) {
      ASSERT_EQ(view.stats.counts, ledger[view.queue.name]) << "round " << round;
      leases += view.stats.counts.of(core::JobState::processing);
    }
    ASSERT_EQ(test.engine().lease_count(), leases);
    ASSERT_TRUE(test.memory().is_consistent());
  }
}

TEST(Metrics, say_what_is_there_and_are_made_at_most_once_a_second) {
  TestEngine test;
  test.enqueue("mails \"x\"", 3);
  test.claim("mails \"x\"");
  test.pass(1000);
  const std::shared_ptr<const std::string> text = test.engine().published().metrics();
  EXPECT_NE(text->find("weir_jobs{queue=\"mails \\\"x\\\"\",state=\"pending\"} 2"),
            std::string::npos)
      << *text;
  EXPECT_NE(text->find("weir_enqueued_total 3"), std::string::npos);
  EXPECT_NE(text->find("weir_claimed_total 1"), std::string::npos);
  EXPECT_NE(text->find("weir_start_sla_met_total{class=\"P2\"} 1"), std::string::npos);
  EXPECT_NE(text->find("weir_build_info{version="), std::string::npos);
  test.enqueue("mails \"x\"", 1);
  EXPECT_EQ(test.engine().published().metrics(), text);
}

TEST(Metrics, name_a_bounded_number_of_queues) {
  TestEngine test;
  for (int i = 0; i < 1100; ++i) test.put(TestEngine::jobs("q" + std::to_string(i), 1));
  test.pass(1001);
  const std::shared_ptr<const std::string> text = test.engine().published().metrics();
  EXPECT_NE(text->find("weir_queues_left_out 100"), std::string::npos);
  EXPECT_EQ(text->find("queue=\"q1099\""), std::string::npos);
}

TEST(Tokens, are_known_from_the_turn_that_made_them) {
  TestEngine test;
  EXPECT_FALSE(test.engine().has_tokens());
  const core::Answer answer =
      test.ask(core::PutToken{.token = {.id = "wt_a", .name = "a", .scopes = 31}});
  ASSERT_EQ(TestEngine::code_of(answer), std::nullopt) << TestEngine::error_of(answer);
  EXPECT_TRUE(test.engine().has_tokens());
  ASSERT_NE(test.engine().find_token("wt_a"), nullptr);
  test.restart();
  EXPECT_TRUE(test.engine().has_tokens());
  test.ask(core::RevokeToken{.id = "wt_a"});
  EXPECT_FALSE(test.engine().has_tokens());
}

}  // namespace
}  // namespace weir::engine
