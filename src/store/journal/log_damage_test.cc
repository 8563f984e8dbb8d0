// SPDX-License-Identifier: Apache-2.0
// Damage to a store at rest: every byte flipped, files cut, lost, swapped and foreign. Property:
// the replay is the same, or the opening is refused with corruption and nothing is changed; never
// silently fewer commits.
#include <gtest/gtest.h>

#include <cstring>

#include "store/journal/log_test_support.h"
#include "store/journal/manifest.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {
namespace {

using Disk = std::unique_ptr<MemoryFileSystem>;

Disk copy_of(const MemoryFileSystem& disk) { return disk.crash_image(CrashKind::everything, 0); }

// A store that was stopped cleanly, with several full segments, both kinds, and segments that were
// recycled.
std::vector<TestCommit> make_store(FileSystem& files, std::uint64_t seed, std::uint32_t commits) {
  OpenedLog opened = open_log(files, test_options(seed));
  EXPECT_TRUE(opened.log) << opened.error.detail;
  for (std::uint64_t i = 1; i <= commits; ++i) {
    const SegmentKind kind = i % 5 == 0 ? SegmentKind::cold : SegmentKind::hot;
    append_commit(*opened.log, test_body(seed * 1000 + i, 200 + i * 100), kind);
    EXPECT_TRUE(opened.log->sync());
  }
  EXPECT_TRUE(opened.log->close(1, test_now()));
  opened.log.reset();
  OpenedLog again = open_log(files, test_options(seed + 1));
  EXPECT_TRUE(again.log->close(1, test_now()));
  again.log.reset();
  return open_log(files, {.read_only = true}).replayed;
}

// Everything but the lock.
std::vector<std::pair<std::string, std::uint32_t>> contents(const MemoryFileSystem& disk) {
  std::vector<std::pair<std::string, std::uint32_t>> all;
  for (const std::string& path : disk.paths()) all.emplace_back(path, crc32c(disk.content(path)));
  return all;
}

// Opens a damaged store both ways. Returns true when it was refused.
bool check_damaged(MemoryFileSystem& disk, const std::vector<TestCommit>& wanted,
                   const std::string& what) {
  const auto before = contents(disk);
  OpenedLog looked = open_log(disk, {.read_only = true});
  EXPECT_EQ(contents(disk), before) << what;
  looked.log.reset();
  OpenedLog opened = open_log(disk, test_options(77));
  EXPECT_EQ(opened.error.code, looked.error.code) << what << ": " << looked.error.detail;
  EXPECT_TRUE(opened.replayed == looked.replayed) << what;
  if (!opened.log) {
    EXPECT_EQ(opened.error.code, ErrorCode::corruption) << what << ": " << opened.error.detail;
    EXPECT_NE(opened.error.detail.find(kTestDirectory), std::string::npos) << opened.error.detail;
    EXPECT_EQ(contents(disk), before) << what;
    return true;
  }
  EXPECT_EQ(opened.replayed.size(), wanted.size()) << what;
  EXPECT_TRUE(opened.replayed == wanted) << what;
  return false;
}

TEST(log_damage, a_flip_of_any_byte_is_repaired_or_refused) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 1, 12);
  ASSERT_GE(wanted.size(), 12u);
  std::uint64_t refused = 0, repaired = 0;
  for (const std::string& path : disk.paths()) {
    const std::string good = disk.content(path);
    Disk damaged;
    // Every byte where there is something, and a sample of the zeros.
    for (std::size_t at = 0; at < good.size(); at += good[at] == 0 ? 127 : 1) {
      if (testing::Test::HasFailure()) return;
      if (!damaged) damaged = copy_of(disk);
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      damaged->set_content(path, bad);
      if (check_damaged(*damaged, wanted, path + " byte " + std::to_string(at))) {
        refused += 1;
      } else {
        repaired += 1;
        damaged.reset();  // it was written to
      }
    }
  }
  EXPECT_GT(refused, 5'000u);
  EXPECT_GT(repaired, 1'000u);
}

TEST(log_damage, a_segment_cut_at_any_block_is_refused_or_not_missed) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 2, 12);
  for (const std::string& path : disk.paths()) {
    const std::string good = disk.content(path);
    for (std::size_t size = 0; size < good.size(); size += kBlockBytes / 2) {
      const Disk damaged = copy_of(disk);
      damaged->set_content(path, good.substr(0, size));
      check_damaged(*damaged, wanted, path + " cut to " + std::to_string(size));
    }
  }
}

TEST(log_damage, any_file_may_be_missing_without_being_missed_silently) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 3, 20);
  std::uint64_t refused = 0;
  for (const std::string& path : disk.paths()) {
    const Disk damaged = copy_of(disk);
    ASSERT_TRUE(damaged->remove(path));
    ASSERT_TRUE(damaged->sync_directory(kTestDirectory));
    refused += check_damaged(*damaged, wanted, path + " removed") ? 1 : 0;
  }
  EXPECT_GE(refused, 3u);
  ASSERT_TRUE(disk.remove(kTestDirectory + "/MANIFEST-a"));
  ASSERT_TRUE(disk.remove(kTestDirectory + "/MANIFEST-b"));
  EXPECT_EQ(open_log(disk).error.code, ErrorCode::corruption);
}

TEST(log_damage, swapped_blocks_and_files_are_refused_or_not_missed) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 4, 20);
  std::vector<std::string> segments;
  for (const std::string& path : disk.paths()) {
    if (path.find("segment-") != std::string::npos) segments.push_back(path);
  }
  std::uint64_t refused = 0;
  for (const std::string& a : segments) {
    for (const std::string& b : segments) {
      if (a >= b) continue;
      const Disk damaged = copy_of(disk);
      damaged->set_content(a, disk.content(b));
      damaged->set_content(b, disk.content(a));
      refused += check_damaged(*damaged, wanted, a + " swapped with " + b) ? 1 : 0;
    }
    const std::string good = disk.content(a);
    for (std::size_t at = 0; at + 2 * kBlockBytes <= good.size(); at += kBlockBytes) {
      const Disk damaged = copy_of(disk);
      std::string bad = good;
      std::swap_ranges(bad.begin() + static_cast<std::ptrdiff_t>(at),
                       bad.begin() + static_cast<std::ptrdiff_t>(at + kBlockBytes),
                       bad.begin() + static_cast<std::ptrdiff_t>(at + kBlockBytes));
      damaged->set_content(a, bad);
      check_damaged(*damaged, wanted, a + " block swapped at " + std::to_string(at));
      bad = good;
      std::memset(bad.data() + at, 0, kBlockBytes);
      damaged->set_content(a, bad);
      check_damaged(*damaged, wanted, a + " block zeroed at " + std::to_string(at));
    }
  }
  EXPECT_GT(refused, 3u);
}

TEST(log_damage, segments_of_another_store_are_refused) {
  MemoryFileSystem disk, other;
  const std::vector<TestCommit> wanted = make_store(disk, 5, 20);
  make_store(other, 50, 20);
  for (const std::string& path : disk.paths()) {
    if (path.find("segment-") == std::string::npos) continue;
    const Disk damaged = copy_of(disk);
    damaged->set_content(path, other.content(path));
    OpenedLog opened = open_log(*damaged, test_options(9));
    EXPECT_FALSE(opened.log);
    EXPECT_EQ(opened.error.code, ErrorCode::corruption);
    EXPECT_NE(opened.error.detail.find("another store"), std::string::npos) << opened.error.detail;
  }
}

TEST(log_damage, another_format_is_refused_with_both_numbers_and_no_byte_changed) {
  MemoryFileSystem disk;
  make_store(disk, 6, 3);
  const std::string path = kTestDirectory + "/MANIFEST-b";
  std::string newer = disk.content(path);
  newer[8] = 42;
  std::uint32_t length = 0;
  std::memcpy(&length, newer.data() + 12, sizeof length);
  const std::uint32_t crc =
      crc32c(std::string_view(newer).substr(20, length - 20), crc32c(newer.substr(0, 16)));
  std::memcpy(newer.data() + 16, &crc, sizeof crc);
  disk.set_content(path, newer);
  const auto before = contents(disk);
  const OpenedLog opened = open_log(disk);
  EXPECT_FALSE(opened.log);
  EXPECT_EQ(opened.error.code, ErrorCode::unsupported);
  EXPECT_NE(opened.error.detail.find("42"), std::string::npos) << opened.error.detail;
  EXPECT_NE(opened.error.detail.find("reads format 1"), std::string::npos) << opened.error.detail;
  EXPECT_EQ(contents(disk), before);
}

// The last synced commit n and one that says so behind it: damage. Without the second: a torn tail,
// cut and told.
TEST(log_damage, a_bad_commit_is_damage_only_when_a_later_one_vouches_for_it) {
  for (const bool vouched : {false, true}) {
    MemoryFileSystem disk;
    Location last;
    {
      OpenedLog opened = open_log(disk);
      append_commit(*opened.log, "one");
      last = *opened.log->append("two", SegmentKind::hot, Reserve::none, 1, test_now());
      ASSERT_TRUE(opened.log->sync());
      if (vouched) append_commit(*opened.log, "");  // a seal; need not be synced itself
    }
    for (const std::string& each : disk.paths()) {
      std::string bytes = disk.content(each);
      if (bytes.find("two") == std::string::npos) continue;
      bytes[bytes.find("two")] ^= 1;
      disk.set_content(each, bytes);
    }
    OpenedLog opened = open_log(disk, test_options(2));
    if (vouched) {
      EXPECT_FALSE(opened.log);
      EXPECT_EQ(opened.error.code, ErrorCode::corruption);
      EXPECT_NE(opened.error.detail.find("offset " + std::to_string(last.commit_offset)),
                std::string::npos)
          << opened.error.detail;
      EXPECT_NE(opened.error.detail.find("commit 2"), std::string::npos) << opened.error.detail;
    } else {
      ASSERT_TRUE(opened.log);
      EXPECT_EQ(opened.replayed.size(), 1u);
      EXPECT_EQ(opened.report.cut_bytes, kBlockBytes);
      EXPECT_EQ(opened.report.cut_commits, 1u);
      EXPECT_FALSE(opened.report.note.empty());
    }
  }
}

TEST(log_damage, padding_and_unused_space_may_hold_anything) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 8, 4);
  for (const std::string& path : disk.paths()) {
    std::string bytes = disk.content(path);
    if (path.find("segment-") == std::string::npos) continue;
    bytes[kBlockBytes - 1] = 'x';      // behind the header
    bytes[bytes.size() - 1] = 'x';     // behind the last commit
    bytes[2 * kBlockBytes - 1] = 'x';  // behind a body that ends in its block
    disk.set_content(path, bytes);
  }
  EXPECT_FALSE(check_damaged(disk, wanted, "padding"));
}

TEST(log_damage, a_payload_that_imitates_commits_does_not_confuse) {
  MemoryFileSystem disk;
  std::vector<TestCommit> wanted;
  {
    OpenedLog opened = open_log(disk);
    wanted.push_back(append_commit(*opened.log, test_body(1, 3000)));
    ASSERT_TRUE(opened.log->sync());
    // The bytes of the segment itself, so that whole frames of this very generation start at a
    // block; then a torn write.
    std::string stolen;
    for (const std::string& path : disk.paths()) {
      const std::string bytes = disk.content(path);
      if (bytes.find(wanted[0].body.substr(0, 50)) != std::string::npos) stolen = bytes;
    }
    ASSERT_FALSE(stolen.empty());
    const std::string body =
        std::string(kBlockBytes - kFrameHeaderBytes, 'x') + stolen.substr(kBlockBytes, 8192);
    wanted.push_back(append_commit(*opened.log, body));
    wanted.push_back(append_commit(*opened.log, "after"));
    ASSERT_TRUE(opened.log->sync());
    append_commit(*opened.log, body);  // torn below
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Disk torn = disk.crash_image(CrashKind::torn_last_write, seed);
    std::vector<TestCommit> found = open_log(*torn, test_options(2)).replayed;
    // The tear may have gone through padding only.
    if (found.size() == wanted.size() + 1 && found.back().body == wanted[1].body) found.pop_back();
    EXPECT_TRUE(found == wanted) << seed;
  }
}

TEST(log_damage, random_bytes_in_any_file_never_crash_the_recovery) {
  MemoryFileSystem disk;
  const std::vector<TestCommit> wanted = make_store(disk, 9, 15);
  Prng prng(4711);
  const std::vector<std::string> paths = disk.paths();
  for (int round = 0; round < 2000; ++round) {
    const Disk damaged = copy_of(disk);
    const std::string& path = paths[prng.up_to(paths.size() - 1)];
    std::string bytes = disk.content(path);
    if (bytes.empty()) continue;
    for (std::uint64_t runs = prng.up_to(3) + 1; runs > 0; --runs) {
      const std::size_t at = prng.one_in(2)
                                 ? prng.up_to(bytes.size() - 1)
                                 : prng.up_to(std::min<std::size_t>(bytes.size() - 1, 300));
      const std::size_t length = std::min<std::size_t>(prng.up_to(40) + 1, bytes.size() - at);
      for (std::size_t i = 0; i < length; ++i) bytes[at + i] = static_cast<char>(prng.up_to(255));
    }
    damaged->set_content(path, bytes);
    check_damaged(*damaged, wanted, path + " round " + std::to_string(round));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(log_damage, random_manifests_and_frames_are_refused) {
  Prng prng(42);
  Manifest manifest{.sequence = 3, .segment_bytes = kTestSegmentBytes, .note = "note"};
  manifest.entries.resize(3);
  for (auto& entry : manifest.entries) entry.number = 7;
  const std::string good = encode_manifest(manifest);
  EXPECT_EQ(*decode_manifest(good, "m"), manifest);
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(decode_manifest(std::string_view(good).substr(0, length), "m"));
  }
  for (int round = 0; round < 20000; ++round) {
    std::string bad = good;
    bad[prng.up_to(bad.size() - 1)] ^= static_cast<char>(1 + prng.up_to(254));
    EXPECT_FALSE(decode_manifest(bad, "m"));
  }
  const StreamId id{{1, 2}, 3};
  std::string frame(kBlockBytes, '\0');
  encode_frame(id, {.seq = 5, .body_bytes = 9, .is_last = true}, "the body.", frame.data());
  EXPECT_TRUE(decode_frame(id, frame));
  for (std::size_t length = 0; length < kFrameHeaderBytes + 9; ++length) {
    EXPECT_FALSE(decode_frame(id, std::string_view(frame).substr(0, length)));
  }
  for (std::size_t at = 0; at < kFrameHeaderBytes + 9; ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = frame;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      EXPECT_FALSE(decode_frame(id, bad)) << at;
    }
  }
  EXPECT_FALSE(decode_frame({{1, 2}, 4}, frame));
  EXPECT_FALSE(decode_frame({{1, 3}, 3}, frame));
}

}  // namespace
}  // namespace weir::store::journal
