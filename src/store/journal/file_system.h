// SPDX-License-Identifier: Apache-2.0
// Files behind a port: real, in memory (keeps what was synced apart from what was written, so that
// every crash state can be built), and faulty (fails the n-th call). The journal touches no file
// but through this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::store::journal {

// One open file. One thread at a time, but for read(), which may run beside anything but a write of
// the same bytes.
class File {
 public:
  virtual ~File() = default;

  // Reads up to out.size() bytes at `offset`; fewer only at the end of the file. direct: past the
  // page cache (offset and size in multiples of 4 KiB). Errors: io_error.
  virtual Result<std::size_t> read(std::uint64_t offset, char* out, std::size_t size,
                                   bool direct) = 0;

  // Writes all of `data` at `offset`. direct: past the page cache (4 KiB multiples). Errors:
  // store_full (ENOSPC, EDQUOT: a prefix may have been written), io_error.
  virtual Result<void> write(std::uint64_t offset, std::string_view data, bool direct) = 0;

  // fdatasync. Errors: io_error; then nothing written since the last good sync may be relied on.
  virtual Result<void> sync() = 0;

  virtual Result<std::uint64_t> size() = 0;
  virtual Result<void> truncate(std::uint64_t size) = 0;
};

struct OpenMode {
  bool create = false;     // makes the file when it is absent
  bool exclusive = false;  // with create: conflict when it exists
  bool read_only = false;
};

// Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Files get mode 0600. Errors: not_found, conflict (exclusive), store_full, unavailable (out of
  // descriptors), io_error.
  virtual Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) = 0;
  virtual Result<std::vector<std::string>> list(const std::string& directory) = 0;  // names, sorted
  virtual Result<void> make_directory(
      const std::string& path) = 0;  // and parents, 0700; durable; fine when it exists
  virtual Result<void> remove(const std::string& path) = 0;  // not_found when absent
  virtual Result<void> rename(const std::string& from,
                              const std::string& to) = 0;  // replaces `to` atomically
  virtual Result<void> sync_directory(
      const std::string& directory) = 0;  // creates, removes and renames last
  virtual bool exists(const std::string& path) = 0;

  // Takes the directory for this process until the returned lock is destroyed; a lock left by a
  // dead process does not hold.
  // Errors: conflict (taken; the detail names the holder's process id when known), io_error.
  class Lock {
   public:
    virtual ~Lock() = default;
  };
  virtual Result<std::unique_ptr<Lock>> lock_directory(const std::string& directory) = 0;

  virtual Result<std::uint64_t> free_bytes(const std::string& directory) = 0;
};

// The machine's files. Stateless; lives for ever.
FileSystem& real_file_system();

}  // namespace weir::store::journal
