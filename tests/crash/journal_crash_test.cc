// SPDX-License-Identifier: Apache-2.0
// Every crash state of three short workloads: before each write-side call of the file port the disk
// is rebuilt in four ways (nothing unsynced, everything, a random part, a torn last write), the
// store is opened from it, and what it holds is compared with what had been acknowledged outside of
// it: nothing acknowledged is lost, nothing acked comes back, no bulk is there in part, every
// payload is whole.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "store/journal/store_test_support.h"
#include "support/seed.h"

namespace weir::store::journal {
namespace {

constexpr std::uint32_t kSegment = 32u << 10;

// What the world outside has been promised. Value.
struct Promised {
  std::map<std::uint64_t, std::string> payloads;    // of every job ever asked for
  std::set<std::uint64_t> living;                   // enqueued durably, its end not asked for
  std::set<std::uint64_t> done;                     // acked durably
  std::set<std::uint64_t> removed;                  // taken by retention, durably
  std::map<std::uint64_t, std::uint64_t> versions;  // the least that a living job must have
  std::vector<std::uint64_t> bulk;                  // of the last bulk
};

struct CrashPoint {
  std::uint64_t call = 0;
  std::string operation;
  Promised promised;
  Now now;
  std::vector<std::pair<CrashKind, std::unique_ptr<MemoryFileSystem>>> images;
};

class CrashTest : public ::testing::Test {
 protected:
  CrashTest() : faulty_(memory_) {
    // A test takes every `stride`-th call; all of them in the long run.
    stride_ = test::count_from_environment("WEIR_CRASH_STRIDE", 1);
    faulty_.set_hook([this](std::uint64_t call, std::string_view operation, const std::string&) {
      if (!is_armed_ || call % stride_ != 0) return;
      CrashPoint point{
          .call = call, .operation = std::string(operation), .promised = promised_, .now = now_};
      for (const CrashKind kind : {CrashKind::nothing_unsynced, CrashKind::everything,
                                   CrashKind::random_subset, CrashKind::torn_last_write}) {
        point.images.emplace_back(kind, memory_.crash_image(kind, call));
      }
      check(point);
    });
    open();
  }

  void open() {
    auto opened = JournalStore::open(faulty_, "/data", options(), now_);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
    if (!driver_) {
      driver_ = std::make_unique<StoreDriver>(*store_);
      driver_->policy.queue_defaults.completed_max = 2;
    }
    driver_->use(*store_);
    now_ = driver_->now;
  }
  void reopen() {
    ASSERT_TRUE(store_->close(now_));
    store_.reset();
    open();
  }
  static JournalOptions options() { return small_options(kSegment); }

  // Steps of a workload; promises are made after the sync.
  void enqueue(std::size_t jobs, std::size_t bytes, const core::NewJob& like = {}) {
    core::Enqueue bulk{.queue = "q"};
    bulk.is_batch = jobs > 1;
    for (std::size_t i = 0; i < jobs; ++i) {
      core::NewJob job = like;
      ++payload_;
      job.body.payload = std::to_string(payload_);
      job.body.payload.append(bytes, static_cast<char>('a' + payload_ % 26));
      bulk.jobs.push_back(std::move(job));
    }
    // The ids are known only afterwards: the promise of "whole or absent" is checked by payloads.
    asked_.clear();
    for (const core::NewJob& job : bulk.jobs) asked_.insert(job.body.payload);
    const core::Answer answer = driver_->run(bulk);
    ASSERT_FALSE(driver_->failed) << driver_->failed->detail;
    settle();
    const auto& ids = std::get<core::Enqueued>(answer.outcome).ids;
    promised_.bulk.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      promised_.payloads[ids[i].value] = bulk.jobs[i].body.payload;
      promised_.living.insert(ids[i].value);
      promised_.bulk.push_back(ids[i].value);
    }
    asked_.clear();
  }
  std::optional<core::Claimed> claim() { return driver_->claim(3'600'000); }
  // Makes durable what was done so far, and promises it.
  void settle() {
    ASSERT_TRUE(store_->sync());
    promised_.done.merge(acked_);
    acked_.clear();
    for (const std::uint64_t id : promised_.done) {
      if (!store_->read_job(core::JobId{id})) promised_.removed.insert(id);
    }
    for (const std::uint64_t id : promised_.removed) promised_.done.erase(id);
    for (const std::uint64_t id : promised_.living) {
      promised_.versions[id] = store_->read_job(core::JobId{id})->version;
    }
  }
  void release(const core::Claimed& claimed) {
    driver_->run(core::Release{.job = claimed.job, .token = claimed.token});
  }
  void ack(const core::Claimed& claimed) {
    promised_.living.erase(claimed.job.value);  // from now on it may be done
    driver_->run(
        core::Ack{claimed.job, claimed.token, "[" + std::to_string(claimed.job.value) + "]"});
    acked_.insert(claimed.job.value);
  }
  void pass(std::int64_t ms) {
    driver_->advance(ms);
    now_ = driver_->now;
    driver_->tick();
    ASSERT_TRUE(store_->work(now_));
  }

  void check(CrashPoint& point) {
    for (auto& [kind, image] : point.images) {
      ++checked_;
      auto opened = JournalStore::open(*image, "/data", options(), point.now);
      const std::string where = "call " + std::to_string(point.call) + " (" + point.operation +
                                "), rebuilt as " + std::to_string(static_cast<int>(kind));
      ASSERT_TRUE(opened) << where << ": " << opened.error().detail;
      check_store(**opened, point.promised, where);
      if (HasFatalFailure()) return;
    }
  }

  void check_store(JournalStore& store, const Promised& promised, const std::string& where) {
    for (const std::uint64_t id : promised.living) {
      const auto job = store.read_job(core::JobId{id});
      ASSERT_TRUE(job) << where << ": job " << id << " was accepted and is lost";
      ASSERT_FALSE(core::is_ended(job->state)) << where << ": job " << id << " ended by itself";
      const auto version = promised.versions.find(id);
      ASSERT_GE(job->version, version == promised.versions.end() ? 0 : version->second)
          << where << ": job " << id << " went back";
    }
    for (const std::uint64_t id : promised.removed) {
      ASSERT_FALSE(store.read_job(core::JobId{id}))
          << where << ": job " << id << " was removed and is back";
    }
    for (const std::uint64_t id : promised.done) {
      const auto job = store.read_job(core::JobId{id});
      if (!job) continue;  // retention
      ASSERT_EQ(job->state, core::JobState::completed)
          << where << ": job " << id << " was acked and is back";
      ASSERT_EQ(*store.read_result(core::JobId{id}), "[" + std::to_string(id) + "]") << where;
    }
    std::size_t of_asked = 0;
    const auto page = store.scan_page({.limit = 1000});
    ASSERT_TRUE(page) << where;
    for (const core::Job& job : page->jobs) {
      const auto body = store.read_body(job.id);
      ASSERT_TRUE(body) << where << ": " << body.error().detail;
      const auto expected = promised.payloads.find(job.id.value);
      if (expected != promised.payloads.end()) {
        ASSERT_EQ(body->payload, expected->second) << where;
      } else {
        ASSERT_TRUE(asked_.contains(body->payload))
            << where << ": nobody asked for job " << job.id.value;
        ++of_asked;
      }
      const auto history = store.read_history(job.id);
      ASSERT_TRUE(history) << where << ": " << history.error().detail;
      ASSERT_EQ(job.has_history, !history->empty()) << where;
      for (std::size_t i = 1; i < history->size(); ++i) {
        ASSERT_LT((*history)[i - 1].attempt, (*history)[i].attempt)
            << where << ": an attempt stands twice";
      }
    }
    ASSERT_TRUE(of_asked == 0 || of_asked == asked_.size()) << where << ": a bulk is there in part";
  }

  MemoryFileSystem memory_;
  FaultyFileSystem faulty_;
  std::uint64_t stride_ = 1;
  bool is_armed_ = false;
  Now now_ = kTestStart;
  std::unique_ptr<JournalStore> store_;
  std::unique_ptr<StoreDriver> driver_;
  Promised promised_;
  std::set<std::string> asked_;    // payloads of the enqueue in hand
  std::set<std::uint64_t> acked_;  // not promised yet
  std::uint64_t payload_ = 0;
  std::uint64_t checked_ = 0;
};

TEST_F(CrashTest, enqueues_claims_and_acks) {
  is_armed_ = true;
  for (int i = 0; i < 6; ++i) {
    enqueue(1, 50);
    if (i % 2 == 1) {
      const auto claimed = claim();
      ASSERT_TRUE(claimed);
      ack(*claimed);
      settle();
    }
    pass(600);
    if (HasFatalFailure()) return;
  }
  enqueue(20, 700);
  EXPECT_GT(checked_, 50u);
}

// Segments are filled, cleaned, moved and given back while jobs of all ages come and go.
TEST_F(CrashTest, moves_and_snapshots_under_churn) {
  Prng prng(17);
  for (int i = 0; i < 5; ++i) {
    core::NewJob later;
    later.delay_ms = kMsPerDay;
    enqueue(1, 300, later);
  }
  std::vector<core::Claimed> held;
  for (int i = 0; i < 300; ++i) {
    is_armed_ = i >= 200;
    enqueue(1, prng.up_to(400));
    if (auto claimed = claim()) held.push_back(*claimed);
    if (held.size() > 12) {
      const std::size_t at = prng.up_to(held.size() - 1);
      const core::Claimed claimed = held[at];
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
      if (prng.one_in(3)) {
        release(claimed);
      } else {
        ack(claimed);
      }
    }
    if (prng.one_in(2)) settle();
    for (std::uint64_t slices = prng.up_to(5); slices > 0; --slices) pass(1);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(store_->stats().cleaned_segments, 20u);
  EXPECT_GT(store_->stats().snapshots, 10u);
  EXPECT_GT(checked_, 500u);
}

// A restart is a workload too: recovery copies, raises the epoch and goes on.
TEST_F(CrashTest, restarts_with_leases_and_failures) {
  enqueue(3, 100);
  auto first = claim();
  ASSERT_TRUE(first);
  driver_->run(core::Fail{first->job, first->token, {.error_class = "x", .message = "boom"}});
  ASSERT_TRUE(store_->sync());
  is_armed_ = true;
  for (int i = 0; i < 3; ++i) {
    reopen();
    enqueue(2, 100);
    const auto claimed = claim();
    ASSERT_TRUE(claimed);
    release(*claimed);
    pass(100);
    const auto again = claim();
    ASSERT_TRUE(again);
    ack(*again);
    settle();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked_, 50u);
}

// The n-th write-side call fails: the store stops with that error, and a new start finds what was
// promised.
TEST_F(CrashTest, a_failing_call_stops_the_store_and_loses_nothing) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem memory;
    FaultyFileSystem faulty(memory);
    auto opened = JournalStore::open(faulty, "/data", options(), kTestStart);
    ASSERT_TRUE(opened);
    StoreDriver driver(**opened);
    Promised promised;
    driver.enqueue("q", "warm");
    ASSERT_TRUE((*opened)->sync());
    faulty.fail_write_call(faulty.write_calls() + n, ErrorCode::io_error,
                           FaultyFileSystem::Repeat::for_ever);
    bool has_failed = false;
    for (int i = 0; i < 40 && !has_failed; ++i) {
      const core::JobId id = driver.enqueue("q", std::string(2000, 'x'));
      const auto synced = (*opened)->sync();
      has_failed = driver.failed.has_value() || !synced;
      if (!has_failed) {
        promised.living.insert(id.value);
        promised.payloads[id.value] = std::string(2000, 'x');
      } else {
        EXPECT_EQ((*opened)->sync().error().code, ErrorCode::io_error) << n;
      }
    }
    if (!has_failed) break;
    auto image = memory.crash_image(CrashKind::nothing_unsynced, n);
    auto again = JournalStore::open(*image, "/data", options(), kTestStart);
    ASSERT_TRUE(again) << n << ": " << again.error().detail;
    for (const std::uint64_t id : promised.living) {
      EXPECT_TRUE((*again)->read_body(core::JobId{id})) << n;
    }
  }
}

}  // namespace
}  // namespace weir::store::journal
