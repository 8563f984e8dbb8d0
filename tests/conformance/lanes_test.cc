// SPDX-License-Identifier: Apache-2.0
// Lanes: which jobs can be claimed, and in which order.
#include <gmock/gmock.h>

#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using core::PriorityClass;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class LanesTest : public StoreTest {
 protected:
  LanesTest() : queue_(make_queue("mail")) {}
  core::Queue queue_;
};

TEST_F(LanesTest, a_lane_is_ordered_by_priority_rank_and_id) {
  const core::Job third = add(JobBuilder(queue_.id).rank(5));
  const core::Job fourth = add(JobBuilder(queue_.id).rank(5));
  const core::Job fifth = add(JobBuilder(queue_.id).priority(1).rank(-100));
  const core::Job second = add(JobBuilder(queue_.id).rank(-7));
  const core::Job first = add(JobBuilder(queue_.id).priority(-2'000'000'000).rank(900));
  EXPECT_THAT(claimable(), ElementsAre(first.id, second.id, third.id, fourth.id, fifth.id));
}

TEST_F(LanesTest, queue_class_and_kind_make_lanes_of_their_own) {
  const core::Queue other = make_queue("images");
  const core::Job a = add(JobBuilder(queue_.id).kind("a"));
  const core::Job b = add(JobBuilder(queue_.id).kind("b"));
  const core::Job urgent = add(JobBuilder(queue_.id).kind("a").priority_class(PriorityClass::P0));
  const core::Job elsewhere = add(JobBuilder(other.id));
  const auto found = heads();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_THAT(claimable(), ElementsAre(urgent.id, a.id, b.id, elsewhere.id));
  EXPECT_EQ(found[0].key.priority_class, PriorityClass::P0);
  EXPECT_EQ(found[2].key.kind, "b");
  EXPECT_EQ(found[3].key.queue, other.id);
}

TEST_F(LanesTest, filters_admit_queues_classes_and_kinds) {
  const core::Queue other = make_queue("images");
  const core::Job a = add(JobBuilder(queue_.id).kind("a"));
  const core::Job b = add(JobBuilder(queue_.id).kind("b").priority_class(PriorityClass::P0));
  const core::Job c = add(JobBuilder(other.id).kind("a"));
  EXPECT_THAT(claimable({.queues = {queue_.id}}), ElementsAre(b.id, a.id));
  EXPECT_THAT(claimable({.classes = {PriorityClass::P0, PriorityClass::P4}}), ElementsAre(b.id));
  EXPECT_THAT(claimable({.kinds = {"a"}}), ElementsAre(a.id, c.id));
  EXPECT_THAT(claimable({.queues = {other.id, queue_.id}, .kinds = {"a", "b"}}),
              ElementsAre(b.id, a.id, c.id));
  EXPECT_THAT(claimable({.queues = {{999'999}}}), IsEmpty());
}

TEST_F(LanesTest, the_kind_filter_takes_the_empty_kind) {
  const core::Job plain = add(JobBuilder(queue_.id));
  add(JobBuilder(queue_.id).kind("a"));
  EXPECT_THAT(claimable({.kinds = {""}}), ElementsAre(plain.id));
}

TEST_F(LanesTest, places_bound_what_a_lane_shows) {
  for (int i = 0; i < 10; ++i) add(JobBuilder(queue_.id));
  EXPECT_EQ(claimable({}, 1).size(), 1U);
  EXPECT_EQ(claimable({}, 4).size(), 4U);
  EXPECT_EQ(claimable({}, 100).size(), 10U);
}

TEST_F(LanesTest, only_pending_jobs_stand_in_lanes) {
  const core::Job job = add(JobBuilder(queue_.id));
  add(JobBuilder(queue_.id).due_at(now_.store.plus(1000)));
  EXPECT_THAT(claimable(), ElementsAre(job.id));
  const core::Job held = claim(job);
  EXPECT_THAT(claimable(), IsEmpty());
  const core::Job back = put(held, test::released(held, now_));
  EXPECT_THAT(claimable(), ElementsAre(job.id));
  const core::Job again = claim(back);
  const core::Job waits = put(again, test::failed(again, now_, 5000));
  EXPECT_THAT(claimable(), IsEmpty());
  core::Job retried = waits;
  ++retried.version;
  retried.state = JobState::pending;
  retried.due_at = StoreTime::none();
  put(waits, retried);
  EXPECT_THAT(claimable(), ElementsAre(job.id));
  const core::Job last = claim(retried);
  end(last);
  EXPECT_THAT(claimable(), IsEmpty());
}

TEST_F(LanesTest, a_changed_place_moves_the_job) {
  const core::Job first = add(JobBuilder(queue_.id));
  const core::Job second = add(JobBuilder(queue_.id));
  core::Job back = first;
  ++back.version;
  back.rank = second.rank + 1;
  back = put(first, back);
  EXPECT_THAT(claimable(), ElementsAre(second.id, first.id));
  core::Job urgent = back;
  ++urgent.version;
  urgent.priority = -1;
  urgent = put(back, urgent);
  EXPECT_THAT(claimable(), ElementsAre(first.id, second.id));
  core::Job other_class = urgent;
  ++other_class.version;
  other_class.priority_class = PriorityClass::P4;
  put(urgent, other_class);
  EXPECT_THAT(claimable(), ElementsAre(second.id, first.id));
  EXPECT_THAT(claimable({.classes = {PriorityClass::P4}}), ElementsAre(first.id));
}

TEST_F(LanesTest, removed_jobs_leave_their_lane) {
  const core::Job job = add(JobBuilder(queue_.id));
  remove(job);
  EXPECT_THAT(heads(), IsEmpty());
}

TEST_F(LanesTest, paused_queues_give_nothing_until_resumed) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Queue paused = change_queue(queue_, [](core::Queue& q) { q.paused = true; });
  EXPECT_THAT(heads(), IsEmpty());
  const core::Job later = add(JobBuilder(queue_.id));
  EXPECT_THAT(heads(), IsEmpty());
  change_queue(paused, [](core::Queue& q) { q.paused = false; });
  EXPECT_THAT(claimable(), ElementsAre(job.id, later.id));
}

TEST_F(LanesTest, deleted_queues_give_nothing_draining_ones_do) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Queue draining = change_queue(queue_, [](core::Queue& q) { q.draining = true; });
  EXPECT_THAT(claimable(), ElementsAre(job.id));
  change_queue(draining, [](core::Queue& q) { q.is_deleted = true; });
  EXPECT_THAT(heads(), IsEmpty());
}

TEST_F(LanesTest, a_head_tells_since_when_it_waits) {
  add(JobBuilder(queue_.id).created_at(WallTime{1'700'000'000'000}));
  EXPECT_EQ(heads().at(0).waiting_since, WallTime{1'700'000'000'000});
  const core::Job planned =
      add(JobBuilder(queue_.id).priority(-5).run_at(WallTime{1'750'000'000'000}));
  core::Job started = planned;
  ++started.version;
  started.state = JobState::pending;
  put(planned, started);
  EXPECT_EQ(heads().at(0).waiting_since, WallTime{1'750'000'000'000});
}

TEST_F(LanesTest, a_long_lane_keeps_its_order_while_it_shrinks) {
  std::vector<core::Job> jobs;
  for (int i = 0; i < 500; ++i) {
    jobs.push_back(add(JobBuilder(queue_.id).priority((i * 7919) % 13).rank((i * 104'729) % 101)));
  }
  std::sort(jobs.begin(), jobs.end(), [](const core::Job& a, const core::Job& b) {
    return std::tuple(a.priority, a.rank, a.id) < std::tuple(b.priority, b.rank, b.id);
  });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_EQ(claimable({}, 1), std::vector{jobs[i].id}) << "after " << i << " claims";
    claim(jobs[i]);
  }
  EXPECT_THAT(heads(), IsEmpty());
}

}  // namespace
}  // namespace weir::conformance
