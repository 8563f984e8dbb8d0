// SPDX-License-Identifier: Apache-2.0
// A full store refuses what brings work in and goes on with what takes it out; with room again it
// works as before.
#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

class FullTest : public StoreTest {
 protected:
  FullTest() : queue_(make_queue("mail")), job_(add(JobBuilder(queue_.id))) {}

  core::ChangeSet enqueue() {
    return test::only(test::enqueue_of(JobBuilder(queue_.id).build(new_id(), now_)));
  }
  core::Queue queue_;
  core::Job job_;
};

TEST_F(FullTest, enqueues_are_refused_and_work_goes_on) {
  if (!factory().set_full(store(), true, now_))
    GTEST_SKIP() << "this store can't be filled on purpose";
  EXPECT_EQ(try_commit(enqueue()), CommitResult::refused_full);
  EXPECT_TRUE(store().stats().is_full);
  EXPECT_EQ(counts(queue_.id).total(), 1U);

  core::ChangeSet start = test::only(test::change_of(job_, test::claimed(job_, now_)));
  start.may_use_reserve = true;
  EXPECT_EQ(try_commit(start), CommitResult::applied);
  const core::Job held = test::claimed(job_, now_);
  core::ChangeSet stop =
      test::only(test::change_of(held, test::ended(held, JobState::completed, now_)));
  stop.may_use_reserve = true;
  EXPECT_EQ(try_commit(stop), CommitResult::applied);
  EXPECT_EQ(counts(queue_.id).of(JobState::completed), 1U);
}

TEST_F(FullTest, room_again_is_service_again) {
  if (!factory().set_full(store(), true, now_))
    GTEST_SKIP() << "this store can't be filled on purpose";
  EXPECT_EQ(try_commit(enqueue()), CommitResult::refused_full);
  factory().set_full(store(), false, now_);
  for (int i = 0; i < 10'000; ++i) {
    const auto more = store().work(now_);
    ASSERT_TRUE(more.has_value());
    if (!*more) break;
  }
  EXPECT_EQ(try_commit(enqueue()), CommitResult::applied);
  EXPECT_FALSE(store().stats().is_full);
}

TEST_F(FullTest, a_refusal_applies_nothing_of_its_change_set) {
  if (!factory().set_full(store(), true, now_))
    GTEST_SKIP() << "this store can't be filled on purpose";
  core::ChangeSet change_set = enqueue();
  const core::JobId id = change_set.jobs[0].after.id;
  change_set.unique_keys.push_back({.after = {.queue = queue_.id, .key = "k", .job = id}});
  EXPECT_EQ(try_commit(change_set), CommitResult::refused_full);
  factory().set_full(store(), false, now_);
  EXPECT_EQ(store().read_job(id).error().code, ErrorCode::not_found);
  EXPECT_EQ(claimable().size(), 1U);
}

}  // namespace
}  // namespace weir::conformance
