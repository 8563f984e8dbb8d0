// SPDX-License-Identifier: Apache-2.0
// The log at work: what is appended comes back, whole and in order, over restarts, recycling,
// reserves and backups.
#include "store/journal/log.h"

#include <gtest/gtest.h>

#include "store/journal/log_test_support.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {
namespace {

std::vector<TestCommit> without_seals(std::vector<TestCommit> commits) {
  std::erase_if(commits, [](const TestCommit& commit) { return commit.body.empty(); });
  return commits;
}

TEST(log, commits_come_back_whole_and_in_order_after_a_clean_stop) {
  MemoryFileSystem files;
  std::vector<TestCommit> written;
  {
    OpenedLog opened = open_log(files);
    ASSERT_TRUE(opened.log) << opened.error.detail;
    EXPECT_TRUE(opened.report.created);
    for (std::uint64_t i = 1; i <= 60; ++i) {
      const SegmentKind kind = i % 3 == 0 ? SegmentKind::cold : SegmentKind::hot;
      written.push_back(append_commit(*opened.log, test_body(i, i * 97), kind));
      if (i % 7 == 0) {
        ASSERT_TRUE(opened.log->sync());
        EXPECT_EQ(opened.log->durable_seq(), i);
      }
    }
    ASSERT_TRUE(opened.log->close(3, test_now()));
  }
  for (int round = 0; round < 3; ++round) {
    OpenedLog again = open_log(files, test_options(2));
    ASSERT_TRUE(again.log) << again.error.detail;
    EXPECT_TRUE(again.report.clean_stop);
    EXPECT_EQ(again.report.cut_bytes, 0u);
    EXPECT_EQ(without_seals(again.replayed), written);
    ASSERT_TRUE(again.log->close(3, test_now()));
  }
}

TEST(log, what_was_said_of_a_commit_comes_back_with_it) {
  MemoryFileSystem files;
  Location at;
  {
    OpenedLog opened = open_log(files);
    append_commit(*opened.log, "first");
    ASSERT_TRUE(opened.log->sync());
    at = *opened.log->append("second", SegmentKind::cold, Reserve::none, 77,
                             {.wall = WallTime{123}, .store = StoreTime{456}});
    ASSERT_TRUE(opened.log->close(77, test_now()));
  }
  OpenedLog again = open_log(files);
  ASSERT_GE(again.infos.size(), 2u);
  const CommitInfo& info = again.infos[1];
  EXPECT_EQ(info.seq, 2u);
  EXPECT_EQ(info.durable_seq, 1u);
  EXPECT_EQ(info.epoch, 77u);
  EXPECT_EQ(info.wall_time, WallTime{123});
  EXPECT_EQ(info.store_time, StoreTime{456});
  EXPECT_EQ(info.kind, SegmentKind::cold);
  EXPECT_EQ(info.segment, at.segment);
  EXPECT_EQ(info.commit_offset, at.commit_offset);
}

TEST(log, a_body_over_several_frames_is_read_back_in_any_piece) {
  MemoryFileSystem files;
  LogOptions options = test_options();
  options.segment_bytes = 4u << 20;
  const std::string body = test_body(5, (1u << 20) + 12345);
  for (const bool reopened : {false, true}) {
    OpenedLog opened = open_log(files, options);
    ASSERT_TRUE(opened.log) << opened.error.detail;
    Location at;
    if (!reopened) {
      append_commit(*opened.log, "before");
      at = *opened.log->append(body, SegmentKind::hot, Reserve::none, 1, test_now());
    } else {
      ASSERT_EQ(opened.replayed.size(), 3u);
      EXPECT_EQ(opened.replayed[1].body, body);
      at = {opened.infos[1].segment, opened.infos[1].commit_offset, 0,
            static_cast<std::uint32_t>(body.size())};
    }
    Prng prng(8);
    for (int i = 0; i < 200; ++i) {
      Location piece = at;
      piece.body_offset = static_cast<std::uint32_t>(prng.up_to(body.size()));
      piece.length = static_cast<std::uint32_t>(prng.up_to(body.size() - piece.body_offset));
      const auto text = opened.log->read(piece, i % 2 == 0);
      ASSERT_TRUE(text) << text.error().detail;
      EXPECT_EQ(*text, body.substr(piece.body_offset, piece.length));
    }
    Location beyond = at;
    beyond.length += kBlockBytes;
    EXPECT_FALSE(opened.log->read(beyond, true));
    ASSERT_TRUE(opened.log->close(1, test_now()));
  }
}

TEST(log, the_largest_commit_fits_and_one_byte_more_is_refused) {
  for (const std::uint32_t segment_bytes : {kTestSegmentBytes, 2u << 20}) {
    MemoryFileSystem files;
    LogOptions options = test_options();
    options.segment_bytes = segment_bytes;
    OpenedLog opened = open_log(files, options);
    const std::string body = test_body(1, log_body_bytes_max(segment_bytes));
    const TestCommit commit = append_commit(*opened.log, body);
    const auto refused =
        opened.log->append(body + "x", SegmentKind::hot, Reserve::none, 1, test_now());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::too_large);
    ASSERT_TRUE(opened.log->close(1, test_now()));
    opened.log.reset();
    EXPECT_EQ(open_log(files, options).replayed.front(), commit);
  }
}

TEST(log, files_are_recycled_and_their_old_commits_do_not_come_back) {
  MemoryFileSystem files;
  OpenedLog opened = open_log(files);
  std::vector<TestCommit> kept;
  std::size_t most_files = 0;
  for (std::uint64_t i = 1; i <= 400; ++i) {
    kept.push_back(append_commit(*opened.log, test_body(i, 3000)));
    ASSERT_TRUE(opened.log->sync());
    for (const SegmentInfo& segment : opened.log->segments()) {
      if (segment.is_active || opened.log->segments().size() < 3) continue;
      ASSERT_TRUE(opened.log->free_segment(segment.number));
      std::erase_if(kept, [&](const TestCommit& c) { return c.seq <= segment.last_seq; });
    }
    ASSERT_TRUE(opened.log->prepare_spares());
    most_files = std::max(most_files, files.paths().size());
  }
  EXPECT_LE(most_files, 12u);  // 2 or 3 in use, 5 ready, 2 manifests
  opened.log.reset();          // no clean stop
  OpenedLog again = open_log(files, test_options(2));
  ASSERT_TRUE(again.log) << again.error.detail;
  EXPECT_EQ(again.replayed, kept);
}

TEST(log, a_pinned_segment_stays_until_it_is_unpinned) {
  MemoryFileSystem files;
  OpenedLog opened = open_log(files);
  Log& log = *opened.log;
  const TestCommit first = append_commit(log, test_body(1, 20000));
  for (std::uint64_t i = 2; i <= 6; ++i) append_commit(log, test_body(i, 20000));
  ASSERT_TRUE(log.sync());
  const SegmentInfo segment = log.segments().front();
  log.pin(segment.number);
  ASSERT_TRUE(log.free_segment(segment.number));
  EXPECT_EQ(log.free_segment(segment.number).error().code, ErrorCode::not_found);
  EXPECT_NE(log.segments().front().number, segment.number);
  for (std::uint64_t i = 7; i <= 20; ++i) {
    append_commit(log, test_body(i, 20000));
    ASSERT_TRUE(log.prepare_spares());
  }
  const Location at{segment.number, kSegmentDataOffset, 0, 20000};
  EXPECT_EQ(*log.read(at, true), first.body);
  log.unpin(segment.number);
  ASSERT_TRUE(log.prepare_spares());
  EXPECT_EQ(log.read(at, true).error().code, ErrorCode::corruption);
  EXPECT_EQ(log.free_segment(log.segments().back().number).error().code, ErrorCode::conflict);
}

TEST(log, a_segment_is_replayed_again_for_the_cleaner) {
  MemoryFileSystem files;
  OpenedLog opened = open_log(files);
  std::vector<TestCommit> written;
  for (std::uint64_t i = 1; i <= 9; ++i) {
    written.push_back(append_commit(*opened.log, test_body(i, 6000)));
  }
  std::vector<TestCommit> seen;
  for (const SegmentInfo& segment : opened.log->segments()) {
    ASSERT_TRUE(opened.log->replay_segment(
        segment.number, [&](const CommitInfo& info, std::string_view body) -> Result<void> {
          EXPECT_EQ(info.segment, segment.number);
          seen.push_back({info.seq, info.kind, std::string(body)});
          return {};
        }));
  }
  EXPECT_EQ(seen, written);
  const auto stopped =
      opened.log->replay_segment(1, [](const CommitInfo&, std::string_view) -> Result<void> {
        return failure(ErrorCode::gone, "enough");
      });
  EXPECT_EQ(stopped.error().code, ErrorCode::gone);
}

TEST(log, reading_with_check_finds_damage_in_a_running_store) {
  MemoryFileSystem files;
  OpenedLog opened = open_log(files);
  const auto at =
      opened.log->append(test_body(1, 5000), SegmentKind::hot, Reserve::none, 1, test_now());
  for (const std::string& path : files.paths()) {
    std::string bytes = files.content(path);
    const std::size_t found = bytes.find(test_body(1, 5000));
    if (found == std::string::npos) continue;
    bytes[found + 4999] ^= 1;
    files.set_content(path, bytes);
  }
  EXPECT_EQ(opened.log->read({at->segment, at->commit_offset, 0, 10}, true).error().code,
            ErrorCode::corruption);
  EXPECT_TRUE(opened.log->read({at->segment, at->commit_offset, 0, 10}, false));
}

TEST(log, the_note_is_durable_when_it_is_set) {
  MemoryFileSystem files;
  OpenedLog opened = open_log(files);
  const std::string note = test_body(3, 4096);
  EXPECT_EQ(opened.log->manifest_note(), "");
  ASSERT_TRUE(opened.log->set_manifest_note(note));
  EXPECT_EQ(opened.log->set_manifest_note(note + "x").error().code, ErrorCode::too_large);
  const auto image = files.crash_image(CrashKind::nothing_unsynced, 1);
  const Hash128 key = opened.log->store_key();
  OpenedLog again = open_log(*image);
  EXPECT_EQ(again.log->manifest_note(), note);
  EXPECT_EQ(again.log->store_key(), key);
}

TEST(log, a_directory_is_opened_by_one_at_a_time_and_only_where_a_store_may_be) {
  MemoryFileSystem files;
  EXPECT_EQ(open_log(files, {.create = false}).error.code, ErrorCode::not_found);
  EXPECT_TRUE(files.paths().empty());
  OpenedLog opened = open_log(files);
  EXPECT_EQ(open_log(files).error.code, ErrorCode::conflict);
  opened.log.reset();
  EXPECT_TRUE(open_log(files, {.create = false}).log);
  files.set_content("/other/file", "of somebody else");
  ASSERT_TRUE(files.make_directory("/other"));
  EXPECT_EQ(open_log(files, test_options(), "/other").error.code, ErrorCode::conflict);
  EXPECT_EQ(files.content("/other/file"), "of somebody else");
}

TEST(log, an_error_of_the_replay_ends_the_opening) {
  MemoryFileSystem files;
  append_commit(*open_log(files).log, "one");
  RecoveryReport report;
  const auto log = Log::open(
      files, kTestDirectory, test_options(2),
      [](const CommitInfo&, std::string_view) -> Result<void> {
        return failure(ErrorCode::corruption, "no such record");
      },
      report);
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().detail, "no such record");
  EXPECT_EQ(open_log(files).replayed.size(), 1u);
}

TEST(log, a_store_opened_to_read_only_changes_nothing) {
  MemoryFileSystem files;
  {
    OpenedLog opened = open_log(files);
    append_commit(*opened.log, "one");
    append_commit(*opened.log, "two", SegmentKind::cold);
  }
  const std::uint64_t calls = files.write_calls();
  OpenedLog opened = open_log(files, {.read_only = true});
  EXPECT_EQ(opened.replayed.size(), 2u);
  EXPECT_EQ(*opened.log->read({opened.infos[1].segment, opened.infos[1].commit_offset, 0, 3}, true),
            "two");
  EXPECT_FALSE(opened.log->append("x", SegmentKind::hot, Reserve::none, 1, test_now()));
  EXPECT_FALSE(opened.log->prepare_spares());
  opened.log.reset();
  EXPECT_EQ(files.write_calls(), calls);
}

TEST(log, a_backup_ends_at_its_commit_and_opens_as_a_store) {
  MemoryFileSystem files, other;
  OpenedLog opened = open_log(files);
  std::vector<TestCommit> written;
  for (std::uint64_t i = 1; i <= 30; ++i) {
    const SegmentKind kind = i % 4 == 0 ? SegmentKind::cold : SegmentKind::hot;
    written.push_back(append_commit(*opened.log, test_body(i, 5000), kind));
  }
  ASSERT_TRUE(opened.log->set_manifest_note("note"));
  ASSERT_TRUE(opened.log->sync());
  EXPECT_FALSE(opened.log->copy_to(other, "/b/none", 31));
  for (const std::uint64_t seq : {1u, 7u, 29u, 30u}) {
    const std::string target = "/b/" + std::to_string(seq);
    const auto copied = opened.log->copy_to(other, target, seq);
    ASSERT_TRUE(copied) << copied.error().detail;
    EXPECT_EQ(opened.log->copy_to(other, target, seq).error().code, ErrorCode::conflict);
    // What was copied is durable.
    const auto image = other.crash_image(CrashKind::nothing_unsynced, 1);
    OpenedLog copy = open_log(*image, test_options(5), target);
    ASSERT_TRUE(copy.log) << copy.error.detail;
    EXPECT_EQ(copy.replayed,
              std::vector<TestCommit>(written.begin(), written.begin() + static_cast<int>(seq)));
    EXPECT_EQ(copy.log->manifest_note(), "note");
    EXPECT_EQ(append_commit(*copy.log, "goes on").seq, seq + 1);
  }
  append_commit(*opened.log, "the log goes on too");
  ASSERT_TRUE(opened.log->sync());
}

TEST(log, a_backup_to_a_full_disk_fails_and_the_log_goes_on) {
  MemoryFileSystem files, target_disk;
  FaultyFileSystem target(target_disk);
  target.set_quota(10000);
  OpenedLog opened = open_log(files);
  append_commit(*opened.log, test_body(1, 20000));
  ASSERT_TRUE(opened.log->sync());
  EXPECT_EQ(opened.log->copy_to(target, "/b", 1).error().code, ErrorCode::store_full);
  append_commit(*opened.log, "on");
  EXPECT_TRUE(opened.log->sync());
}

// Fills a store until new work is refused. Returns the number of commits.
std::uint64_t fill_up(Log& log) {
  for (std::uint64_t i = 1;; ++i) {
    const auto at = log.append(test_body(i, 12000), SegmentKind::hot, Reserve::none, 1, test_now());
    if (at) continue;
    EXPECT_EQ(at.error().code, ErrorCode::store_full) << at.error().detail;
    return i - 1;
  }
}

TEST(log, a_full_disk_refuses_new_work_keeps_reserves_and_recovers_by_itself) {
  for (const bool by_quota : {true, false}) {
    MemoryFileSystem disk;
    FaultyFileSystem files(disk);
    LogOptions options = test_options();
    constexpr std::uint64_t kRoom = 10 * kTestSegmentBytes;
    if (by_quota) {
      options.disk_bytes_max = kRoom;
    } else {
      files.set_quota(kRoom + 140'000);
    }
    OpenedLog opened = open_log(files, options);
    ASSERT_TRUE(opened.log) << opened.error.detail;
    Log& log = *opened.log;
    EXPECT_FALSE(log.is_full());
    const std::uint64_t commits = fill_up(log);
    EXPECT_GE(commits, 12u);
    EXPECT_TRUE(log.is_full());
    EXPECT_LE(log.disk_bytes(), kRoom + (by_quota ? 0 : kTestSegmentBytes));
    // Workers and the cleaner go on, each in its own segment; new work stays refused though there
    // is room in them.
    const std::string body = test_body(99, 12000);
    ASSERT_TRUE(log.append(body, SegmentKind::hot, Reserve::workers, 1, test_now()));
    ASSERT_TRUE(log.append(body, SegmentKind::cold, Reserve::cleaner, 1, test_now()));
    EXPECT_EQ(log.append("", SegmentKind::hot, Reserve::none, 1, test_now()).error().code,
              ErrorCode::store_full);
    ASSERT_TRUE(log.append(body, SegmentKind::hot, Reserve::workers, 1, test_now()));
    EXPECT_EQ(log.append(body, SegmentKind::hot, Reserve::workers, 1, test_now()).error().code,
              ErrorCode::store_full);
    ASSERT_TRUE(log.sync());
    const std::uint64_t last_seq = log.last_seq();
    // A restart finds its way too: recovery has a segment of its own.
    opened.log.reset();
    options.prng_seed = 2;
    OpenedLog again = open_log(files, options);
    ASSERT_TRUE(again.log) << again.error.detail;
    EXPECT_EQ(again.log->last_seq(), last_seq);
    EXPECT_EQ(again.replayed.size(), last_seq);
    // Room comes back: here because the cleaner gives segments back.
    for (const SegmentInfo& segment : again.log->segments()) {
      if (segment.is_active) continue;
      ASSERT_TRUE(again.log->free_segment(segment.number));
    }
    for (bool more = true; more;) more = *again.log->prepare_spares();
    EXPECT_FALSE(again.log->is_full());
    EXPECT_TRUE(again.log->append(body, SegmentKind::hot, Reserve::none, 1, test_now()));
    ASSERT_TRUE(again.log->sync());
  }
}

TEST(log, room_that_comes_back_on_the_disk_is_found_by_the_next_try) {
  MemoryFileSystem disk;
  FaultyFileSystem files(disk);
  files.set_quota(10 * kTestSegmentBytes + 140'000);
  OpenedLog opened = open_log(files);
  fill_up(*opened.log);
  EXPECT_FALSE(*opened.log->prepare_spares());
  EXPECT_TRUE(opened.log->is_full());
  files.set_quota(0);
  for (bool more = true; more;) more = *opened.log->prepare_spares();
  EXPECT_FALSE(opened.log->is_full());
  append_commit(*opened.log, test_body(1, 12000));
  EXPECT_TRUE(opened.log->sync());
}

}  // namespace
}  // namespace weir::store::journal
