// SPDX-License-Identifier: Apache-2.0
// Loading ahead: in whatever order segments are asked for, whole, and never many at once.
#include "store/journal/segment_load.h"

#include <gtest/gtest.h>

#include "store/journal/log_test_support.h"
#include "store/journal/manifest.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {
namespace {

// A log of many full segments, and what its manifest says of them.
class SegmentLoadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    OpenedLog opened = open_log(files_);
    for (std::uint64_t i = 1; i <= 24; ++i) {
      append_commit(*opened.log, test_body(i, 20'000));
    }
    ASSERT_TRUE(opened.log->close(1, test_now()));
    opened.log.reset();
    ManifestFiles manifests(files_, kTestDirectory);
    manifest_ = *manifests.load()->manifest;
    ASSERT_GT(manifest_.entries.size(), 20u);
  }

  MemoryFileSystem files_;
  Manifest manifest_;
};

TEST_F(SegmentLoadTest, any_order_gives_each_segment_whole) {
  SegmentLoader loader(files_, kTestDirectory, manifest_.store_key);
  for (const ManifestEntry& entry : manifest_.entries) loader.add(entry);
  std::vector<std::uint32_t> numbers;
  for (const ManifestEntry& entry : manifest_.entries) numbers.push_back(entry.number);
  std::swap(numbers.front(), numbers.back());
  std::swap(numbers[3], numbers[12]);
  std::uint64_t commits = 0;
  for (const std::uint32_t number : numbers) {
    auto loaded = loader.take(number);
    ASSERT_TRUE(loaded) << loaded.error().detail;
    for (const FoundCommit& commit : loaded->checked.commits) {
      EXPECT_EQ(commit.frame.segment, number);
      if (commit.body.empty()) continue;  // the end mark
      EXPECT_EQ(commit.body, test_body(commit.frame.seq, 20'000));
      ++commits;
    }
    loader.recycle(std::move(*loaded));
  }
  EXPECT_EQ(commits, 24u);
}

// Its memory is bounded: the loader ends when all that it had begun is there.
TEST_F(SegmentLoadTest, a_few_are_read_ahead_and_no_more) {
  FaultyFileSystem counting(files_);
  {
    SegmentLoader loader(counting, kTestDirectory, manifest_.store_key);
    for (const ManifestEntry& entry : manifest_.entries) loader.add(entry);
    ASSERT_TRUE(loader.take(manifest_.entries.front().number));
  }
  EXPECT_EQ(counting.read_calls(), 1 + SegmentLoader::kAheadMax);
}

TEST_F(SegmentLoadTest, a_flaw_ends_the_list_where_it_is) {
  const ManifestEntry& entry = manifest_.entries[4];
  const std::string path = slot_path(kTestDirectory, entry.slot);
  std::string bytes = files_.content(path);
  bytes[kSegmentDataOffset + 5'000] ^= 1;
  files_.set_content(path, bytes);
  SegmentLoader loader(files_, kTestDirectory, manifest_.store_key);
  for (const ManifestEntry& each : manifest_.entries) loader.add(each);
  const auto loaded = loader.take(entry.number);
  ASSERT_TRUE(loaded) << loaded.error().detail;
  EXPECT_TRUE(loaded->checked.commits.empty());
  EXPECT_EQ(loaded->checked.end, kSegmentDataOffset);
}

TEST_F(SegmentLoadTest, a_file_that_is_too_short_is_damage) {
  const ManifestEntry& entry = manifest_.entries[2];
  const std::string path = slot_path(kTestDirectory, entry.slot);
  files_.set_content(path, files_.content(path).substr(0, 8'192));
  SegmentLoader loader(files_, kTestDirectory, manifest_.store_key);
  for (const ManifestEntry& each : manifest_.entries) loader.add(each);
  const auto loaded = loader.take(entry.number);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::corruption);
}

}  // namespace
}  // namespace weir::store::journal
