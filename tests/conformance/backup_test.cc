// SPDX-License-Identifier: Apache-2.0
// A backup is one consistent cut of a store that goes on serving.
#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

using BackupTest = StoreTest;

TEST_F(BackupTest, a_store_without_backup_says_so) {
  if (store().capabilities().has_backup) GTEST_SKIP() << "this store has backups";
  const auto refused = store().backup("anywhere");
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
}

TEST_F(BackupTest, a_backup_holds_what_was_committed_before_and_nothing_after) {
  if (!store().capabilities().has_backup) GTEST_SKIP() << "this store has no backup";
  const core::Queue queue = make_queue("mail");
  std::vector<core::Job> before;
  for (int i = 0; i < 100; ++i) before.push_back(add(JobBuilder(queue.id)));
  ASSERT_TRUE(store().sync());
  const std::string directory = factory().backup_directory();
  ASSERT_TRUE(store().backup(directory));
  const core::Job after = add(JobBuilder(queue.id));
  claim(before[0]);
  ASSERT_TRUE(store().sync());

  const auto copy = factory().open_backup(directory);
  ASSERT_NE(copy, nullptr);
  for (const core::Job& job : before) {
    const auto found = copy->read_job(job.id);
    ASSERT_TRUE(found.has_value()) << job.id.value;
    EXPECT_EQ(*found, job);
  }
  EXPECT_EQ(copy->read_job(after.id).error().code, ErrorCode::not_found);
  EXPECT_EQ(copy->queue_stats(queue.id)->counts.total(), before.size());
  EXPECT_EQ(*store().read_job(after.id), after);
}

TEST_F(BackupTest, a_directory_that_holds_something_is_refused) {
  if (!store().capabilities().has_backup) GTEST_SKIP() << "this store has no backup";
  const std::string directory = factory().backup_directory();
  ASSERT_TRUE(store().backup(directory));
  const auto refused = store().backup(directory);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  const core::Queue queue = make_queue("mail");
  add(JobBuilder(queue.id));
}

}  // namespace
}  // namespace weir::conformance
