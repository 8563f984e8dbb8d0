// SPDX-License-Identifier: Apache-2.0
// Verify, copy and restore, and every bit of a small store flipped.
#include "store/journal/maintenance.h"

#include <gtest/gtest.h>

#include "store/journal/store_test_support.h"

namespace weir::store::journal {
namespace {

// Some jobs in every state that a short life reaches.
void fill(StoreDriver& driver) {
  for (int i = 0; i < 6; ++i) driver.enqueue("q", "payload " + std::to_string(i));
  auto claimed = driver.claim();
  driver.run(core::Ack{claimed->job, claimed->token, "[1]"});
  claimed = driver.claim();
  driver.run(core::Fail{
      .job = claimed->job, .token = claimed->token, .error = {.message = "no"}, .dead = true});
  driver.claim();
}

TEST(MaintenanceTest, verify_counts_and_changes_nothing) {
  StoreWorld world;
  fill(*world.driver);
  ASSERT_TRUE(world.store().close(world.driver->now));
  auto image = world.files().crash_image(CrashKind::nothing_unsynced, 1);
  const std::uint64_t before = image->write_calls();
  const auto report = verify(*image, "/data", world.driver->now);
  ASSERT_TRUE(report) << report.error().detail;
  EXPECT_EQ(image->write_calls(), before);
  EXPECT_EQ(report->jobs, 6u);
  EXPECT_EQ(report->queues, 1u);
  EXPECT_EQ(report->jobs_by_state[static_cast<std::size_t>(core::JobState::pending)], 3u);
  EXPECT_EQ(report->jobs_by_state[static_cast<std::size_t>(core::JobState::completed)], 1u);
  EXPECT_EQ(report->problem_count, 0u);
  EXPECT_TRUE(report->clean_stop);
}

TEST(MaintenanceTest, a_backup_of_a_serving_store_restores_with_other_leases_and_ids) {
  StoreWorld world;
  StoreDriver& driver = *world.driver;
  fill(driver);
  const std::string before = describe(world.store());
  ASSERT_TRUE(world.store().backup("/backup"));
  driver.enqueue("q", "after the cut");
  Prng prng(9);
  const auto report = restore(world.files(), "/backup", "/restored", driver.now, prng);
  ASSERT_TRUE(report) << report.error().detail;
  auto restored = JournalStore::open(world.files(), "/restored", small_options(), driver.now);
  ASSERT_TRUE(restored) << restored.error().detail;
  EXPECT_EQ(describe(**restored), before);
  EXPECT_GT((*restored)->identity().epoch, world.store().identity().epoch);
  EXPECT_NE((*restored)->identity().lease_secret, world.store().identity().lease_secret);
  const auto ours = world.store().allocate_job_ids();
  const auto theirs = (*restored)->allocate_job_ids();
  EXPECT_GE(theirs->first, ours->first + (std::uint64_t{1} << 31));
  EXPECT_EQ(restore(world.files(), "/backup", "/restored", driver.now, prng).error().code,
            ErrorCode::conflict);
}

// Every flipped bit of what was written and synced is repaired, refused, or quarantined by name: a
// store that opens shows every job, sound or as damaged. Never silently fewer.
TEST(MaintenanceTest, no_flipped_bit_loses_a_job_silently) {
  StoreWorld world(small_options(32u << 10));
  fill(*world.driver);
  const std::string before = describe(world.store());
  ASSERT_TRUE(world.store().close(world.driver->now));
  auto image = world.files().crash_image(CrashKind::nothing_unsynced, 1);
  const Now now = world.driver->now;
  Prng prng(21);
  std::uint64_t refused = 0, sound = 0;
  for (const std::string& path : image->paths()) {
    const std::string bytes = image->content(path);
    std::size_t used = bytes.size();
    while (used > 0 && bytes[used - 1] == 0) --used;
    // A random bit of every 23rd byte: the log's own tests walk the rest.
    for (std::size_t at = 0; at < used; at += 23) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << prng.up_to(7)));
      auto copy = image->crash_image(CrashKind::everything, 1);
      copy->set_content(path, damaged);
      auto opened = JournalStore::open(*copy, "/data", small_options(32u << 10), now);
      if (!opened) {
        ASSERT_TRUE(opened.error().code == ErrorCode::corruption ||
                    opened.error().code == ErrorCode::unsupported)
            << path << " " << at << ": " << opened.error().detail;
        ++refused;
        continue;
      }
      ASSERT_EQ(describe(**opened), before) << path << " byte " << at;
      ++sound;
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_GT(sound, 0u);
}

}  // namespace
}  // namespace weir::store::journal
