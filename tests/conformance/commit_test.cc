// SPDX-License-Identifier: Apache-2.0
// Commit and its guards: each ChangeSet whole or not at all, in order, visible at once.
#include <gmock/gmock.h>

#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;

class CommitTest : public StoreTest {
 protected:
  CommitTest() : queue_(make_queue("mail")), job_(add(JobBuilder(queue_.id).kind("letter"))) {}

  core::Job stored(core::JobId id) {
    const auto job = store().read_job(id);
    EXPECT_TRUE(job.has_value());
    return job ? *job : core::Job{};
  }

  core::Queue queue_;
  core::Job job_;
};

TEST_F(CommitTest, an_applied_change_is_visible_at_once) {
  const core::Job claimed = claim(job_);
  EXPECT_EQ(stored(job_.id), claimed);
}

TEST_F(CommitTest, an_enqueue_of_an_id_that_exists_misses) {
  EXPECT_EQ(try_commit(test::only(test::enqueue_of(job_))), CommitResult::guard_missed);
}

TEST_F(CommitTest, a_change_of_a_job_that_is_gone_misses) {
  remove(job_);
  EXPECT_EQ(try_commit(test::only(test::change_of(job_, test::claimed(job_, now_)))),
            CommitResult::guard_missed);
  EXPECT_EQ(store().read_job(job_.id).error().code, ErrorCode::not_found);
}

TEST_F(CommitTest, state_attempt_and_version_are_guarded_each) {
  const auto with_guard = [this](auto how) {
    core::JobChange change = test::change_of(job_, test::claimed(job_, now_));
    how(change.guard);
    return try_commit(test::only(std::move(change)));
  };
  EXPECT_EQ(with_guard([](core::JobGuard& g) { g.state = JobState::failed; }),
            CommitResult::guard_missed);
  EXPECT_EQ(with_guard([](core::JobGuard& g) { g.attempt = 1; }), CommitResult::guard_missed);
  EXPECT_EQ(with_guard([](core::JobGuard& g) { g.version = 2; }), CommitResult::guard_missed);
  EXPECT_EQ(stored(job_.id), job_);
  EXPECT_EQ(with_guard([](core::JobGuard&) {}), CommitResult::applied);
}

TEST_F(CommitTest, a_lease_guard_needs_a_deadline_after_the_instant) {
  const core::Job held = claim(job_, 60'000);
  const auto end_with_deadline_after = [&](StoreTime at) {
    core::JobChange change = test::change_of(held, test::ended(held, JobState::completed, now_));
    change.guard.deadline_after = at;
    return try_commit(test::only(std::move(change)));
  };
  EXPECT_EQ(end_with_deadline_after(now_.store.plus(60'001)), CommitResult::guard_missed);
  EXPECT_EQ(end_with_deadline_after(now_.store.plus(60'000)), CommitResult::guard_missed);
  EXPECT_EQ(end_with_deadline_after(now_.store.plus(59'999)), CommitResult::applied);
}

TEST_F(CommitTest, a_lease_guard_misses_without_a_lease) {
  core::JobChange change = test::change_of(job_, test::claimed(job_, now_));
  change.guard.deadline_after = StoreTime{1};
  EXPECT_EQ(try_commit(test::only(std::move(change))), CommitResult::guard_missed);
}

TEST_F(CommitTest, a_miss_applies_nothing_of_its_change_set) {
  const core::Job fresh = JobBuilder(queue_.id).unique_key("k").build(new_id(), now_);
  core::ChangeSet change_set = test::only(test::enqueue_of(fresh));
  change_set.jobs.push_back(test::enqueue_of(job_));  // misses
  change_set.unique_keys.push_back({.after = {.queue = queue_.id, .key = "k", .job = fresh.id}});
  change_set.audit.push_back({.at = now_.wall, .principal = "p", .action = "a"});
  EXPECT_EQ(try_commit(std::move(change_set)), CommitResult::guard_missed);
  EXPECT_EQ(store().read_job(fresh.id).error().code, ErrorCode::not_found);
  EXPECT_EQ(counts(queue_.id).total(), 1U);
  EXPECT_TRUE(store().read_audit(10)->empty());
  EXPECT_THAT(claimable(), ElementsAre(job_.id));
}

TEST_F(CommitTest, a_miss_leaves_its_neighbours_alone) {
  const core::Job first = JobBuilder(queue_.id).build(new_id(), now_);
  const core::Job second = JobBuilder(queue_.id).build(new_id(), now_);
  EXPECT_THAT(
      commit({test::only(test::enqueue_of(first)), test::only(test::enqueue_of(job_)),
              test::only(test::enqueue_of(second))}),
      ElementsAre(CommitResult::applied, CommitResult::guard_missed, CommitResult::applied));
  EXPECT_EQ(counts(queue_.id).of(JobState::pending), 3U);
}

TEST_F(CommitTest, later_change_sets_see_earlier_ones_of_the_same_commit) {
  const core::Job held = test::claimed(job_, now_);
  const core::Job done = test::ended(held, JobState::completed, now_);
  EXPECT_THAT(
      commit({test::only(test::change_of(job_, held)), test::only(test::change_of(held, done)),
              test::only(test::change_of(job_, held))}),
      ElementsAre(CommitResult::applied, CommitResult::applied, CommitResult::guard_missed));
  EXPECT_EQ(stored(job_.id), done);
}

TEST_F(CommitTest, sequence_numbers_grow_and_become_durable) {
  std::vector<CommitResult> results;
  const std::vector<core::ChangeSet> one = {
      test::only(test::enqueue_of(JobBuilder(queue_.id).build(new_id(), now_)))};
  const std::vector<core::ChangeSet> two = {
      test::only(test::enqueue_of(JobBuilder(queue_.id).build(new_id(), now_)))};
  const auto first = store().commit(one, now_, results);
  const auto second = store().commit(two, now_, results);
  ASSERT_TRUE(first && second);
  EXPECT_GT(*second, *first);
  EXPECT_GT(*first, 0U);
  if (store().capabilities().commit_is_durable) {
    EXPECT_GE(store().durable_seq(), *second);
  }
  ASSERT_TRUE(store().sync());
  EXPECT_GE(store().durable_seq(), *second);
}

TEST_F(CommitTest, nothing_written_has_no_sequence_number) {
  std::vector<CommitResult> results;
  const auto none = store().commit({}, now_, results);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(*none, 0U);
  EXPECT_TRUE(results.empty());
  const std::vector<core::ChangeSet> missing = {test::only(test::enqueue_of(job_))};
  const auto missed = store().commit(missing, now_, results);
  ASSERT_TRUE(missed.has_value());
  EXPECT_EQ(*missed, 0U);
  const std::vector<core::ChangeSet> empty = {core::ChangeSet{}};
  const auto nothing = store().commit(empty, now_, results);
  ASSERT_TRUE(nothing.has_value());
  EXPECT_EQ(*nothing, 0U);
  EXPECT_THAT(results, ElementsAre(CommitResult::applied));
}

TEST_F(CommitTest, a_bulk_of_a_thousand_jobs_is_one_change_set) {
  core::ChangeSet bulk;
  bulk.commit_class = core::CommitClass::sync;
  for (int i = 0; i < 1000; ++i) {
    bulk.jobs.push_back(test::enqueue_of(JobBuilder(queue_.id).build(new_id(), now_),
                                         {.payload = std::string(1000, 'x')}));
  }
  core::ChangeSet spoiled = bulk;
  spoiled.jobs.push_back(test::enqueue_of(job_));
  EXPECT_EQ(try_commit(spoiled), CommitResult::guard_missed);
  EXPECT_EQ(counts(queue_.id).total(), 1U);
  EXPECT_EQ(try_commit(bulk), CommitResult::applied);
  EXPECT_EQ(counts(queue_.id).total(), 1001U);
}

}  // namespace
}  // namespace weir::conformance
