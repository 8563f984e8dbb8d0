// SPDX-License-Identifier: Apache-2.0
#include "core/view.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

Job job_of(std::uint64_t id, std::uint64_t version = 1) {
  Job job;
  job.id = JobId{id};
  job.queue = QueueId{1};
  job.version = version;
  return job;
}

ChangeSet change_of(Job after, std::optional<JobState> from, bool erase = false) {
  ChangeSet change_set;
  JobChange change{.after = std::move(after), .erase = erase};
  if (from) {
    change.guard.state = *from;
  } else {
    change.guard.absent = true;
  }
  change_set.jobs.push_back(std::move(change));
  return change_set;
}

TEST(ViewTest, absent_and_not_loaded_are_told_apart) {
  View view;
  EXPECT_FALSE(view.has_job(JobId{1}));
  view.put_job(JobId{1}, nullptr);
  EXPECT_TRUE(view.has_job(JobId{1}));
  EXPECT_EQ(view.job(JobId{1}), nullptr);
  EXPECT_DEATH(static_cast<void>(view.job(JobId{2})), "not loaded");
  EXPECT_DEATH(static_cast<void>(view.unique_key(QueueId{1}, "k")), "not loaded");
}

TEST(ViewTest, the_first_put_wins_and_changes_lie_over_it) {
  View view;
  const Job first = job_of(1, 1);
  const Job second = job_of(1, 2);
  view.put_job(first.id, &first);
  view.put_job(first.id, &second);
  EXPECT_EQ(view.job(first.id)->version, 1U);
  const ChangeSet changed = change_of(second, JobState::pending);
  view.apply(changed);
  EXPECT_EQ(view.job(first.id)->version, 2U);
  view.put_job(first.id, &first);
  EXPECT_EQ(view.job(first.id)->version, 2U);
  const ChangeSet erased = change_of(second, JobState::pending, true);
  view.apply(erased);
  EXPECT_EQ(view.job(first.id), nullptr);
}

TEST(ViewTest, a_forgotten_job_is_loaded_afresh) {
  View view;
  const Job job = job_of(1);
  view.put_job(job.id, &job);
  view.forget_job(job.id);
  view.forget_job(JobId{9});
  EXPECT_FALSE(view.has_job(job.id));
  const Job fresh = job_of(1, 7);
  view.put_job(job.id, &fresh);
  EXPECT_EQ(view.job(job.id)->version, 7U);
}

TEST(ViewTest, a_job_can_be_filled_in_its_place) {
  View view;
  for (const std::uint64_t version : {3U, 4U}) {
    Job* place = view.add_job(JobId{1});
    ASSERT_NE(place, nullptr);
    *place = job_of(1, version);
    EXPECT_EQ(view.add_job(JobId{1}), nullptr);
    EXPECT_TRUE(view.has_job(JobId{1}));
    EXPECT_EQ(view.job(JobId{1})->version, version);
    view.clear();
    EXPECT_FALSE(view.has_job(JobId{1}));
  }
}

TEST(ViewTest, a_queue_is_found_by_id_and_by_namespace_and_name) {
  View view;
  const Queue queue{.id = QueueId{4}, .namespace_id = 2, .name = "a"};
  view.put_queue(queue);
  EXPECT_EQ(view.queue(QueueId{4})->name, "a");
  EXPECT_EQ(view.queue(QueueName{2, "a"})->id, QueueId{4});
  EXPECT_FALSE(view.has_queue(QueueName{0, "a"}));
  view.put_no_queue(QueueName{0, "a"});
  EXPECT_EQ(view.queue(QueueName{0, "a"}), nullptr);

  ChangeSet gone;
  gone.queues.push_back({.after = queue, .erase = true});
  view.apply(gone);
  EXPECT_EQ(view.queue(QueueId{4}), nullptr);
  EXPECT_EQ(view.queue(QueueName{2, "a"}), nullptr);
}

TEST(ViewTest, counts_are_the_stores_plus_the_changes_in_either_order) {
  QueueCounts stored;
  stored.by_state[static_cast<std::size_t>(JobState::pending)] = 5;
  Job after = job_of(1);
  after.state = JobState::completed;
  for (const bool put_first : {true, false}) {
    View view;
    if (put_first) view.put_counts(QueueId{1}, stored);
    const ChangeSet ended = change_of(after, JobState::pending);
    view.apply(ended);
    EXPECT_EQ(view.has_counts(QueueId{1}), put_first);
    if (!put_first) view.put_counts(QueueId{1}, stored);
    EXPECT_EQ(view.counts(QueueId{1}).of(JobState::pending), 4U);
    EXPECT_EQ(view.counts(QueueId{1}).of(JobState::completed), 1U);
    EXPECT_EQ(view.counts(QueueId{1}).waiting(), 4U);
    EXPECT_EQ(view.counts(QueueId{1}).total(), 5U);
    view.put_counts(QueueId{1}, stored);
    EXPECT_EQ(view.counts(QueueId{1}).total(), 5U);
  }
}

TEST(ViewTest, a_queue_made_in_this_turn_has_no_jobs_keys_or_locks) {
  View view;
  ChangeSet made;
  made.queues.push_back({.after = {.id = QueueId{1}, .name = "q", .version = 1}});
  view.apply(made);
  EXPECT_EQ(view.counts(QueueId{1}).total(), 0U);
  EXPECT_TRUE(view.has_unique_key(QueueId{1}, "k"));
  EXPECT_EQ(view.unique_key(QueueId{1}, "k"), nullptr);
  EXPECT_EQ(view.group_lock(QueueId{1}, "g"), nullptr);
  ChangeSet keyed;
  keyed.unique_keys.push_back({.after = {.queue = QueueId{1}, .key = "k", .job = JobId{3}}});
  view.apply(keyed);
  EXPECT_EQ(view.unique_key(QueueId{1}, "k")->job, JobId{3});
  view.clear();
  EXPECT_FALSE(view.has_unique_key(QueueId{1}, "j"));
}

TEST(ViewTest, an_idempotency_entry_knows_whether_it_is_of_this_turn) {
  View view;
  const IdempotencyEntry entry{.scope = {.high = 1}};
  view.put_idempotency(entry.scope, &entry);
  EXPECT_FALSE(view.is_idempotency_of_turn(entry.scope));
  ChangeSet other;
  other.idempotency.push_back({.after = {.scope = {.high = 2}}});
  view.apply(other);
  EXPECT_TRUE(view.is_idempotency_of_turn({.high = 2}));
  EXPECT_NE(view.idempotency({.high = 2}), nullptr);
}

// Pointers and contents hold while thousands of entities come, over several turns of one view.
TEST(ViewTest, many_entities_and_many_turns) {
  View view;
  for (std::uint64_t turn = 1; turn <= 3; ++turn) {
    std::vector<const Job*> pointers;
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      const Job job = job_of(i, turn);
      view.put_job(job.id, &job);
      const std::string key = std::to_string(i);
      const UniqueKey entry{.queue = QueueId{1}, .key = key, .job = job.id};
      view.put_unique_key(QueueId{1}, key, i % 2 == 0 ? &entry : nullptr);
      pointers.push_back(view.job(job.id));
    }
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      ASSERT_EQ(pointers[i - 1]->id.value, i);
      ASSERT_EQ(pointers[i - 1]->version, turn);
      const UniqueKey* entry = view.unique_key(QueueId{1}, std::to_string(i));
      ASSERT_EQ(entry != nullptr, i % 2 == 0);
      ASSERT_TRUE(entry == nullptr || entry->job.value == i);
    }
    view.clear();
    ASSERT_FALSE(view.has_job(JobId{1}));
  }
}

}  // namespace
}  // namespace weir::core
