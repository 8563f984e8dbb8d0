// SPDX-License-Identifier: Apache-2.0
// What time drives: due jobs, leases, TTL, retention; never early, at most a second late, also in
// floods and after stalls.
#include <gtest/gtest.h>

#include <set>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

TEST(Time, a_delayed_job_is_handed_out_when_it_is_due_and_not_before) {
  TestEngine test;
  test.enqueue("q", 1, core::NewJob{.delay_ms = 5000});
  const auto got = test.poll("q", 1, 60'000);
  test.pass(4999);
  EXPECT_FALSE(got->is_answered);
  test.pass(1);
  EXPECT_TRUE(got->is_answered);
}

TEST(Time, a_step_of_the_wall_clock_moves_run_at_but_no_lease) {
  TestEngine test;
  test.enqueue("q", 1);
  ASSERT_EQ(test.claim("q", 1, 10'000).size(), 1U);
  test.enqueue("later", 1, core::NewJob{.run_at = test.clock().wall_now().plus(kMsPerHour)});
  test.clock().step_wall(kMsPerHour);
  test.settle();
  EXPECT_EQ(test.count("later", core::JobState::pending), 1U);
  EXPECT_EQ(test.count("q", core::JobState::processing), 1U);
}

TEST(Time, a_lease_ends_never_early_and_at_most_a_second_late) {
  TestEngine test;
  const auto ids = test.enqueue("q", 1);
  ASSERT_EQ(test.claim("q", 1, 2000).size(), 1U);
  test.pass(1999);
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::processing);
  test.pass(1000);
  EXPECT_NE(test.state_of(ids[0]), core::JobState::processing);
}

// B19: a lease that runs out is a failed attempt under the retry policy, and dead only after the
// last one.
TEST(Time, leases_that_run_out_are_retried_to_the_bound_and_the_history_says_so) {
  TestEngine test;
  const auto ids = test.enqueue("q", 1, core::NewJob{.options = {.max_attempts = 5}});
  for (std::uint32_t attempt = 1; attempt <= 5; ++attempt) {
    std::size_t delivered = 0;
    for (int second = 0; second < 120 && delivered == 0; ++second) {
      test.pass(1000);
      delivered = test.claim("q", 1, 2000).size();
    }
    ASSERT_EQ(delivered, 1U) << attempt;
    test.pass(3000);
    const core::Job job = test.engine().job(ids[0])->job;
    EXPECT_EQ(job.attempt, attempt);
    EXPECT_EQ(job.state == core::JobState::dead, attempt == 5) << attempt;
  }
  const auto history = test.engine().job_history(ids[0]);
  ASSERT_EQ(history->size(), 5U);
  for (const core::AttemptRecord& record : *history) {
    EXPECT_EQ(record.outcome, core::AttemptOutcome::timeout);
    EXPECT_EQ(record.error.message, "lease expired");
  }
}

// B43: what comes back, by a retry or by a lease that ran out, keeps its priority, also over a
// pause, an edit and a restart; equal priorities stay in order of acceptance.
TEST(Time, a_retried_or_stalled_job_comes_before_less_urgent_ones) {
  TestEngine test;
  const core::NewJob retried{.priority = 25};
  const core::JobId first = test.enqueue("q", 1, retried)[0];
  const core::JobId second = test.enqueue("q", 1, retried)[0];
  const std::vector<core::JobId> others = test.enqueue("q", 100, core::NewJob{.priority = 50});
  const std::vector<Delivery> held = test.claim("q", 2, 2'000);
  ASSERT_EQ(held.size(), 2U);
  test.ask(core::Fail{.job = first,
                      .token = held[0].claimed.token,
                      .error = {.error_class = "connection"},
                      .retry_after_ms = 1'000});
  const auto next = [&test] {
    std::vector<Delivery> got = test.claim("q");
    return got.empty() ? core::JobId{} : got[0].job.id;
  };
  EXPECT_EQ(next(), others[0]);  // while neither is due, work goes on
  test.pass(5'000);              // the retry is due, the lease of the second has run out
  test.ask(core::PutQueue{.queue = "q", .patch = {.paused = true}});
  test.ask(core::Edit{.job = others[99], .priority = 10});
  test.restart();
  EXPECT_EQ(next(), core::JobId{});
  test.ask(core::PutQueue{.queue = "q", .patch = {.paused = false}});
  EXPECT_EQ(next(), others[99]);
  EXPECT_EQ(next(), first);
  EXPECT_EQ(next(), second);
  for (std::size_t i = 1; i < 99; ++i) EXPECT_EQ(next(), others[i]);
}

// B09: jobs that are delayed for longer than any lease run once; a job that sends heartbeats is
// never taken away by age.
TEST(Time, long_delays_and_long_runs_are_delivered_once) {
  TestEngine test;
  std::vector<core::JobId> ids = test.enqueue("q", 10, core::NewJob{.delay_ms = 6 * kMsPerHour});
  for (const core::JobId id : test.enqueue("q", 10, core::NewJob{.delay_ms = 43'200'000}))
    ids.push_back(id);
  std::map<std::uint64_t, int> seen;
  const std::int64_t start = test.clock().boot_ms();
  struct Running {
    Delivery delivery;
    std::int64_t ends_at;
  };
  std::vector<Running> running;
  int number = 0;
  for (std::int64_t hour_step = 0; hour_step < 24 * 60; ++hour_step) {
    test.leap(kMsPerMinute / 2);
    for (Running& run : running) {
      if (test.clock().boot_ms() < run.ends_at) {
        ASSERT_EQ(TestEngine::code_of(test.ask(TestEngine::extend_of(run.delivery))), std::nullopt);
      }
    }
    test.leap(kMsPerMinute / 2 - 1);
    std::erase_if(running, [&](const Running& run) {
      if (test.clock().boot_ms() < run.ends_at) {
        EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::extend_of(run.delivery))), std::nullopt);
        return false;
      }
      EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::ack_of(run.delivery))), std::nullopt);
      return true;
    });
    for (Delivery& d : test.claim("q", 4)) {
      ++seen[d.job.id.value];
      const std::int64_t waited = test.clock().boot_ms() - start;
      EXPECT_GE(waited, d.job.id.value < ids[10].value ? 6 * kMsPerHour : 43'200'000);
      // 9 to 47 minutes, all beyond the lease of one minute.
      running.push_back(
          {std::move(d), test.clock().boot_ms() + (9 + number++ % 39) * kMsPerMinute});
    }
  }
  EXPECT_EQ(seen.size(), 20U);
  for (const auto& [id, times] : seen) EXPECT_EQ(times, 1) << id;
  EXPECT_EQ(test.count("q", core::JobState::completed), 20U);
}

// B17: however many leases are held at a restart, all jobs come back once and the engine comes to
// rest.
TEST(Time, thousands_of_leases_that_end_together_come_back_once) {
  for (const std::size_t held : {51UL, 500UL, 20'000UL}) {
    TestEngine test;
    for (std::size_t done = 0; done < held; done += 1000)
      test.enqueue("q", std::min<std::size_t>(1000, held - done));
    for (std::size_t done = 0; done < held; done += 1000) test.claim("q", 1000, 60'000);
    ASSERT_EQ(test.count("q", core::JobState::processing), held);
    test.restart();
    EXPECT_EQ(test.engine().lease_count(), held);
    test.pass(61'000);
    EXPECT_EQ(test.count("q", core::JobState::processing), 0U);
    EXPECT_EQ(test.engine().lease_count(), 0U);
    test.pass(10'000);  // the first backoff is short
    std::set<std::uint64_t> again;
    for (std::size_t done = 0; done < held; done += 1000) {
      for (const Delivery& d : test.claim("q", 1000))
        EXPECT_TRUE(again.insert(d.job.id.value).second);
    }
    EXPECT_EQ(again.size(), held);
    test.settle();
    EXPECT_GT(test.engine().next_turn_in_ms(), 0);
  }
}

TEST(Time, a_flood_of_due_jobs_does_not_starve_input) {
  TestEngine test;
  for (int i = 0; i < 5; ++i) test.enqueue("q", 1000, core::NewJob{.delay_ms = 5000});
  test.clock().advance(5000);
  const auto answer = test.put(TestEngine::jobs("other", 1));
  ASSERT_TRUE(test.engine().run_turn());
  EXPECT_TRUE(answer->has_value());
  EXPECT_GT(test.count("q", core::JobState::scheduled), 0U);
  test.settle();
  EXPECT_EQ(test.count("q", core::JobState::pending), 5000U);
}

TEST(Time, after_a_stall_a_heartbeat_that_had_arrived_keeps_its_lease) {
  TestEngine test;
  const auto ids = test.enqueue("q", 2);
  const auto held = test.claim("q", 2, 10'000);
  ASSERT_EQ(held.size(), 2U);
  test.pass(5000);
  test.clock().advance(30'000);  // the loop hung: nobody read
  ASSERT_TRUE(test.engine().run_turn());
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::processing);
  // What had arrived is read in the round after.
  const auto extended = test.put(TestEngine::extend_of(held[0], 10'000));
  test.settle();
  EXPECT_TRUE(std::holds_alternative<core::Extended>((*extended)->outcome));
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::processing);
  EXPECT_NE(test.state_of(ids[1]), core::JobState::processing);
  test.pass(9000);
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::processing);
  test.pass(2000);
  EXPECT_NE(test.state_of(ids[0]), core::JobState::processing);
}

TEST(Time, without_a_stall_a_verb_after_the_deadline_is_lost) {
  TestEngine test;
  test.enqueue("q", 1);
  const auto held = test.claim("q", 1, 2000);
  test.pass(2000);
  EXPECT_EQ(TestEngine::code_of(test.ask(TestEngine::ack_of(held[0]))), ErrorCode::lease_lost);
}

TEST(Time, ttl_ends_jobs_that_did_not_start) {
  TestEngine test;
  const auto ids = test.enqueue("q", 2, core::NewJob{.ttl_ms = 5000});
  ASSERT_EQ(test.claim("q", 1).size(), 1U);
  test.pass(6000);
  EXPECT_EQ(test.state_of(ids[0]), core::JobState::processing);
  EXPECT_EQ(test.state_of(ids[1]), core::JobState::expired);
}

TEST(Time, retention_takes_completed_jobs_by_count_and_by_age) {
  TestEngine test;
  test.ask(core::PutQueue{.queue = "q",
                          .patch = {.completed_retention_ms = kMsPerMinute, .completed_max = 3}});
  test.enqueue("q", 10);
  for (const Delivery& d : test.claim("q", 10)) test.put(TestEngine::ack_of(d));
  test.pass(1000);
  EXPECT_EQ(test.count("q", core::JobState::completed), 3U);
  test.pass(kMsPerMinute);
  EXPECT_EQ(test.count("q", core::JobState::completed), 0U);
}

TEST(Time, due_things_without_progress_do_not_spin) {
  TestEngine test;
  test.enqueue("q", 1, core::NewJob{.delay_ms = 1000});
  test.settle();
  test.store().misses = 1'000'000;  // somebody else is always faster
  test.clock().advance(1000);
  test.settle();
  const int before = test.store().commits;
  EXPECT_GT(test.engine().next_turn_in_ms(), 0);
  test.pass(10'000);
  EXPECT_LE(test.store().commits - before, 100);
  test.store().misses = 0;
  test.pass(2000);
  EXPECT_EQ(test.count("q", core::JobState::pending), 1U);
}

TEST(Time, an_idle_engine_sleeps) {
  TestEngine test;
  test.enqueue("q", 1, core::NewJob{.delay_ms = kMsPerHour});
  test.pass(5000);
  EXPECT_EQ(test.engine().next_turn_in_ms(), 1000);
  EXPECT_FALSE(*test.engine().run_turn());
}

}  // namespace
}  // namespace weir::engine
