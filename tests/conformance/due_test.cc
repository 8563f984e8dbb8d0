// SPDX-License-Identifier: Apache-2.0
// What falls due, by which clock, and in which order.
#include <gmock/gmock.h>

#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DueTest : public StoreTest {
 protected:
  DueTest() : queue_(make_queue("mail")) {}
  StoreTime in(std::int64_t ms) { return now_.store.plus(ms); }
  Now next_due() {
    Now next;
    store().next_due(next.wall, next.store);
    return next;
  }
  core::Queue queue_;
};

TEST_F(DueTest, nothing_is_due_in_an_empty_store) {
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(next_due(), (Now{.wall = WallTime::never(), .store = StoreTime::never()}));
}

TEST_F(DueTest, pending_jobs_without_ttl_never_fall_due) {
  add(JobBuilder(queue_.id));
  advance(365 * kMsPerDay);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(next_due().store, StoreTime::never());
}

TEST_F(DueTest, run_at_goes_by_the_wall_clock) {
  const core::Job job = add(JobBuilder(queue_.id).run_at(now_.wall.plus(5000)));
  EXPECT_EQ(next_due(), (Now{.wall = now_.wall.plus(5000), .store = StoreTime::never()}));
  now_.store = now_.store.plus(kMsPerDay);  // the store's clock alone does nothing
  EXPECT_THAT(due(), IsEmpty());
  now_.wall = now_.wall.plus(4999);
  EXPECT_THAT(due(), IsEmpty());
  now_.wall = now_.wall.plus(1);
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
}

TEST_F(DueTest, a_relative_delay_goes_by_the_stores_clock) {
  const core::Job job = add(JobBuilder(queue_.id).due_at(in(5000)));
  EXPECT_EQ(next_due(), (Now{.wall = WallTime::never(), .store = in(5000)}));
  now_.wall = now_.wall.plus(kMsPerDay);  // a step of the wall clock does nothing
  EXPECT_THAT(due(), IsEmpty());
  now_.store = in(4999);
  EXPECT_THAT(due(), IsEmpty());
  now_.store = in(1);
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
}

TEST_F(DueTest, year_9999_is_far_but_there) {
  const core::Job job = add(JobBuilder(queue_.id).run_at(kWallTimeMax));
  EXPECT_EQ(next_due().wall, kWallTimeMax);
  EXPECT_THAT(due(), IsEmpty());
  now_.wall = kWallTimeMax;
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
}

TEST_F(DueTest, leases_fall_due_at_their_deadline) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Job held = claim(job, 30'000);
  EXPECT_EQ(next_due().store, in(30'000));
  core::Job extended = held;
  ++extended.version;
  extended.lease->deadline_at = in(90'000);
  put(held, extended);
  EXPECT_EQ(next_due().store, in(90'000));
  advance(89'999);
  EXPECT_THAT(due(), IsEmpty());
  advance(1);
  EXPECT_THAT(due_jobs(Due::Kind::lease), ElementsAre(job.id));
}

TEST_F(DueTest, leases_without_a_deadline_never_fall_due) {
  const core::Job job = add(JobBuilder(queue_.id));
  core::Job held = test::claimed(job, now_);
  held.lease->deadline_at = StoreTime::never();
  held.lease->owner = core::OwnerKind::connection;
  put(job, held);
  advance(1000 * kMsPerDay);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(next_due().store, StoreTime::never());
}

TEST_F(DueTest, retries_fall_due_after_their_backoff) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Job held = claim(job);
  put(held, test::failed(held, now_, 700));
  EXPECT_EQ(next_due().store, in(700));
  advance(700);
  EXPECT_THAT(due_jobs(Due::Kind::retry), ElementsAre(job.id));
}

TEST_F(DueTest, ttl_falls_due_until_the_first_claim) {
  const core::Job job = add(JobBuilder(queue_.id).expires_at(in(1000)));
  const core::Job planned =
      add(JobBuilder(queue_.id).run_at(now_.wall.plus(kMsPerDay)).expires_at(in(2000)));
  EXPECT_EQ(next_due().store, in(1000));
  advance(2000);
  EXPECT_THAT(due_jobs(Due::Kind::ttl), ElementsAre(job.id, planned.id));
  claim(job, kMsPerDay);
  EXPECT_THAT(due_jobs(Due::Kind::ttl), ElementsAre(planned.id));
}

TEST_F(DueTest, a_job_may_be_due_twice) {
  const core::Job job = add(JobBuilder(queue_.id).due_at(in(100)).expires_at(in(50)));
  advance(100);
  const auto found = due();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].kind, Due::Kind::ttl);
  EXPECT_EQ(found[1].kind, Due::Kind::run_at);
  EXPECT_EQ(found[0].job, job.id);
}

TEST_F(DueTest, what_is_due_stays_due_until_a_commit_changes_it) {
  const core::Job job = add(JobBuilder(queue_.id).due_at(in(100)));
  advance(100);
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
  core::Job started = job;
  ++started.version;
  started.state = JobState::pending;
  started.due_at = StoreTime::none();
  put(job, started);
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(next_due().store, StoreTime::never());
}

TEST_F(DueTest, an_earlier_instant_replaces_a_later_one_and_back) {
  core::Job job = add(JobBuilder(queue_.id).due_at(in(5000)));
  for (const std::int64_t ms : {100, 9000, 300, 300, 8000}) {
    core::Job moved = job;
    ++moved.version;
    moved.due_at = in(ms);
    job = put(job, moved);
    EXPECT_EQ(next_due().store, in(ms));
  }
  advance(7999);
  EXPECT_THAT(due(), IsEmpty());
  advance(1);
  EXPECT_EQ(due().size(), 1U);
}

TEST_F(DueTest, removed_jobs_are_not_due) {
  const core::Job job = add(JobBuilder(queue_.id).due_at(in(100)));
  remove(job);
  advance(100);
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(DueTest, the_most_overdue_comes_first_and_the_limit_holds) {
  std::vector<core::JobId> expected;
  for (int i = 9; i >= 0; --i) {
    expected.push_back(add(JobBuilder(queue_.id).due_at(in(100 * (i + 1)))).id);
  }
  std::reverse(expected.begin(), expected.end());
  advance(500);
  EXPECT_EQ(due_jobs(Due::Kind::run_at), std::vector(expected.begin(), expected.begin() + 5));
  expected.resize(2);
  EXPECT_EQ(due_jobs(Due::Kind::run_at, 2), expected);
}

TEST_F(DueTest, both_clocks_are_merged_by_how_late_things_are) {
  const core::Job by_store = add(JobBuilder(queue_.id).due_at(in(300)));
  const core::Job by_wall = add(JobBuilder(queue_.id).run_at(now_.wall.plus(200)));
  const core::Job early = add(JobBuilder(queue_.id).due_at(in(100)));
  advance(1000);
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(early.id, by_wall.id, by_store.id));
}

TEST_F(DueTest, paused_queues_go_on_with_time) {
  const core::Job job = add(JobBuilder(queue_.id).due_at(in(100)));
  change_queue(queue_, [](core::Queue& q) { q.paused = true; });
  advance(100);
  EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(job.id));
}

}  // namespace
}  // namespace weir::conformance
