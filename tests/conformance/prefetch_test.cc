// SPDX-License-Identifier: Apache-2.0
// Prefetch: what a ReadSet names and what it pulls in; absent entities are known as absent.
#include "conformance/store_test.h"
#include "core/view.h"

namespace weir::conformance {
namespace {

class PrefetchTest : public StoreTest {
 protected:
  PrefetchTest() : queue_(make_queue("mail")) {}
  void load(const core::ReadSet& wanted) { ASSERT_TRUE(store().prefetch(wanted, view_)); }

  core::Queue queue_;
  core::View view_;
};

TEST_F(PrefetchTest, a_job_brings_its_queue_counts_group_and_key) {
  const core::Job job = add(JobBuilder(queue_.id).group("g").unique_key("u"));
  apply(
      test::only(core::UniqueKeyChange{.after = {.queue = queue_.id, .key = "u", .job = job.id}}));
  lock_group(job);
  load({.jobs = {job.id}});
  ASSERT_NE(view_.job(job.id), nullptr);
  EXPECT_EQ(*view_.job(job.id), job);
  ASSERT_NE(view_.queue(queue_.id), nullptr);
  EXPECT_EQ(*view_.queue(queue_.id), queue_);
  EXPECT_EQ(view_.counts(queue_.id).of(JobState::pending), 1U);
  ASSERT_NE(view_.group_lock(queue_.id, "g"), nullptr);
  EXPECT_EQ(view_.group_lock(queue_.id, "g")->holder, job.id);
  ASSERT_NE(view_.unique_key(queue_.id, "u"), nullptr);
  EXPECT_EQ(view_.unique_key(queue_.id, "u")->job, job.id);
}

TEST_F(PrefetchTest, a_free_group_and_a_free_key_are_known_to_be_absent) {
  const core::Job job = add(JobBuilder(queue_.id).group("g").unique_key("u"));
  load({.jobs = {job.id}});
  EXPECT_TRUE(view_.has_group_lock(queue_.id, "g"));
  EXPECT_EQ(view_.group_lock(queue_.id, "g"), nullptr);
  EXPECT_TRUE(view_.has_unique_key(queue_.id, "u"));
  EXPECT_EQ(view_.unique_key(queue_.id, "u"), nullptr);
}

TEST_F(PrefetchTest, absent_entities_are_known_to_be_absent) {
  load({.jobs = {{4711}},
        .queue_names = {{.name = "nowhere"}},
        .queues = {{4711}},
        .unique_keys_by_id = {{queue_.id, "none"}},
        .idempotency = {{5, 6}},
        .tokens = {"wt_none"}});
  EXPECT_EQ(view_.job({4711}), nullptr);
  EXPECT_EQ(view_.queue(core::QueueName{.name = "nowhere"}), nullptr);
  EXPECT_EQ(view_.queue(core::QueueId{4711}), nullptr);
  EXPECT_EQ(view_.unique_key(queue_.id, "none"), nullptr);
  EXPECT_EQ(view_.idempotency({5, 6}), nullptr);
  EXPECT_EQ(view_.token("wt_none"), nullptr);
}

TEST_F(PrefetchTest, a_queue_name_brings_the_queue_and_its_counts) {
  add(JobBuilder(queue_.id));
  load({.queue_names = {{.name = "mail"}}});
  ASSERT_NE(view_.queue(core::QueueName{.name = "mail"}), nullptr);
  EXPECT_EQ(view_.queue(core::QueueName{.name = "mail"})->id, queue_.id);
  EXPECT_EQ(view_.counts(queue_.id).total(), 1U);
}

TEST_F(PrefetchTest, names_belong_to_their_namespace) {
  load({.queue_names = {{.namespace_id = 1, .name = "mail"}}});
  EXPECT_EQ(view_.queue(core::QueueName{.namespace_id = 1, .name = "mail"}), nullptr);
}

TEST_F(PrefetchTest, a_key_by_queue_name_brings_its_job) {
  const core::Job job = add(JobBuilder(queue_.id).unique_key("u"));
  apply(
      test::only(core::UniqueKeyChange{.after = {.queue = queue_.id, .key = "u", .job = job.id}}));
  load({.unique_keys = {{{.name = "mail"}, "u"}, {{.name = "nowhere"}, "u"}}});
  ASSERT_NE(view_.unique_key(queue_.id, "u"), nullptr);
  ASSERT_TRUE(view_.has_job(job.id));
  EXPECT_EQ(*view_.job(job.id), job);
  EXPECT_EQ(view_.queue(core::QueueName{.name = "nowhere"}), nullptr);
}

TEST_F(PrefetchTest, a_key_whose_job_is_gone_brings_its_absence) {
  const core::Job job = add(JobBuilder(queue_.id));
  apply(
      test::only(core::UniqueKeyChange{.after = {.queue = queue_.id, .key = "u", .job = job.id}}));
  remove(job);
  load({.unique_keys_by_id = {{queue_.id, "u"}}});
  ASSERT_TRUE(view_.has_job(job.id));
  EXPECT_EQ(view_.job(job.id), nullptr);
}

TEST_F(PrefetchTest, what_the_turn_has_changed_stays) {
  const core::Job job = add(JobBuilder(queue_.id));
  load({.jobs = {job.id}});
  const core::Job held = test::claimed(job, now_);
  const core::ChangeSet change = test::only(test::change_of(job, held));
  view_.apply(change);
  load({.jobs = {job.id}, .queues = {queue_.id}});
  EXPECT_EQ(*view_.job(job.id), held);
  EXPECT_EQ(view_.counts(queue_.id).of(JobState::processing), 1U);
  EXPECT_EQ(view_.counts(queue_.id).of(JobState::pending), 0U);
}

TEST_F(PrefetchTest, depths_of_queues_are_loaded_alone) {
  add(JobBuilder(queue_.id));
  load({.queue_depths = {queue_.id}});
  EXPECT_EQ(view_.counts(queue_.id).waiting(), 1U);
}

}  // namespace
}  // namespace weir::conformance
