// SPDX-License-Identifier: Apache-2.0
// Whole segments read from the disk and checked, ahead of those who use them: reading and checksums
// take their time on helper threads, so that replay waits for neither.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <future>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/journal/aligned_buffer.h"
#include "store/journal/file_system.h"
#include "store/journal/frame.h"
#include "store/journal/manifest.h"

namespace weir::store::journal {

// While nothing else uses the disk: a disk reads up to twice as fast with such pieces as with those
// of 1 MiB.
inline constexpr std::uint32_t kLoadPieceBytes = 4u << 20;

// Reads `bytes` (rounded up to blocks) of a segment file from its start, direct, in pieces of
// `piece_bytes`. Errors: corruption (the file is shorter), io_error.
Result<void> read_segment(File& file, const std::string& path, std::uint32_t bytes,
                          AlignedBuffer& out, std::uint32_t piece_bytes);

// The commits of a segment in order, up to its end or the first one that is not whole. The views
// live as long as this and its image.
struct CheckedCommits {
  std::vector<FoundCommit> commits;
  std::deque<std::string> joined;  // bodies of commits with several frames
  std::uint32_t end = 0;           // behind the last whole commit
};
CheckedCommits check_commits(const StreamId& id, std::string_view image);

// A segment in memory. Value that moves.
struct LoadedSegment {
  AlignedBuffer image;
  CheckedCommits checked;
};

// Loads segments in the order in which they were added, a few ahead of the one that is asked for,
// each on a thread of its own. One thread.
class SegmentLoader {
 public:
  // So many are read or wait to be taken, besides those that were taken.
  static constexpr std::size_t kAheadMax = 3;

  // `files` must outlive the loader.
  SegmentLoader(FileSystem& files, std::string directory, const Hash128& store_key)
      : files_(files), directory_(std::move(directory)), store_key_(store_key) {}

  void add(const ManifestEntry& entry) { entries_.push_back(entry); }

  // The segment with that number; blocks until it is there. Requires: it was added, and not taken
  // yet. Errors: corruption (the file is too short), io_error. A commit that is not whole is no
  // error here: it ends the list.
  Result<LoadedSegment> take(std::uint32_t number);
  // Gives the memory of a segment back to be used again.
  void recycle(LoadedSegment segment) { unused_.push_back(std::move(segment.image)); }

 private:
  void start(const ManifestEntry& entry);

  FileSystem& files_;
  const std::string directory_;
  const Hash128 store_key_;
  std::deque<ManifestEntry> entries_;                                  // not started yet
  std::map<std::uint32_t, std::future<Result<LoadedSegment>>> ahead_;  // by number
  std::vector<AlignedBuffer> unused_;
};

}  // namespace weir::store::journal
