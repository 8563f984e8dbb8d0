// SPDX-License-Identifier: Apache-2.0
// Power cuts at every write-side call, rebuilt in four ways, and calls that fail at every place.
// Property: what sync() had covered is there, whole and equal; of the rest a prefix in order; and a
// second opening finds the same.
#include <gtest/gtest.h>

#include <functional>

#include "store/journal/log_test_support.h"

namespace weir::store::journal {
namespace {

constexpr std::uint64_t kRandomImages = 4;

// What a workload has done so far: kept outside the product.
struct Expected {
  std::vector<TestCommit> commits;  // all that were handed to append(), whether it answered or not
  std::uint64_t durable = 0;        // how many of them sync() had covered
  std::uint64_t freed_up_to = 0;    // commits up to here may be gone, their segment was given back
};

using Workload = std::function<void(FileSystem&, Expected&)>;

void append_step(Log& log, Expected& expected, std::string body, SegmentKind kind, bool sync) {
  expected.commits.push_back({log.last_seq() + 1, kind, std::move(body)});
  if (!log.append(expected.commits.back().body, kind, Reserve::none, 1, test_now())) return;
  if (sync && log.sync()) expected.durable = expected.commits.size();
}

// Short commits, synced one by one and in groups, then a clean stop and a second life.
void small_commits(FileSystem& files, Expected& expected) {
  for (std::uint64_t life = 1; life <= 2; ++life) {
    OpenedLog opened = open_log(files, test_options(life));
    if (!opened.log) return;
    for (std::uint64_t i = 1; i <= 12; ++i) {
      const SegmentKind kind = i % 4 == 0 ? SegmentKind::cold : SegmentKind::hot;
      append_step(*opened.log, expected, test_body(life * 100 + i, i * 200), kind, i % 3 != 1);
    }
    expected.commits.push_back({opened.log->last_seq() + 1, SegmentKind::hot, {}});
    if (opened.log->close(1, test_now())) expected.durable = expected.commits.size();
  }
}

// Commits that fill segments, so that new ones are taken in mid-work; some segments are given back
// and recycled.
void many_segments(FileSystem& files, Expected& expected) {
  OpenedLog opened = open_log(files, test_options(7));
  if (!opened.log) return;
  for (std::uint64_t i = 1; i <= 24; ++i) {
    append_step(*opened.log, expected, test_body(i, 5000 + i * 250), SegmentKind::hot, i % 2 == 0);
    if (i % 5 != 0) continue;
    const auto segments = opened.log->segments();
    if (segments.size() < 3) continue;
    expected.freed_up_to = segments.front().last_seq;
    if (!opened.log->free_segment(segments.front().number)) return;
    if (!opened.log->prepare_spares()) return;
  }
}

// Large commits of several sectors and blocks that are never synced but by the taking of segments,
// and notes.
void unsynced_and_notes(FileSystem& files, Expected& expected) {
  OpenedLog opened = open_log(files, test_options(9));
  if (!opened.log) return;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    const SegmentKind kind = i % 3 == 0 ? SegmentKind::cold : SegmentKind::hot;
    append_step(*opened.log, expected, test_body(i, 10000), kind, i == 5);
    if (i % 4 == 0 && !opened.log->set_manifest_note(test_body(i, 1500))) return;
  }
}

// The commits that must and may be there. An image is of the moment before a call, when `expected`
// may be a step ahead of it: append() of the last commit may not have happened.
void check_image(MemoryFileSystem& image, const Expected& expected, const std::string& what) {
  std::vector<TestCommit> first;
  for (std::uint64_t opening = 1; opening <= 2; ++opening) {
    OpenedLog opened = open_log(image, test_options(1000 + opening));
    ASSERT_TRUE(opened.log) << what << ": " << opened.error.detail;
    const auto& found = opened.replayed;
    std::size_t begin = 0;
    while (begin < expected.freed_up_to && begin < expected.commits.size() &&
           (found.empty() || expected.commits[begin] != found.front())) {
      begin += 1;
    }
    ASSERT_LE(begin + found.size(), expected.commits.size()) << what;
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i], expected.commits[begin + i]) << what << ", commit " << i;
    }
    ASSERT_GE(begin + found.size(), expected.durable) << what;
    if (opening == 1) first = found;
    ASSERT_EQ(found, first) << what;
  }
  // It goes on from there.
  OpenedLog opened = open_log(image, test_options(2000));
  ASSERT_TRUE(opened.log) << what << ": " << opened.error.detail;
  append_commit(*opened.log, "goes on");
  ASSERT_TRUE(opened.log->sync()) << what;
}

void crash_everywhere(const Workload& workload) {
  MemoryFileSystem disk;
  FaultyFileSystem files(disk);
  Expected expected;
  std::uint64_t images = 0;
  const auto check = [&](std::uint64_t call, std::string_view operation, const std::string& path) {
    if (testing::Test::HasFatalFailure()) return;
    const auto look = [&](CrashKind kind, std::uint64_t seed) {
      const auto image = disk.crash_image(kind, seed);
      images += 1;
      check_image(*image, expected,
                  "call " + std::to_string(call) + " (" + std::string(operation) + " " + path +
                      "), way " + std::to_string(static_cast<int>(kind)) + ", seed " +
                      std::to_string(seed));
    };
    look(CrashKind::nothing_unsynced, 0);
    look(CrashKind::everything, 0);
    for (std::uint64_t seed = 1; seed <= kRandomImages; ++seed) {
      look(CrashKind::random_subset, call * 100 + seed);
      look(CrashKind::torn_last_write, call * 100 + seed);
    }
  };
  files.set_hook(check);
  workload(files, expected);
  check(files.write_calls() + 1, "end", "");
  EXPECT_GT(images, 100u);
}

TEST(log_crash, small_commits_survive_a_crash_at_every_call) { crash_everywhere(small_commits); }
TEST(log_crash, taking_and_recycling_survives_a_crash_at_every_call) {
  crash_everywhere(many_segments);
}
TEST(log_crash, unsynced_commits_vanish_only_as_a_suffix) { crash_everywhere(unsynced_and_notes); }

TEST(log_crash, recovery_itself_survives_a_crash_at_every_call) {
  MemoryFileSystem disk;
  Expected expected;
  unsynced_and_notes(disk, expected);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto crashed = disk.crash_image(CrashKind::random_subset, seed);
    FaultyFileSystem files(*crashed);
    files.set_hook([&](std::uint64_t call, std::string_view, const std::string&) {
      if (testing::Test::HasFatalFailure()) return;
      for (std::uint64_t again = 1; again <= kRandomImages; ++again) {
        const auto image = crashed->crash_image(CrashKind::random_subset, call * 10 + again);
        check_image(*image, expected, "recovery call " + std::to_string(call));
      }
      check_image(*crashed->crash_image(CrashKind::nothing_unsynced, 0), expected,
                  "recovery call " + std::to_string(call) + ", nothing unsynced");
    });
    ASSERT_TRUE(open_log(files, test_options(50)).log);
  }
}

// kill -9 leaves unsynced bytes in the page cache: recovery reads them, and then the power goes.
// Nothing may rest on them.
TEST(log_crash, a_kill_and_then_a_power_cut_during_recovery_lose_nothing) {
  // Every call of the workload with the long manifests, a sample of the others: they take a while.
  const std::pair<Workload, std::uint64_t> runs[] = {
      {unsynced_and_notes, 1}, {small_commits, 4}, {many_segments, 4}};
  for (const auto& [workload, step] : runs) {
    for (std::uint64_t n = 1;; n += step) {
      MemoryFileSystem disk;
      Expected expected;
      {
        FaultyFileSystem killed(disk);  // from the n-th call on nothing reaches the files, as for a
                                        // process that is gone
        killed.fail_write_call(n, ErrorCode::io_error, FaultyFileSystem::Repeat::for_ever);
        workload(killed, expected);
        if (!killed.has_failed()) break;
      }
      FaultyFileSystem files(disk);
      files.set_hook([&](std::uint64_t call, std::string_view, const std::string&) {
        if (testing::Test::HasFatalFailure()) return;
        const std::string what =
            "killed at " + std::to_string(n) + ", power cut at " + std::to_string(call);
        check_image(*disk.crash_image(CrashKind::nothing_unsynced, 0), expected, what);
        check_image(*disk.crash_image(CrashKind::random_subset, n * 1000 + call), expected, what);
        check_image(*disk.crash_image(CrashKind::torn_last_write, n * 1000 + call), expected, what);
      });
      ASSERT_TRUE(open_log(files, test_options(60)).log);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// The n-th call fails, for n = 1, 2, … until none does.
void fail_everywhere(const Workload& workload, ErrorCode code, FaultyFileSystem::Repeat repeat) {
  for (std::uint64_t n = 1;; ++n) {
    MemoryFileSystem disk;
    FaultyFileSystem files(disk);
    files.fail_write_call(n, code, repeat);
    Expected expected;
    workload(files, expected);
    if (!files.has_failed()) {
      EXPECT_GT(n, 20u);
      return;
    }
    for (const CrashKind kind : {CrashKind::nothing_unsynced, CrashKind::everything}) {
      // An append that failed may be there or not, so may what was refused behind it not be
      // expected at all.
      check_image(*disk.crash_image(kind, n), expected, "failure of call " + std::to_string(n));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// As small_commits, but leaves at the first refusal: what was never handed in can't be expected.
void until_refused(FileSystem& files, Expected& expected) {
  OpenedLog opened = open_log(files, test_options(3));
  if (!opened.log) return;
  for (std::uint64_t i = 1; i <= 14; ++i) {
    const SegmentKind kind = i % 4 == 0 ? SegmentKind::cold : SegmentKind::hot;
    expected.commits.push_back({opened.log->last_seq() + 1, kind, test_body(i, i * 1500)});
    const auto appended =
        opened.log->append(expected.commits.back().body, kind, Reserve::none, 1, test_now());
    if (!appended && appended.error().code == ErrorCode::store_full) {
      expected.commits.pop_back();  // nothing was written
      continue;
    }
    if (!appended || !opened.log->sync()) {
      // Stopped: from now on everything is refused with the same code.
      EXPECT_EQ(opened.log->sync().error().code, ErrorCode::io_error);
      EXPECT_EQ(opened.log->append("x", kind, Reserve::workers, 1, test_now()).error().code,
                ErrorCode::io_error);
      EXPECT_EQ(opened.log->prepare_spares().error().code, ErrorCode::io_error);
      EXPECT_EQ(opened.log->set_manifest_note("x").error().code, ErrorCode::io_error);
      EXPECT_EQ(opened.log->free_segment(1).error().code, ErrorCode::io_error);
      EXPECT_FALSE(opened.log->close(1, test_now()));
      return;
    }
    expected.durable = expected.commits.size();
  }
  expected.commits.push_back({opened.log->last_seq() + 1, SegmentKind::hot, {}});
  if (!opened.log->close(1, test_now())) return;
  if (opened.log->last_seq() < expected.commits.back().seq) expected.commits.pop_back();
  expected.durable = expected.commits.size();
}

TEST(log_crash, a_failing_call_anywhere_loses_nothing_that_was_synced) {
  for (const ErrorCode code : {ErrorCode::io_error, ErrorCode::store_full}) {
    for (const auto repeat : {FaultyFileSystem::Repeat::once, FaultyFileSystem::Repeat::for_ever}) {
      fail_everywhere(until_refused, code, repeat);
    }
  }
}

TEST(log_crash, a_failing_read_at_opening_is_told_and_changes_nothing) {
  MemoryFileSystem disk;
  Expected expected;
  small_commits(disk, expected);
  for (std::uint64_t n = 1;; ++n) {
    const auto copy = disk.crash_image(CrashKind::everything, 0);
    FaultyFileSystem files(*copy);
    files.fail_read_call(n, ErrorCode::io_error, FaultyFileSystem::Repeat::once);
    OpenedLog opened = open_log(files, test_options(4));
    if (!files.has_failed()) break;
    EXPECT_FALSE(opened.log);
    EXPECT_EQ(opened.error.code, ErrorCode::io_error) << opened.error.detail;
    check_image(*copy, expected, "failure of read " + std::to_string(n));
  }
}

}  // namespace
}  // namespace weir::store::journal
