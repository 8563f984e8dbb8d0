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

}  // namespace
}  // namespace weir::store::journal
