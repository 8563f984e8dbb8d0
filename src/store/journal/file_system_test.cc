// SPDX-License-Identifier: Apache-2.0
// The ports' promises, over the machine's files and over memory; crash images; planted faults.
#include "store/journal/file_system.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "store/journal/aligned_buffer.h"
#include "store/journal/faulty_file_system.h"
#include "store/journal/memory_file_system.h"

namespace weir::store::journal {
namespace {

// Each test runs over a fresh directory of a real and of a memory file system.
class FileSystems : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!is_real()) {
      ASSERT_TRUE(memory_.make_directory(directory_));
      return;
    }
    std::string name = std::filesystem::temp_directory_path() / "weir-files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    if (is_real()) std::filesystem::remove_all(directory_);
  }
  bool is_real() const { return GetParam(); }
  FileSystem& files() { return is_real() ? real_file_system() : memory_; }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  MemoryFileSystem memory_;
  std::string directory_ = "/directory";
};
INSTANTIATE_TEST_SUITE_P(file_system, FileSystems, testing::Bool(),
                         [](const auto& each) { return each.param ? "real" : "memory"; });

std::string read_all(File& file) {
  std::string bytes(*file.size() + 100, '\0');
  bytes.resize(*file.read(0, bytes.data(), bytes.size(), false));
  return bytes;
}

TEST_P(FileSystems, what_is_written_is_read_buffered_and_direct) {
  auto file = *files().open(path("a"), {.create = true});
  AlignedBuffer out, in;
  out.reserve(2 * 4096);
  in.reserve(2 * 4096);
  std::memset(out.data(), 'd', 2 * 4096);
  ASSERT_TRUE(file->write(4096, {out.data(), 2 * 4096}, true));
  ASSERT_TRUE(file->write(3, "buffered", false));
  ASSERT_TRUE(file->sync());
  EXPECT_EQ(*file->size(), 3u * 4096);
  EXPECT_EQ(*file->read(0, in.data(), 2 * 4096, true), 2u * 4096);
  EXPECT_EQ(std::string(in.data() + 3, 8), "buffered");
  EXPECT_EQ(in.data()[4096], 'd');
  EXPECT_EQ(*file->read(2 * 4096, in.data(), 2 * 4096, true), 4096u);  // short at the end
  EXPECT_EQ(*file->read(9 * 4096, in.data(), 4096, false), 0u);
  // Not aligned, though direct was asked for: still the right bytes.
  ASSERT_TRUE(file->write(5, "odd", true));
  EXPECT_EQ(read_all(*file).substr(3, 8), "buoddred");
  ASSERT_TRUE(file->truncate(10));
  EXPECT_EQ(*file->size(), 10u);
}

TEST_P(FileSystems, opening_obeys_its_mode) {
  EXPECT_EQ(files().open(path("a"), {}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(files().open(path("a"), {.create = true}));
  EXPECT_TRUE(files().open(path("a"), {.create = true}));
  EXPECT_EQ(files().open(path("a"), {.create = true, .exclusive = true}).error().code,
            ErrorCode::conflict);
  auto file = *files().open(path("a"), {.read_only = true});
  EXPECT_EQ(file->write(0, "x", false).error().code, ErrorCode::io_error);
  EXPECT_EQ(files().open(path("none/a"), {.create = true}).error().code, ErrorCode::not_found);
}

TEST_P(FileSystems, directories_list_rename_and_remove) {
  ASSERT_TRUE(files().make_directory(path("x/y/z")));
  ASSERT_TRUE(files().make_directory(path("x/y/z")));
  EXPECT_TRUE(files().exists(path("x/y")));
  ASSERT_TRUE((*files().open(path("b"), {.create = true}))->write(0, "b", false));
  ASSERT_TRUE((*files().open(path("a"), {.create = true}))->write(0, "a", false));
  EXPECT_EQ(*files().list(directory_), (std::vector<std::string>{"a", "b", "x"}));
  ASSERT_TRUE(files().rename(path("a"), path("b")));
  EXPECT_EQ(read_all(**files().open(path("b"), {})), "a");
  EXPECT_FALSE(files().exists(path("a")));
  ASSERT_TRUE(files().sync_directory(directory_));
  ASSERT_TRUE(files().remove(path("b")));
  EXPECT_EQ(files().remove(path("b")).error().code, ErrorCode::not_found);
  EXPECT_EQ(files().list(path("none")).error().code, ErrorCode::not_found);
  EXPECT_GT(*files().free_bytes(directory_), 0u);
}

TEST_P(FileSystems, a_directory_is_locked_once_until_the_lock_goes) {
  auto lock = files().lock_directory(directory_);
  ASSERT_TRUE(lock);
  const auto second = files().lock_directory(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::conflict);
  if (is_real()) {
    EXPECT_NE(second.error().detail.find(std::to_string(getpid())), std::string::npos)
        << second.error().detail;
  }
  lock->reset();
  EXPECT_TRUE(files().lock_directory(directory_));
}

TEST(real_file_system, files_and_directories_are_for_their_owner_only) {
  std::string name = std::filesystem::temp_directory_path() / "weir-files-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  FileSystem& files = real_file_system();
  ASSERT_TRUE(files.make_directory(name + "/d"));
  ASSERT_TRUE(files.open(name + "/d/f", {.create = true}));
  ASSERT_TRUE(files.lock_directory(name + "/d"));
  struct stat info{};
  ASSERT_EQ(stat((name + "/d").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0700u);
  for (const char* file : {"/d/f", "/d/LOCK"}) {
    ASSERT_EQ(stat((name + file).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0600u);
  }
  std::filesystem::remove_all(name);
}

TEST(real_file_system, a_full_device_is_store_full) {
  const auto file = real_file_system().open("/dev/full", {});
  if (!file) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ((*file)->write(0, "x", false).error().code, ErrorCode::store_full);
}

// A file with "old" synced and "new" written over it, in two sectors each.
void write_old_and_new(MemoryFileSystem& files) {
  ASSERT_TRUE(files.make_directory("/d"));
  auto file = *files.open("/d/a", {.create = true});
  ASSERT_TRUE(file->write(0, std::string(1024, 'o'), false));
  ASSERT_TRUE(file->sync());
  ASSERT_TRUE(files.sync_directory("/d"));
  ASSERT_TRUE(file->write(0, std::string(1024, 'n'), false));
}

TEST(crash_image, keeps_what_was_synced_and_may_lose_the_rest) {
  MemoryFileSystem files;
  write_old_and_new(files);
  const std::string old_half(512, 'o'), new_half(512, 'n');
  const auto after = [&](CrashKind kind, std::uint64_t seed) {
    return files.crash_image(kind, seed)->content("/d/a");
  };
  EXPECT_EQ(after(CrashKind::nothing_unsynced, 1), old_half + old_half);
  EXPECT_EQ(after(CrashKind::everything, 1), new_half + new_half);
  std::set<std::string> random, torn;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    random.insert(after(CrashKind::random_subset, seed));
    torn.insert(after(CrashKind::torn_last_write, seed));
    EXPECT_EQ(after(CrashKind::random_subset, seed), after(CrashKind::random_subset, seed));
  }
  EXPECT_EQ(random.size(), 4u);  // each of two sectors, in any order
  EXPECT_EQ(torn, (std::set<std::string>{old_half + old_half, new_half + old_half}));
}

TEST(crash_image, creates_renames_and_removes_vanish_without_a_directory_sync) {
  MemoryFileSystem files;
  ASSERT_TRUE(files.make_directory("/d"));
  auto file = *files.open("/d/a", {.create = true});
  ASSERT_TRUE(file->write(0, "a", false));
  ASSERT_TRUE(file->sync());
  EXPECT_TRUE(files.crash_image(CrashKind::nothing_unsynced, 1)->paths().empty());
  ASSERT_TRUE(files.sync_directory("/d"));
  ASSERT_TRUE(files.rename("/d/a", "/d/b"));
  EXPECT_TRUE(files.crash_image(CrashKind::nothing_unsynced, 1)->exists("/d/a"));
  std::set<std::vector<std::string>> seen;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    seen.insert(files.crash_image(CrashKind::random_subset, seed)->paths());
  }
  // A rename is one step: never both names, never none.
  EXPECT_EQ(seen, (std::set<std::vector<std::string>>{{"/d/a"}, {"/d/b"}}));
  ASSERT_TRUE(files.sync_directory("/d"));
  ASSERT_TRUE(files.remove("/d/b"));
  EXPECT_TRUE(files.crash_image(CrashKind::nothing_unsynced, 1)->exists("/d/b"));
  ASSERT_TRUE(files.sync_directory("/d"));
  EXPECT_FALSE(files.crash_image(CrashKind::nothing_unsynced, 1)->exists("/d/b"));
}

TEST(faulty_file_system, fails_the_nth_call_once_or_for_ever) {
  for (const auto repeat : {FaultyFileSystem::Repeat::once, FaultyFileSystem::Repeat::for_ever}) {
    MemoryFileSystem inner;
    FaultyFileSystem files(inner);
    std::vector<std::string> seen;
    files.set_hook([&seen](std::uint64_t, std::string_view operation, const std::string&) {
      seen.emplace_back(operation);
    });
    files.fail_write_call(4, ErrorCode::io_error, repeat);
    ASSERT_TRUE(files.make_directory("/d"));
    auto file = *files.open("/d/a", {.create = true});
    ASSERT_TRUE(file->write(0, "1234", false));
    EXPECT_EQ(file->write(4, "abcd", false).error().code, ErrorCode::io_error);
    EXPECT_EQ(read_all(*file), "1234ab");
    EXPECT_EQ(file->sync().has_value(), repeat == FaultyFileSystem::Repeat::once);
    EXPECT_EQ(seen,
              (std::vector<std::string>{"make_directory", "create", "write", "write", "sync"}));
    EXPECT_EQ(files.write_calls(), 5u);
    EXPECT_TRUE(files.has_failed());
  }
}

TEST(faulty_file_system, a_quota_can_be_hit_and_lifted) {
  MemoryFileSystem inner;
  FaultyFileSystem files(inner);
  ASSERT_TRUE(files.make_directory("/d"));
  files.set_quota(100);
  auto file = *files.open("/d/a", {.create = true});
  ASSERT_TRUE(file->write(0, std::string(100, 'x'), false));
  ASSERT_TRUE(file->write(0, std::string(100, 'y'), false));  // in place: needs no room
  EXPECT_EQ(file->write(100, "z", false).error().code, ErrorCode::store_full);
  EXPECT_EQ(*files.free_bytes("/d"), 0u);
  files.set_quota(0);
  EXPECT_TRUE(file->write(100, "z", false));
}

}  // namespace
}  // namespace weir::store::journal
