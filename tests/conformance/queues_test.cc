// SPDX-License-Identifier: Apache-2.0
// Queues and the counts that are kept of them.
#include <gmock/gmock.h>

#include "base/prng.h"
#include "conformance/store_test.h"
#include "support/seed.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;

using QueuesTest = StoreTest;

TEST_F(QueuesTest, queues_are_listed_by_id) {
  const core::Queue b = make_queue("b");
  const core::Queue a = make_queue("a");
  EXPECT_THAT(*store().read_queues(), ElementsAre(b, a));
}

TEST_F(QueuesTest, a_queue_is_made_once_by_id_and_by_name) {
  const core::Queue queue = make_queue("mail");
  EXPECT_EQ(try_commit(test::only(core::QueueChange{.after = queue})), CommitResult::guard_missed);
  core::Queue same_name = queue;
  same_name.id = *store().allocate_queue_id();
  EXPECT_EQ(try_commit(test::only(core::QueueChange{.after = same_name})),
            CommitResult::guard_missed);
  core::Queue same_id = queue;
  same_id.name = "letters";
  EXPECT_EQ(try_commit(test::only(core::QueueChange{.after = same_id})),
            CommitResult::guard_missed);
  same_name.namespace_id = 7;
  EXPECT_EQ(try_commit(test::only(core::QueueChange{.after = same_name})), CommitResult::applied)
      << "names belong to a namespace";
}

TEST_F(QueuesTest, changes_are_guarded_by_the_version) {
  const core::Queue queue = make_queue("mail");
  const core::Queue paused = change_queue(queue, [](core::Queue& q) { q.paused = true; });
  EXPECT_EQ(
      try_commit(test::only(core::QueueChange{.after = queue, .expected_version = queue.version})),
      CommitResult::guard_missed);
  EXPECT_THAT(*store().read_queues(), ElementsAre(paused));
}

TEST_F(QueuesTest, an_erased_queue_frees_its_name_but_not_its_id) {
  const core::Queue queue = make_queue("mail");
  apply(test::only(
      core::QueueChange{.after = queue, .erase = true, .expected_version = queue.version}));
  EXPECT_TRUE(store().read_queues()->empty());
  EXPECT_EQ(store().queue_stats(queue.id).error().code, ErrorCode::not_found);
  const core::Queue again = make_queue("mail");
  EXPECT_NE(again.id, queue.id);
  EXPECT_THAT(*store().read_queues(), ElementsAre(again));
}

TEST_F(QueuesTest, counts_follow_every_change) {
  const core::Queue queue = make_queue("mail");
  EXPECT_EQ(counts(queue.id), core::QueueCounts{});
  const core::Job job = add(JobBuilder(queue.id));
  add(JobBuilder(queue.id).due_at(now_.store.plus(5)));
  EXPECT_EQ(counts(queue.id).of(JobState::pending), 1U);
  EXPECT_EQ(counts(queue.id).of(JobState::scheduled), 1U);
  EXPECT_EQ(counts(queue.id).waiting(), 2U);
  const core::Job held = claim(job);
  EXPECT_EQ(counts(queue.id).of(JobState::pending), 0U);
  EXPECT_EQ(counts(queue.id).of(JobState::processing), 1U);
  const core::Job done = end(held);
  EXPECT_EQ(counts(queue.id).of(JobState::completed), 1U);
  EXPECT_EQ(counts(queue.id).total(), 2U);
  remove(done);
  EXPECT_EQ(counts(queue.id).total(), 1U);
}

TEST_F(QueuesTest, an_edit_changes_no_count) {
  const core::Queue queue = make_queue("mail");
  const core::Job job = add(JobBuilder(queue.id));
  core::Job edited = job;
  ++edited.version;
  edited.priority = 9;
  put(job, edited);
  EXPECT_EQ(counts(queue.id).of(JobState::pending), 1U);
  EXPECT_EQ(counts(queue.id).total(), 1U);
}

TEST_F(QueuesTest, stats_tell_the_oldest_pending_job) {
  const core::Queue queue = make_queue("mail");
  EXPECT_FALSE(store().queue_stats(queue.id)->oldest_pending_since.is_set());
  const core::Job old = add(JobBuilder(queue.id).priority(5));
  const WallTime since = now_.wall;
  advance(1000);
  const core::Job young = add(JobBuilder(queue.id));
  EXPECT_EQ(store().queue_stats(queue.id)->oldest_pending_since, since);
  claim(old);
  EXPECT_EQ(store().queue_stats(queue.id)->oldest_pending_since, since.plus(1000));
  claim(young);
  EXPECT_FALSE(store().queue_stats(queue.id)->oldest_pending_since.is_set());
}

// Counts equal a recount after any mixture of changes.
TEST_F(QueuesTest, counts_equal_a_recount) {
  const std::uint64_t seed = test::seed_from_environment();
  Prng prng(seed);
  const core::Queue queues[] = {make_queue("mail"), make_queue("images")};
  std::vector<core::Job> jobs;
  for (int step = 0; step < 600; ++step) {
    if (jobs.empty() || prng.one_in(3)) {
      // Some are urgent, some not, one stands right at the border.
      const auto priority = static_cast<std::int32_t>(core::kUrgentBelow - 2 + prng.between(0, 3));
      jobs.push_back(add(JobBuilder(queues[prng.up_to(1)].id).priority(priority)));
      continue;
    }
    const std::size_t at = prng.up_to(jobs.size() - 1);
    core::Job& job = jobs[at];
    if (prng.one_in(6)) {
      remove(job);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (job.state == JobState::pending) {
      job = claim(job, kMsPerDay);
    } else if (job.state == JobState::processing) {
      job = prng.one_in(3)   ? put(job, test::released(job, now_))
            : prng.one_in(2) ? put(job, test::failed(job, now_, 1000))
                             : end(job, prng.one_in(2) ? JobState::completed : JobState::dead);
    }
    if (step % 20 != 0) continue;
    for (const core::Queue& queue : queues) {
      core::QueueCounts recount;
      std::uint64_t urgent = 0;
      for (const core::Job& one : walk({.queue = queue.id})) {
        ++recount.by_state[static_cast<std::size_t>(one.state)];
        if (one.state == JobState::pending && one.priority < core::kUrgentBelow) ++urgent;
      }
      ASSERT_EQ(counts(queue.id), recount) << "step " << step << ", WEIR_SEED=" << seed;
      ASSERT_EQ(store().queue_stats(queue.id)->urgent, urgent) << "WEIR_SEED=" << seed;
    }
  }
}

}  // namespace
}  // namespace weir::conformance
