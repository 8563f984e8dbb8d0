// SPDX-License-Identifier: Apache-2.0
// Files in memory that know what a power cut would leave of them. For tests and the simulator.
//
// Every file keeps its written state and, for each 512-byte sector that was written since the last
// sync, its synced one; every directory keeps the entries that sync_directory() made last.
// crash_image() builds another file system as a disk might hold it after a crash. Not modelled: an
// older unsynced version of a sector that was written twice between two syncs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "store/journal/file_system.h"

namespace weir::store::journal {

enum class CrashKind : std::uint8_t {
  nothing_unsynced,  // only what was synced is there
  everything,        // all is there, as after kill -9
  random_subset,    // of unsynced sectors, sizes and directory entries each may be there or not, in
                    // any order
  torn_last_write,  // all is there, but of the last write only its first sectors
};

// Thread-safe. Directories made by make_directory() are durable at once, as its contract says.
class MemoryFileSystem final : public FileSystem {
 public:
  MemoryFileSystem();
  ~MemoryFileSystem() override;

  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override;
  Result<std::vector<std::string>> list(const std::string& directory) override;
  Result<void> make_directory(const std::string& path) override;
  Result<void> remove(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> sync_directory(const std::string& directory) override;
  bool exists(const std::string& path) override;
  Result<std::unique_ptr<Lock>> lock_directory(const std::string& directory) override;
  Result<std::uint64_t> free_bytes(const std::string& directory) override;

  // The disk after a crash at this moment. The same seed gives the same image. No lock is held in
  // it.
  std::unique_ptr<MemoryFileSystem> crash_image(CrashKind kind, std::uint64_t seed) const;

  // Calls that changed something, since construction.
  std::uint64_t write_calls() const;

  // Whole content as written, empty when absent; and the same the other way round, durable at once
  // (to plant damage).
  std::string content(const std::string& path) const;
  void set_content(const std::string& path, std::string bytes);
  std::vector<std::string> paths() const;

 private:
  struct Inode;
  struct Shared;
  class MemoryFile;
  class MemoryLock;

  // shared_ptr: open files and locks may outlive the file system object of a simulated machine.
  std::shared_ptr<Shared> shared_;
};

}  // namespace weir::store::journal
