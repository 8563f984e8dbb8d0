// SPDX-License-Identifier: Apache-2.0
// The store over the log: what a reopening finds, what a start does to leases and ids, how texts
// are read.
#include "store/journal/journal_store.h"

#include <gtest/gtest.h>

#include "store/journal/store_test_support.h"

namespace weir::store::journal {
namespace {

class JournalStoreTest : public ::testing::Test {
 protected:
  JournalStore& store() { return world_.store(); }
  StoreDriver& driver() { return *world_.driver; }
  StoreWorld world_;
};

TEST_F(JournalStoreTest, reopening_at_random_points_shows_the_same) {
  Prng prng(3);
  std::vector<core::Claimed> held;
  for (int step = 0; step < 1500; ++step) {
    const std::uint64_t choice = prng.up_to(99);
    if (choice < 35) {
      core::NewJob job;
      if (prng.one_in(3)) job.kind = "k" + std::to_string(prng.up_to(2));
      if (prng.one_in(4)) job.group = "g" + std::to_string(prng.up_to(3));
      if (prng.one_in(6)) job.unique_key = "u" + std::to_string(prng.up_to(20));
      if (prng.one_in(5)) job.delay_ms = prng.between(0, 60'000);
      if (prng.one_in(5)) job.ttl_ms = prng.between(1, 100'000);
      if (prng.one_in(5)) job.tags = {"a", "b"};
      job.priority = static_cast<std::int32_t>(prng.between(-2, 2));
      driver().enqueue("q" + std::to_string(prng.up_to(2)), std::string(prng.up_to(300), 'p'), job);
    } else if (choice < 55) {
      if (auto claimed = driver().claim(3'600'000 + prng.between(0, 1000)))
        held.push_back(*claimed);
    } else if (choice < 85 && !held.empty()) {
      const std::size_t at = prng.up_to(held.size() - 1);
      const core::Claimed claimed = held[at];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      if (prng.one_in(2)) {
        driver().run(core::Ack{claimed.job, claimed.token, "[1]"});
      } else if (prng.one_in(2)) {
        driver().run(
            core::Fail{claimed.job, claimed.token, {.error_class = "x", .message = "boom"}});
      } else {
        driver().run(core::Release{.job = claimed.job, .token = claimed.token});
      }
    } else if (choice < 90) {
      driver().advance(prng.between(0, 5'000));
      driver().tick();
    } else if (choice < 93) {
      std::vector<core::LaneHead> heads;
      store().heads({}, 5, heads);
      if (!heads.empty()) driver().run(core::Cancel{heads.back().first.back().id, "no"});
    } else if (choice < 96) {
      ASSERT_TRUE(store().work(driver().now));
    } else if (prng.one_in(4)) {
      ASSERT_TRUE(store().sync());
      const std::string before = describe(store());
      if (prng.one_in(2)) {
        world_.close_and_open();
      } else {
        world_.crash_and_open(prng.one_in(2) ? CrashKind::everything : CrashKind::nothing_unsynced,
                              prng.next());
      }
      ASSERT_EQ(describe(store()), before) << "step " << step;
    }
    ASSERT_FALSE(driver().failed) << driver().failed->detail;
  }
}

TEST_F(JournalStoreTest, every_timed_lease_has_thirty_seconds_after_a_start) {
  const core::JobId job = driver().enqueue("q", "{}");
  ASSERT_TRUE(driver().claim(2'000));
  world_.close_and_open();
  const auto read = store().read_job(job);
  EXPECT_EQ(read->lease->deadline_at, store().identity().store_time.plus(core::kLeaseGraceMs));
  std::vector<Due> dues;
  driver().advance(core::kLeaseGraceMs - 1);
  store().due(driver().now, 10, dues);
  EXPECT_TRUE(dues.empty());
  driver().advance(1);
  store().due(driver().now, 10, dues);
  EXPECT_EQ(dues.size(), 1u);
}

// B17: more jobs in hand than any page at a restart; all come back once.
TEST_F(JournalStoreTest, twenty_thousand_leases_run_out_once_each_after_a_restart) {
  constexpr std::size_t kJobs = 20'000;
  core::Enqueue bulk{.queue = "q"};
  for (std::size_t i = 0; i < 1000; ++i) bulk.jobs.emplace_back().body.payload = "{}";
  StoreWorld world(small_options(1u << 20));
  StoreDriver& driver = *world.driver;
  for (std::size_t i = 0; i < kJobs / 1000; ++i) driver.run(bulk);
  for (std::size_t i = 0; i < kJobs; ++i) ASSERT_TRUE(driver.claim(5'000));
  world.crash_and_open(CrashKind::everything);
  driver.advance(core::kLeaseGraceMs);
  while (driver.tick() > 0) {
  }
  const auto queues = world.store().read_queues();
  EXPECT_EQ(world.store().queue_stats((*queues)[0].id)->counts.of(core::JobState::processing), 0u);
  WallTime wall;
  StoreTime next;
  world.store().next_due(wall, next);
  EXPECT_GT(next, driver.now.store);
  std::size_t jobs = 0;
  ScanQuery query{.limit = 1000};
  do {
    const auto page = world.store().scan_page(query);
    for (const core::Job& job : page->jobs) EXPECT_EQ(job.counters.timeouts, 1u) << job.id.value;
    jobs += page->jobs.size();
    query.after_id = page->next_after_id;
  } while (query.after_id != 0);
  EXPECT_EQ(jobs, kJobs);
}

// B11: acked by the second consumer; no kind of restart brings the job back.
TEST_F(JournalStoreTest, a_job_acked_by_its_second_holder_never_comes_back) {
  const core::JobId job = driver().enqueue("q", "{}");
  const auto first = driver().claim(2'000);
  ASSERT_TRUE(first);
  driver().advance(2'000);
  EXPECT_EQ(driver().tick(), 1u);
  driver().advance(300'000);
  driver().tick();
  const auto second = driver().claim(60'000);
  ASSERT_TRUE(second);
  driver().run(core::Ack{job, second->token, std::nullopt});
  ASSERT_TRUE(store().sync());
  for (int round = 0; round < 3; ++round) {
    if (round == 0) world_.close_and_open();
    if (round == 1) world_.crash_and_open(CrashKind::everything);
    if (round == 2) world_.crash_and_open(CrashKind::nothing_unsynced);
    EXPECT_EQ(store().read_job(job)->state, core::JobState::completed);
    EXPECT_FALSE(driver().claim());
    const core::Answer late = driver().run(core::Ack{job, first->token, std::nullopt});
    EXPECT_TRUE(std::holds_alternative<Error>(late.outcome));
  }
}

TEST_F(JournalStoreTest, ids_are_never_handed_out_twice) {
  std::uint64_t last = 0;
  std::uint32_t last_queue = 0;
  for (int round = 0; round < 4; ++round) {
    const auto range = store().allocate_job_ids();
    ASSERT_TRUE(range);
    EXPECT_GT(range->first, last);
    last = range->first + range->count - 1;
    const auto queue = store().allocate_queue_id();
    EXPECT_GT(queue->value, last_queue);
    last_queue = queue->value;
    world_.crash_and_open(round % 2 == 0 ? CrashKind::nothing_unsynced : CrashKind::everything);
  }
}

TEST_F(JournalStoreTest, the_stores_clock_goes_on_by_the_wall_and_never_back) {
  driver().enqueue("q", "{}");
  ASSERT_TRUE(store().sync());
  const Now before = driver().now;
  driver().now.wall = before.wall.plus(7'000);
  world_.crash_and_open(CrashKind::everything);
  EXPECT_EQ(store().identity().store_time, before.store.plus(7'000));
  driver().now.wall = before.wall.plus(-kMsPerHour);
  const StoreTime last = store().identity().store_time;
  world_.crash_and_open(CrashKind::everything);
  EXPECT_EQ(store().identity().store_time, last);
}

// Draining in order reads ahead: far fewer reads than jobs.
TEST_F(JournalStoreTest, draining_in_order_reads_ahead) {
  MemoryFileSystem memory;
  FaultyFileSystem counting(memory);
  JournalOptions options = small_options(4u << 20);
  auto store = *JournalStore::open(counting, "/data", options, kTestStart);
  auto driver = std::make_unique<StoreDriver>(*store);
  std::vector<core::JobId> ids;
  core::Enqueue bulk{.queue = "q"};
  for (std::size_t i = 0; i < 1000; ++i)
    bulk.jobs.emplace_back().body.payload = std::string(100, 'x');
  for (int i = 0; i < 4; ++i) {
    const core::Answer answer = driver->run(bulk);
    const auto& made = std::get<core::Enqueued>(answer.outcome).ids;
    ids.insert(ids.end(), made.begin(), made.end());
  }
  ASSERT_TRUE(store->close(driver->now));
  store.reset();
  store = *JournalStore::open(counting, "/data", options, kTestStart);
  const std::uint64_t before = counting.read_calls();
  for (const core::JobId id : ids) ASSERT_EQ(store->read_body(id)->payload.size(), 100u);
  EXPECT_LT(counting.read_calls() - before, 100u);
}

TEST_F(JournalStoreTest, a_failed_sync_stops_the_store_for_ever) {
  MemoryFileSystem memory;
  FaultyFileSystem faulty(memory);
  auto store = *JournalStore::open(faulty, "/data", small_options(), kTestStart);
  StoreDriver driver(*store);
  driver.enqueue("q", "{}");
  faulty.fail_write_call(faulty.write_calls() + 1, ErrorCode::io_error,
                         FaultyFileSystem::Repeat::once);
  EXPECT_EQ(store->sync().error().code, ErrorCode::io_error);
  EXPECT_EQ(store->sync().error().code, ErrorCode::io_error);
  std::vector<CommitResult> results;
  EXPECT_EQ(store->commit({}, driver.now, results).error().code, ErrorCode::io_error);
  EXPECT_EQ(store->work(driver.now).error().code, ErrorCode::io_error);
}

TEST_F(JournalStoreTest, one_damaged_payload_is_one_damaged_job) {
  StoreWorld world(small_options(1u << 20));
  JournalOptions no_cache = small_options(1u << 20);
  no_cache.cache_bytes = 0;
  const core::JobId first = world.driver->enqueue("q", std::string(5000, 'a'));
  const core::JobId second = world.driver->enqueue("q", std::string(5000, 'b'));
  ASSERT_TRUE(world.store().close(world.driver->now));
  auto image = world.files().crash_image(CrashKind::everything, 1);
  auto store = *JournalStore::open(*image, "/data", no_cache, kTestStart);
  for (const std::string& path : image->paths()) {
    std::string bytes = image->content(path);
    const std::size_t at = bytes.find(std::string(3000, 'a'));
    if (at == std::string::npos) continue;
    bytes[at + 10] = 'x';
    image->set_content(path, bytes);
  }
  EXPECT_EQ(store->read_body(first).error().code, ErrorCode::corruption);
  EXPECT_EQ(store->read_body(second)->payload, std::string(5000, 'b'));
  StoreDriver driver(*store);
  ASSERT_TRUE(driver.claim());
  ASSERT_TRUE(driver.claim());
  EXPECT_FALSE(driver.failed);
}

TEST_F(JournalStoreTest, an_idle_store_seals_within_a_second) {
  driver().enqueue("q", "{}");
  ASSERT_TRUE(store().work(driver().now));
  driver().advance(999);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store().work(driver().now));
  EXPECT_EQ(store().durable_seq(), store().log().last_seq());
  const std::uint64_t sealed = store().log().last_seq();
  driver().advance(10'000);
  world_.work();
  EXPECT_EQ(store().log().last_seq(), sealed) << "an idle store writes nothing more";
}

}  // namespace
}  // namespace weir::store::journal
