// SPDX-License-Identifier: Apache-2.0
// A file system that fails when told to, around another one. For tests and the simulator.
//
// Write-side calls are numbered from 1: write, sync, truncate, a creating open of a file that is
// absent, make_directory, remove, rename, sync_directory. A hook sees each before it happens: crash
// images are taken there, and a hook that blocks is a disk that hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "store/journal/file_system.h"

namespace weir::store::journal {

// Thread-safe; the hook and the settings are set while nobody uses the files.
class FaultyFileSystem final : public FileSystem {
 public:
  enum class Repeat : std::uint8_t { once, for_ever };
  // `operation` is one of "write", "sync", "truncate", "create", "make_directory", "remove",
  // "rename", "sync_directory".
  using Hook =
      std::function<void(std::uint64_t call, std::string_view operation, const std::string& path)>;

  // `inner` must outlive this and all its files.
  explicit FaultyFileSystem(FileSystem& inner);
  ~FaultyFileSystem() override;

  // The n-th write-side call (or read) counted from construction fails with `code`, once or from
  // then on. 0: none. A failing write leaves the first half of its data; a failing sync syncs
  // nothing.
  void fail_write_call(std::uint64_t n, ErrorCode code, Repeat repeat);
  void fail_read_call(std::uint64_t n, ErrorCode code, Repeat repeat);

  // Files may not grow beyond `bytes` in all, counted from construction: store_full, as a full
  // disk. 0 lifts the quota.
  void set_quota(std::uint64_t bytes);

  void set_hook(Hook hook);

  std::uint64_t write_calls() const;
  std::uint64_t read_calls() const;
  // True once a call was made to fail.
  bool has_failed() const;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& directory) override;
  bool exists(const std::string& path) override;
  Result<std::unique_ptr<Lock>> lock_directory(const std::string& directory) override;
  Result<std::uint64_t> free_bytes(const std::string& directory) override;

 private:
  struct Shared;
  class FaultyFile;

  FileSystem& inner_;
  std::unique_ptr<Shared> shared_;
};

}  // namespace weir::store::journal
