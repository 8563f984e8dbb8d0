// SPDX-License-Identifier: Apache-2.0
// Groups: of a group only one job can be claimed: its first, or while it is locked the holder of
// the lock.
#include <gmock/gmock.h>

#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using core::PriorityClass;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class GroupsTest : public StoreTest {
 protected:
  GroupsTest() : queue_(make_queue("mail")) {}
  JobBuilder grouped() { return JobBuilder(queue_.id).group("g"); }
  core::Queue queue_;
};

TEST_F(GroupsTest, only_the_lowest_rank_stands_whatever_its_priority) {
  const core::Job first = add(grouped().priority(100).priority_class(PriorityClass::P4).kind("z"));
  add(grouped().priority(-100).priority_class(PriorityClass::P0).kind("a"));
  EXPECT_THAT(claimable(), ElementsAre(first.id));
  const core::Job front = add(grouped().rank(first.rank - 1));
  EXPECT_THAT(claimable(), ElementsAre(front.id));
}

TEST_F(GroupsTest, equal_ranks_go_by_id) {
  const core::Job first = add(grouped().rank(7));
  add(grouped().rank(7));
  EXPECT_THAT(claimable(), ElementsAre(first.id));
}

TEST_F(GroupsTest, other_groups_and_jobs_without_group_stand_beside) {
  const core::Job first = add(grouped());
  add(grouped());
  const core::Job other = add(JobBuilder(queue_.id).group("h"));
  const core::Job plain = add(JobBuilder(queue_.id));
  EXPECT_THAT(claimable(), ElementsAre(first.id, other.id, plain.id));
}

TEST_F(GroupsTest, groups_of_one_name_in_two_queues_are_two_groups) {
  const core::Queue elsewhere = make_queue("images");
  const core::Job here = add(grouped());
  const core::Job there = add(JobBuilder(elsewhere.id).group("g"));
  lock_group(here);
  EXPECT_THAT(claimable(), ElementsAre(here.id, there.id));
}

TEST_F(GroupsTest, a_locked_group_is_closed_while_its_holder_runs) {
  const core::Job first = add(grouped());
  const core::Job second = add(grouped());
  core::ChangeSet start = test::only(test::change_of(first, test::claimed(first, now_)));
  start.group_locks.push_back({.after = {.queue = queue_.id, .group = "g", .holder = first.id}});
  apply(start);
  EXPECT_THAT(claimable(), IsEmpty());
  add(grouped().rank(-5));
  EXPECT_THAT(claimable(), IsEmpty()) << "a job that came later with a lower rank";

  const core::Job held = test::claimed(first, now_);
  core::ChangeSet stop =
      test::only(test::change_of(held, test::ended(held, JobState::completed, now_)));
  stop.group_locks.push_back({.after = {.queue = queue_.id, .group = "g", .holder = first.id},
                              .erase = true,
                              .expected_holder = first.id});
  apply(stop);
  EXPECT_EQ(claimable().size(), 1U);
  EXPECT_NE(claimable().at(0), second.id) << "the lowest rank goes first";
}

TEST_F(GroupsTest, a_locked_group_stays_closed_while_its_holder_waits_for_a_retry) {
  const core::Job first = add(grouped());
  add(grouped());
  lock_group(first);
  const core::Job held = claim(first);
  put(held, test::failed(held, now_, 1000));
  EXPECT_THAT(claimable(), IsEmpty());
}

TEST_F(GroupsTest, a_pending_holder_is_the_only_candidate_also_behind_lower_ranks) {
  const core::Job first = add(grouped());
  lock_group(first);
  const core::Job held = claim(first);
  core::Job back = test::released(held, now_);
  back.rank = 1'000'000;
  put(held, back);
  add(grouped().rank(-1));
  EXPECT_THAT(claimable(), ElementsAre(first.id));
}

TEST_F(GroupsTest, the_next_stands_when_the_first_goes_away) {
  const core::Job first = add(grouped());
  const core::Job second = add(grouped());
  remove(first);
  EXPECT_THAT(claimable(), ElementsAre(second.id));
}

TEST_F(GroupsTest, a_lock_that_goes_opens_the_group) {
  const core::Job first = add(grouped());
  const core::Job second = add(grouped());
  lock_group(first);
  const core::Job held = claim(first);
  end(held);
  EXPECT_THAT(claimable(), IsEmpty());
  unlock_group(first);
  EXPECT_THAT(claimable(), ElementsAre(second.id));
}

TEST_F(GroupsTest, locks_are_guarded) {
  const core::Job first = add(grouped());
  const core::Job second = add(grouped());
  lock_group(first);
  const core::GroupLock wanted{.queue = queue_.id, .group = "g", .holder = second.id};
  EXPECT_EQ(try_commit(test::only(core::GroupLockChange{.after = wanted})),
            CommitResult::guard_missed);
  EXPECT_EQ(try_commit(test::only(core::GroupLockChange{
                .after = wanted, .erase = true, .expected_holder = second.id})),
            CommitResult::guard_missed);
  unlock_group(first);
  EXPECT_EQ(try_commit(test::only(core::GroupLockChange{
                .after = wanted, .erase = true, .expected_holder = first.id})),
            CommitResult::guard_missed);
}

TEST_F(GroupsTest, an_edited_place_keeps_one_candidate) {
  const core::Job first = add(grouped());
  const core::Job second = add(grouped());
  core::Job edited = first;
  ++edited.version;
  edited.priority_class = PriorityClass::P0;
  edited = put(first, edited);
  EXPECT_THAT(claimable(), ElementsAre(first.id));
  EXPECT_EQ(heads().at(0).key.priority_class, PriorityClass::P0);
  core::Job behind = edited;
  ++behind.version;
  behind.rank = second.rank + 1;
  put(edited, behind);
  EXPECT_THAT(claimable(), ElementsAre(second.id));
}

TEST_F(GroupsTest, paused_queues_close_their_groups_too) {
  add(grouped());
  change_queue(queue_, [](core::Queue& q) { q.paused = true; });
  EXPECT_THAT(claimable(), IsEmpty());
}

TEST_F(GroupsTest, many_groups_give_one_job_each) {
  for (int i = 0; i < 300; ++i) add(JobBuilder(queue_.id).group("g" + std::to_string(i % 100)));
  EXPECT_EQ(claimable({}, 1000).size(), 100U);
}

}  // namespace
}  // namespace weir::conformance
