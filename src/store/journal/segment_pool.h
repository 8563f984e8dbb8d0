// SPDX-License-Identifier: Apache-2.0
// The segment files that are not in use: zero-filled once, recycled for ever, some kept in reserve.
//
// A file ("slot") is ready when every byte of it was written once, its header block carries a
// generation drawn for its next taking, and both are durable with its directory entry. Ready files
// are set aside in this order: one for a restart (recovery copies the last segment into a fresh
// one, also on a full disk), one for the cleaner, one for workers' verbs, two spares. What is more
// than that is removed. Thread: one.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "store/journal/aligned_buffer.h"
#include "store/journal/file_system.h"
#include "store/journal/frame.h"
#include "store/journal/log.h"

namespace weir::store::journal {

inline constexpr std::size_t kSpareCount = 2;
inline constexpr std::uint32_t kZeroPieceBytes = 1u << 20;

std::string slot_path(const std::string& directory, std::uint32_t slot);
// The slot of a file name, or nothing when it is not the name of a segment file.
std::optional<std::uint32_t> slot_of_name(const std::string& name);

class SegmentPool {
 public:
  struct Settings {
    std::string directory;
    Hash128 store_key;
    std::uint32_t segment_bytes = 0;
    std::uint64_t disk_bytes_max = 0;  // 0: none
  };

  // A file that may be taken into use.
  struct Ready {
    std::uint32_t slot = 0;
    std::uint64_t generation = 0;
    std::unique_ptr<File> file;
  };

  // `files` and `prng` must outlive the pool.
  SegmentPool(FileSystem& files, Settings settings, Prng& prng);

  // Tells of a file that was found: in use, or free with `size` bytes written.
  void occupy(std::uint32_t slot);
  Result<void> adopt(std::uint32_t slot, std::uint64_t size);

  // Does one step towards the full set: at most 1 MiB of zeros, or one header. True when there is
  // more to do. A full disk or quota is no error: it sets is_exhausted() and answers false; the
  // next call tries again. Errors: io_error.
  Result<bool> prepare();

  // How many files are kept for the cleaner, at least one; spares go there first.
  void set_cleaner_reserve(std::size_t count);

  // Hands out a file, from the spares or the named reserve; makes one when none is ready and the
  // disk allows it. Errors: store_full, io_error.
  Result<Ready> take(Reserve reserve, bool& from_reserve);
  // For recovery: any file, the one set aside for it first.
  Result<Ready> take_for_restart();

  // A file in use that nothing needs any more.
  Result<void> give_back(std::uint32_t slot);

  // Makes sure that a spare outside the reserve is there, if the disk allows it. Errors: io_error.
  Result<bool> has_spare();

  bool is_exhausted() const { return is_exhausted_; }
  std::size_t spare_count() const { return spares_.size(); }
  std::uint64_t disk_bytes() const { return disk_bytes_; }
  std::size_t slot_count() const { return used_count_ + recyclable_.size() + ready_count() + 1; }

 private:
  struct Filling {
    std::uint32_t slot = 0;
    std::unique_ptr<File> file;
    std::uint64_t done = 0;
  };

  std::size_t ready_count() const;
  bool is_complete() const {
    return spares_.size() >= kSpareCount && restart_ && cleaner_.size() >= cleaner_count_ &&
           workers_;
  }
  enum class Quota : std::uint8_t { keep, exceed };
  Result<bool> prepare_step(Quota quota);
  Result<void> recycle(std::uint32_t slot);
  Result<void> start_filling(Quota quota);
  Result<void> fill_piece();
  Result<std::uint64_t> write_header(std::uint32_t slot, File& file);
  void put_ready(Ready ready);

  FileSystem& files_;
  const Settings settings_;
  Prng& prng_;
  // Spares, one for a start, those for the cleaner, one for workers.
  std::size_t ready_count_max() const { return kSpareCount + 2 + cleaner_count_; }

  std::optional<Ready> restart_, workers_;
  std::deque<Ready> cleaner_;
  std::size_t cleaner_count_ = 1;
  std::deque<Ready> spares_;
  std::deque<std::uint32_t> recyclable_;  // whole files, header to be renewed
  std::deque<std::pair<std::uint32_t, std::uint64_t>> partial_;  // slot, bytes written
  std::optional<Filling> filling_;
  std::size_t used_count_ = 0;
  std::uint32_t next_slot_ = 1;
  std::uint64_t disk_bytes_ = 0;
  bool is_exhausted_ = false;
  AlignedBuffer buffer_;
};

}  // namespace weir::store::journal
