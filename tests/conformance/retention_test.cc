// SPDX-License-Identifier: Apache-2.0
// Retention: ended jobs fall due by age, and completed ones over the queue's number too, oldest
// first.
#include <gmock/gmock.h>

#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class RetentionTest : public StoreTest {
 protected:
  static core::QueueSettings settings(std::uint64_t completed_max) {
    core::QueueSettings settings;
    settings.completed_retention_ms = 10'000;
    settings.dead_retention_ms = 100'000;
    settings.completed_max = completed_max;
    return settings;
  }
  core::Job ended_job(core::QueueId queue, JobState state = JobState::completed) {
    return end(claim(add(JobBuilder(queue))), state);
  }
  std::vector<core::JobId> to_retain(std::size_t limit = 1000) {
    return due_jobs(Due::Kind::retention, limit);
  }
  StoreTime next_store() {
    WallTime wall;
    StoreTime at;
    store().next_due(wall, at);
    EXPECT_EQ(wall, WallTime::never());
    return at;
  }
};

TEST_F(RetentionTest, ended_jobs_fall_due_by_the_retention_of_their_queue) {
  const core::Queue queue = make_queue("mail", settings(100));
  const core::Job done = ended_job(queue.id);
  const core::Job dead = ended_job(queue.id, JobState::dead);
  EXPECT_EQ(next_store(), now_.store.plus(10'000));
  advance(9'999);
  EXPECT_THAT(to_retain(), IsEmpty());
  advance(1);
  EXPECT_THAT(to_retain(), ElementsAre(done.id));
  remove(done);
  EXPECT_THAT(to_retain(), IsEmpty());
  EXPECT_EQ(next_store(), dead.ended_at.plus(100'000));
  advance(90'000);
  EXPECT_THAT(to_retain(), ElementsAre(dead.id));
}

TEST_F(RetentionTest, cancelled_and_expired_jobs_are_kept_as_long_as_completed_ones) {
  const core::Queue queue = make_queue("mail", settings(0));
  const core::Job cancelled = end(add(JobBuilder(queue.id)), JobState::cancelled);
  const core::Job expired = end(add(JobBuilder(queue.id)), JobState::expired);
  EXPECT_THAT(to_retain(), IsEmpty()) << "completed_max counts completed jobs only";
  advance(10'000);
  EXPECT_THAT(to_retain(), UnorderedElementsAre(cancelled.id, expired.id));
}

TEST_F(RetentionTest, age_is_told_by_the_stores_clock) {
  const core::Queue queue = make_queue("mail", settings(100));
  ended_job(queue.id);
  now_.wall = now_.wall.plus(365 * kMsPerDay);
  EXPECT_THAT(to_retain(), IsEmpty());
}

TEST_F(RetentionTest, completed_jobs_over_the_number_are_due_at_once_oldest_first) {
  const core::Queue queue = make_queue("mail", settings(2));
  std::vector<core::JobId> done;
  for (int i = 0; i < 5; ++i) {
    done.push_back(ended_job(queue.id).id);
    advance(10);
  }
  EXPECT_THAT(to_retain(), ElementsAre(done[0], done[1], done[2]));
  EXPECT_THAT(to_retain(1), ElementsAre(done[0]));
  EXPECT_LE(next_store(), now_.store);
}

TEST_F(RetentionTest, the_number_counts_per_queue) {
  const core::Queue queue = make_queue("mail", settings(2));
  const core::Queue other = make_queue("images", settings(2));
  for (int i = 0; i < 2; ++i) {
    ended_job(queue.id);
    ended_job(other.id);
  }
  EXPECT_THAT(to_retain(), IsEmpty());
  ended_job(other.id);
  EXPECT_EQ(to_retain().size(), 1U);
}

TEST_F(RetentionTest, dead_jobs_do_not_count_for_the_number) {
  const core::Queue queue = make_queue("mail", settings(1));
  for (int i = 0; i < 3; ++i) ended_job(queue.id, JobState::dead);
  ended_job(queue.id);
  EXPECT_THAT(to_retain(), IsEmpty());
}

TEST_F(RetentionTest, a_number_of_zero_keeps_no_completed_job) {
  const core::Queue queue = make_queue("mail", settings(0));
  const core::Job done = ended_job(queue.id);
  EXPECT_THAT(to_retain(), ElementsAre(done.id));
}

TEST_F(RetentionTest, a_job_that_is_old_and_over_the_number_is_due_once) {
  const core::Queue queue = make_queue("mail", settings(0));
  ended_job(queue.id);
  advance(kMsPerDay);
  EXPECT_EQ(to_retain().size(), 1U);
}

TEST_F(RetentionTest, changed_settings_hold_for_jobs_that_ended_before) {
  const core::Queue queue = make_queue("mail", settings(100));
  std::vector<core::JobId> done;
  for (int i = 0; i < 3; ++i) {
    done.push_back(ended_job(queue.id).id);
    advance(1);
  }
  const core::Queue fewer =
      change_queue(queue, [](core::Queue& q) { q.settings.completed_max = 1; });
  EXPECT_THAT(to_retain(), ElementsAre(done[0], done[1]));
  const core::Queue more =
      change_queue(fewer, [](core::Queue& q) { q.settings.completed_max = 100; });
  EXPECT_THAT(to_retain(), IsEmpty());
  change_queue(more, [](core::Queue& q) { q.settings.completed_retention_ms = 2; });
  EXPECT_THAT(to_retain(), ElementsAre(done[0], done[1]));
}

TEST_F(RetentionTest, a_replayed_job_is_kept) {
  const core::Queue queue = make_queue("mail", settings(100));
  const core::Job dead = ended_job(queue.id, JobState::dead);
  core::Job again = dead;
  ++again.version;
  again.state = JobState::pending;
  again.completed_at = again.dead_at = WallTime::none();
  again.ended_at = StoreTime::none();
  put(dead, again);
  advance(kMsPerDay);
  EXPECT_THAT(to_retain(), IsEmpty());
}

TEST_F(RetentionTest, floods_are_told_in_slices) {
  const core::Queue queue = make_queue("mail", settings(10));
  std::vector<core::Job> done;
  for (int i = 0; i < 200; ++i) {
    done.push_back(ended_job(queue.id));
    advance(1);
  }
  std::size_t removed = 0;
  while (true) {
    const auto slice = to_retain(16);
    if (slice.empty()) break;
    for (const core::JobId id : slice) {
      ASSERT_EQ(id, done[removed].id);
      remove(done[removed++]);
    }
  }
  EXPECT_EQ(removed, 190U);
}

}  // namespace
}  // namespace weir::conformance
