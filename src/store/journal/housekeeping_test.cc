// SPDX-License-Identifier: Apache-2.0
// Snapshots and cleaning under churn: the disk follows the living data, and nothing changes but the
// places.
#include "store/journal/housekeeping.h"

#include <gtest/gtest.h>

#include "store/journal/store_test_support.h"

namespace weir::store::journal {
namespace {

constexpr std::uint32_t kSegment = 64u << 10;
// The active, spare and reserve segments, one of slack, and what the log writes until a cycle is
// through.
constexpr std::uint64_t kFixed = 12 * kSegment;

// B57: a constant number of jobs, claimed and given back over and over.
TEST(HousekeepingTest, claim_and_release_for_ever_does_not_grow_the_disk) {
  StoreWorld world(small_options(kSegment));
  StoreDriver& driver = *world.driver;
  for (int i = 0; i < 200; ++i) {
    driver.enqueue("q", std::string(100, 'x'));
    ASSERT_TRUE(world.store().work(driver.now));
  }
  std::uint64_t most = 0;
  for (int i = 0; i < 3'000; ++i) {
    if (const auto claimed = driver.claim()) {
      driver.run(core::Release{.job = claimed->job, .token = claimed->token, .delay_ms = 20'000});
    }
    ASSERT_FALSE(driver.failed) << driver.failed->detail;
    driver.advance(100);
    driver.tick();
    ASSERT_TRUE(world.store().work(driver.now));
    if (i % 256 == 0) {
      ASSERT_TRUE(world.store().sync());
    }
    const StoreStats stats = world.store().stats();
    most = std::max(most, stats.disk_bytes - std::min(stats.disk_bytes, 2 * stats.live_bytes));
  }
  EXPECT_LE(most, kFixed);
  EXPECT_GT(world.store().stats().snapshots, 3u);
  EXPECT_GT(world.store().stats().cleaned_segments, 20u);
  ASSERT_TRUE(world.store().sync());
  const std::string before = describe(world.store());
  world.crash_and_open(CrashKind::nothing_unsynced);
  EXPECT_EQ(describe(world.store()), before);
}

// Old jobs that stay, among many that go: the old ones are moved out of the way, whole.
TEST(HousekeepingTest, old_jobs_do_not_pin_the_segments_of_the_dead) {
  StoreWorld world(small_options(kSegment));
  StoreDriver& driver = *world.driver;
  core::QueueSettings settings;
  settings.completed_max = 0;
  driver.policy.queue_defaults = settings;
  std::vector<core::JobId> old;
  for (int i = 0; i < 4000; ++i) {
    if (i % 50 == 0) {
      core::NewJob later;
      later.delay_ms = kMsPerDay;
      old.push_back(
          driver.enqueue("later", std::string(500, static_cast<char>('a' + i % 26)), later));
    }
    driver.enqueue("now", std::string(300, 'x'));
    const auto claimed = driver.claim();
    ASSERT_TRUE(claimed);
    driver.run(core::Ack{claimed->job, claimed->token, "\"done\""});
    driver.tick();
    ASSERT_TRUE(world.store().work(driver.now));
  }
  world.work();
  const StoreStats stats = world.store().stats();
  EXPECT_LE(stats.disk_bytes, 2 * stats.live_bytes + kFixed);
  for (std::size_t i = 0; i < old.size(); ++i) {
    const auto body = world.store().read_body(old[i]);
    ASSERT_TRUE(body) << body.error().detail;
    EXPECT_EQ(body->payload, std::string(500, static_cast<char>('a' + i * 50 % 26)));
  }
  const std::string before = describe(world.store());
  world.close_and_open();
  EXPECT_EQ(describe(world.store()), before);
}

// Histories and results move with their jobs, also those of jobs that ended and shrank.
TEST(HousekeepingTest, histories_and_results_survive_cleaning) {
  StoreWorld world(small_options(kSegment));
  StoreDriver& driver = *world.driver;
  std::vector<core::JobId> kept;
  for (int i = 0; i < 30; ++i) kept.push_back(driver.enqueue("kept", "{}"));
  for (std::size_t i = 0; i < kept.size(); ++i) {
    auto claimed = driver.claim();
    ASSERT_TRUE(claimed);
    driver.run(core::Fail{claimed->job, claimed->token, {.error_class = "x", .message = "first"}});
  }
  driver.advance(600'000);
  driver.tick();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    auto claimed = driver.claim();
    ASSERT_TRUE(claimed);
    driver.run(
        core::Ack{claimed->job, claimed->token, "[" + std::to_string(claimed->job.value) + "]"});
  }
  const std::string before = describe(world.store());
  core::QueueSettings settings;
  settings.completed_max = 0;
  driver.policy.queue_defaults = settings;
  for (int i = 0; i < 3000; ++i) {
    driver.enqueue("now", std::string(300, 'x'));
    const auto claimed = driver.claim();
    ASSERT_TRUE(claimed);
    driver.run(core::Ack{claimed->job, claimed->token, std::nullopt});
    driver.tick();
    ASSERT_TRUE(world.store().work(driver.now));
  }
  world.work();
  EXPECT_GT(world.store().stats().cleaned_segments, 10u);
  for (const core::JobId id : kept) {
    const auto history = world.store().read_history(id);
    ASSERT_TRUE(history) << history.error().detail;
    EXPECT_EQ(history->size(), 2u);
    EXPECT_EQ(*world.store().read_result(id), "[" + std::to_string(id.value) + "]");
  }
  world.crash_and_open(CrashKind::everything);
  for (const core::JobId id : kept) {
    EXPECT_EQ(world.store().read_history(id)->size(), 2u);
    EXPECT_EQ(world.store().read_job(id)->state, core::JobState::completed);
  }
}

// A job with a very long history keeps few places, and every attempt.
TEST(HousekeepingTest, long_histories_are_folded) {
  StoreWorld world(small_options(kSegment));
  StoreDriver& driver = *world.driver;
  const core::JobId id = driver.enqueue("q", "{}");
  for (int i = 0; i < 500; ++i) {
    const auto claimed = driver.claim();
    ASSERT_TRUE(claimed) << i;
    driver.run(core::Release{.job = id, .token = claimed->token});
    ASSERT_TRUE(world.store().work(driver.now));
  }
  JobPlaces places;
  ASSERT_TRUE(world.store().index().places(id, places));
  EXPECT_LE(places.attempts.size(), kHistoryFoldAt + 1);
  EXPECT_EQ(world.store().read_history(id)->size(), 500u);
  world.close_and_open();
  EXPECT_EQ(world.store().read_history(id)->size(), 500u);
}

// What was removed stays removed when the segments with its removal are gone and those with its
// records are not.
TEST(HousekeepingTest, nothing_removed_comes_back_after_cleaning) {
  StoreWorld world(small_options(kSegment));
  StoreDriver& driver = *world.driver;
  std::vector<core::JobId> removed;
  for (int i = 0; i < 2000; ++i) {
    core::NewJob job;
    job.unique_key = "key-" + std::to_string(i);
    const core::JobId id = driver.enqueue("q", std::string(200, 'x'), job);
    ASSERT_TRUE(id);
    if (i % 8 != 0) {
      driver.run(core::Erase{id});
      removed.push_back(id);
    }
    ASSERT_TRUE(world.store().work(driver.now));
    if (i % 300 == 299) {
      world.work();
      const std::string before = describe(world.store());
      world.crash_and_open(CrashKind::everything);
      ASSERT_EQ(describe(world.store()), before);
    }
  }
  for (const core::JobId id : removed) {
    EXPECT_EQ(world.store().read_job(id).error().code, ErrorCode::not_found);
  }
}

TEST(HousekeepingTest, a_full_disk_refuses_lets_work_out_and_recovers_by_itself) {
  MemoryFileSystem memory;
  JournalOptions options = small_options(kSegment);
  options.disk_bytes_max = 16 * kSegment;
  auto store = *JournalStore::open(memory, "/data", options, kTestStart);
  StoreDriver driver(*store);
  driver.policy.queue_defaults.completed_max = 0;
  std::vector<core::JobId> accepted;
  for (int i = 0; i < 10'000 && driver.result != CommitResult::refused_full; ++i) {
    const core::JobId id = driver.enqueue("q", std::string(2000, 'x'));
    ASSERT_FALSE(driver.failed) << driver.failed->detail;
    if (driver.result == CommitResult::applied) accepted.push_back(id);
    ASSERT_TRUE(store->work(driver.now));
  }
  ASSERT_EQ(driver.result, CommitResult::refused_full);
  EXPECT_TRUE(store->stats().is_full);
  std::size_t acked = 0;
  while (const auto claimed = driver.claim()) {
    ASSERT_EQ(driver.result, CommitResult::applied);
    driver.run(core::Ack{claimed->job, claimed->token, std::nullopt});
    ASSERT_EQ(driver.result, CommitResult::applied) << "an ack is never refused, after " << acked;
    ++acked;
    driver.tick();
    ASSERT_TRUE(store->work(driver.now));
  }
  EXPECT_EQ(acked, accepted.size());
  for (int i = 0; i < 10'000; ++i) {
    const auto more = store->work(driver.now);
    ASSERT_TRUE(more);
    if (!*more) break;
  }
  EXPECT_FALSE(store->stats().is_full);
  driver.enqueue("q", "{}");
  EXPECT_EQ(driver.result, CommitResult::applied);
}

TEST(HousekeepingTest, completed_jobs_that_are_kept_make_room_on_a_full_disk) {
  MemoryFileSystem memory;
  JournalOptions options = small_options(kSegment);
  options.disk_bytes_max = 16 * kSegment;
  auto store = *JournalStore::open(memory, "/data", options, kTestStart);
  StoreDriver driver(*store);  // its queues keep up to 1,000 completed jobs for a day
  for (int i = 0; i < 10'000 && driver.result != CommitResult::refused_full; ++i) {
    driver.enqueue("q", std::string(2000, 'x'));
    ASSERT_TRUE(store->work(driver.now));
  }
  ASSERT_EQ(driver.result, CommitResult::refused_full);
  while (const auto claimed = driver.claim()) {
    driver.run(core::Ack{claimed->job, claimed->token, std::nullopt});
    ASSERT_EQ(driver.result, CommitResult::applied);
    driver.tick();
    ASSERT_TRUE(store->work(driver.now));
  }
  for (int i = 0; i < 1'000 && store->stats().is_full; ++i) {
    driver.tick();
    ASSERT_TRUE(store->work(driver.now));
  }
  EXPECT_FALSE(store->stats().is_full);
  driver.enqueue("q", "{}");
  EXPECT_EQ(driver.result, CommitResult::applied);
}

// Fills the store under a quota, until a new job is refused.
void fill(JournalStore& store, StoreDriver& driver, std::size_t payload_bytes) {
  for (int i = 0; i < 10'000 && driver.result != CommitResult::refused_full; ++i) {
    driver.enqueue("q", std::string(payload_bytes, 'x'));
    ASSERT_FALSE(driver.failed) << driver.failed->detail;
    ASSERT_TRUE(store.work(driver.now));
  }
  ASSERT_EQ(driver.result, CommitResult::refused_full);
}

// Heartbeats write for as long as the disk stays full, far more than the reserve holds.
TEST(HousekeepingTest, heartbeats_go_on_for_ever_while_the_disk_is_full) {
  for (const std::size_t payload_bytes : {2000U, 200U, 30'000U}) {
    MemoryFileSystem memory;
    JournalOptions options = small_options(kSegment);
    options.disk_bytes_max = 16 * kSegment;
    auto store = *JournalStore::open(memory, "/data", options, kTestStart);
    StoreDriver driver(*store);
    fill(*store, driver, payload_bytes);
    const auto claimed = driver.claim();
    ASSERT_TRUE(claimed);
    for (int i = 0; i < 2'000; ++i) {
      driver.run(core::Extend{claimed->job, claimed->token, std::nullopt});
      ASSERT_EQ(driver.result, CommitResult::applied) << payload_bytes << " after " << i;
      ASSERT_TRUE(store->work(driver.now));
    }
  }
}

// The reserve used up to the last block, then a kill: the store opens, and comes out of it.
TEST(HousekeepingTest, a_store_without_any_room_opens_and_frees_what_is_dead) {
  MemoryFileSystem memory;
  JournalOptions options = small_options(kSegment);
  options.disk_bytes_max = 16 * kSegment;
  auto store = *JournalStore::open(memory, "/data", options, kTestStart);
  auto driver = std::make_unique<StoreDriver>(*store);
  fill(*store, *driver, 2000);
  const auto claimed = driver->claim();
  ASSERT_TRUE(claimed);
  const core::Extend heartbeat{claimed->job, claimed->token, std::nullopt};
  for (int i = 0; i < 10'000 && driver->result == CommitResult::applied; ++i) {
    driver->run(heartbeat);  // and nobody cleans
  }
  ASSERT_EQ(driver->result, CommitResult::refused_full);
  driver.reset();
  store.reset();
  for (int start = 0; start < 5; ++start) {
    auto again = JournalStore::open(memory, "/data", options, kTestStart);
    ASSERT_TRUE(again) << start << again.error().detail;
    store = *std::move(again);
    if (start < 4) store.reset();  // dead again before it could clean anything
  }
  driver = std::make_unique<StoreDriver>(*store);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(store->work(driver->now));
  for (int i = 0; i < 500; ++i) {
    driver->run(heartbeat);
    ASSERT_EQ(driver->result, CommitResult::applied) << i;
    ASSERT_TRUE(store->work(driver->now));
  }
}

// What was removed while full comes back as room, though nobody writes any more.
TEST(HousekeepingTest, a_full_store_gives_back_what_is_dead_without_being_written_to) {
  MemoryFileSystem memory;
  JournalOptions options = small_options(kSegment);
  options.disk_bytes_max = 24 * kSegment;
  auto store = *JournalStore::open(memory, "/data", options, kTestStart);
  StoreDriver driver(*store);
  driver.policy.queue_defaults.completed_max = 0;
  fill(*store, driver, 2000);
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(store->work(driver.now));
  core::Purge purge{.queue = "q", .slice = {}};
  for (std::uint64_t old = 1; old <= 70; ++old) purge.slice.push_back(core::JobId{old});
  driver.run(purge);
  ASSERT_EQ(driver.result, CommitResult::applied);
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_TRUE(store->work(driver.now));
    driver.advance(10);
  }
  EXPECT_FALSE(store->stats().is_full);
  driver.enqueue("q", "{}");
  EXPECT_EQ(driver.result, CommitResult::applied);
  // Nor does it go on for ever.
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(store->work(driver.now));
    driver.advance(10);
  }
  const std::uint64_t written = store->stats().bytes_written;
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(store->work(driver.now));
    driver.advance(10);
  }
  EXPECT_EQ(store->stats().bytes_written, written);
}

}  // namespace
}  // namespace weir::store::journal
