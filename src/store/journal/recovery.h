// SPDX-License-Identifier: Apache-2.0
// Recovery: what of the log is there, what was cut, what is damaged. Reads only; JournalLog acts on
// the answer.
//
// Sealed segments were synced as a whole before the manifest said so: any flaw up to used_bytes is
// damage. The at most two active segments (one of each kind) may end in a torn tail. Commits of
// both kinds share one dense sequence, so beyond the manifest's durable_seq every number is in one
// of the two. The log ends at L, the last number before the first missing one; when any whole
// commit, also one behind a torn one, says that L+1 had been durable, it is damage and not a torn
// tail.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/journal/aligned_buffer.h"
#include "store/journal/file_system.h"
#include "store/journal/frame.h"
#include "store/journal/log.h"
#include "store/journal/manifest.h"

namespace weir::store::journal {

// A commit's place in a scanned segment.
struct CommitSpan {
  std::uint64_t seq = 0;
  std::uint32_t offset = 0, end = 0;
  bool is_end_mark = false;
};

// An active segment as it was found, whole in memory.
struct ActiveScan {
  ManifestEntry entry;
  AlignedBuffer image;
  std::vector<CommitSpan>
      commits;  // whole ones from the start, without a gap; after the cut: those that count
  std::uint32_t seen_end = 0;  // end of the last block that was meant to belong to it
  std::uint64_t durable_seq_seen = 0;
  std::uint64_t stray_commits = 0;  // whole or begun ones behind the first flaw
  std::uint32_t used_bytes() const {
    return commits.empty() ? kSegmentDataOffset : commits.back().end;
  }
};

class Recovery {
 public:
  // All must outlive the recovery.
  Recovery(FileSystem& files, std::string directory, const Manifest& manifest)
      : files_(files), directory_(std::move(directory)), manifest_(manifest) {}

  // Checks every file's presence, size and header, and scans the active segments. Errors:
  // corruption, unsupported, io_error.
  Result<void> scan(RecoveryReport& report);

  // Hands every commit up to last_seq() to `replay`, in order of seq. Requires: scan() succeeded.
  Result<void> replay(const Log::Replay& replay, RecoveryReport& report);

  std::uint64_t last_seq() const { return last_seq_; }
  std::vector<ActiveScan>& actives() { return actives_; }

 private:
  Result<void> check_file(const ManifestEntry& entry, bool& header_is_bad);
  Result<void> scan_active(const ManifestEntry& entry, bool header_is_bad);
  Result<void> find_end(RecoveryReport& report);
  void cut(RecoveryReport& report);

  FileSystem& files_;
  const std::string directory_;
  const Manifest& manifest_;
  std::vector<ActiveScan> actives_;
  std::uint64_t last_seq_ = 0;
};

CommitInfo to_commit_info(const FoundCommit& found, const ManifestEntry& entry);

// Hands the commits in `image`, up to `used_bytes`, to `visit`; stops at the first error. Errors:
// corruption when they don't reach exactly to used_bytes and last_seq; those of `visit`.
Result<void> visit_commits(const ManifestEntry& entry, const Hash128& store_key,
                           std::string_view image, const std::string& path,
                           const Log::Replay& visit);

Failure damaged(const std::string& path, std::uint64_t offset, std::uint64_t seq,
                std::string_view what);

}  // namespace weir::store::journal
