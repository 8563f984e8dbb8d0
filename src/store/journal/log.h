// SPDX-License-Identifier: Apache-2.0
// The log: commits in recycled, zero-filled segments. It knows bytes, checksums and durability, not
// what records mean.
//
// The commit is the unit. It is cut into frames of at most 512 KiB of body, each with a header
// {magic, format, store key, segment generation, commit_seq, frame index, is last, durable_seq (the
// last commit known synced when this was written), epoch, store_time, wall_time, body length,
// crc32c}, padded to 4 KiB. No commit spans segments; no sector that holds synced bytes is ever
// rewritten. The manifest, synced when a segment is taken into use, names the segments and their
// generations. docs/storage-format.md has the bytes.
//
// Recovery: reads direct; a bad commit n is damage when any valid commit says durable_seq >= n,
// else it is the torn tail and is cut, loudly. The valid part of the last segment is copied into a
// fresh one; the log never appends to a segment that it found.
//
// Thread: one, but for read(), which any one helper may call at the same time for pinned segments.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "store/journal/file_system.h"

namespace weir::store::journal {

inline constexpr std::uint32_t kSegmentBytes = 16u << 20;
inline constexpr std::uint32_t kFrameBodyBytesMax = 512u << 10;
inline constexpr std::uint32_t kBlockBytes = 4096;

// The largest body of one commit in a segment of `segment_bytes`.
constexpr std::uint64_t log_body_bytes_max(std::uint64_t segment_bytes) {
  return segment_bytes - kBlockBytes - (segment_bytes / kFrameBodyBytesMax + 1) * 96;
}

// Which kind of segment a commit goes to. Cold: what the cleaner moves.
enum class SegmentKind : std::uint8_t { hot = 1, cold = 2 };

// Where a piece of a commit's body lies. Value; 16 bytes. segment 0 = nowhere.
struct Location {
  std::uint32_t segment =
      0;  // number of the segment (grows for ever; a recycled file gets a new number)
  std::uint32_t commit_offset = 0;  // of the commit's first frame in the segment
  std::uint32_t body_offset = 0;    // in the commit's body, frame headers left out
  std::uint32_t length = 0;

  bool operator==(const Location&) const = default;
};

struct CommitInfo {
  std::uint64_t seq = 0;
  std::uint64_t durable_seq = 0;
  std::uint32_t epoch = 0;
  StoreTime store_time;
  WallTime wall_time;
  SegmentKind kind = SegmentKind::hot;
  std::uint32_t segment = 0;
  std::uint32_t commit_offset = 0;
};

struct SegmentInfo {
  std::uint32_t number = 0;
  SegmentKind kind = SegmentKind::hot;
  std::uint32_t used_bytes = 0;
  std::uint64_t first_seq = 0, last_seq = 0;
  bool is_active = false;
};

struct LogOptions {
  bool create = false;     // make a new store when the directory is empty or absent
  bool read_only = false;  // verify: changes nothing, takes the lock
  std::uint32_t segment_bytes = kSegmentBytes;  // smaller in tests
  std::uint64_t prng_seed =
      0;  // generations and keys; 0: from the kernel. Another one at each opening
  std::uint64_t disk_bytes_max = 0;  // quota of all segments; 0: none
};

// What recovery found, for the log and for `weir store verify`.
struct RecoveryReport {
  bool created = false;
  bool clean_stop = false;
  std::uint64_t commits = 0, bytes = 0, segments = 0;
  std::uint64_t cut_bytes = 0, cut_commits = 0;  // torn tail
  std::string note;                              // for people; empty when nothing was odd
};

// Which of the reserve segments an append may take.
enum class Reserve : std::uint8_t {
  none,
  workers,  // their own, then the cleaner's: what is full behind them can be freed from there
  cleaner,
  start  // any, also the one for the copy at a start: without its first commit no store opens
};

class Log {
 public:
  // Takes the lock, reads the manifest, replays every valid commit in order of seq within each kind
  // (cold commits are replayed in their place by seq), prepares spare and reserve segments.
  // `replay` gets each commit's whole body; the view lives during the call. An error of `replay`
  // ends the opening with that error.
  // Errors: conflict (locked: 73), corruption (names file, offset and commit; changes nothing),
  // unsupported (format of another version: names both), not_found (no store here and !create),
  // io_error, store_full.
  using Replay = std::function<Result<void>(const CommitInfo&, std::string_view body)>;
  static Result<std::unique_ptr<Log>> open(FileSystem& files, const std::string& directory,
                                           const LogOptions& options, const Replay& replay,
                                           RecoveryReport& report);
  virtual ~Log() = default;

  // Appends one commit (buffered write, not yet durable). Returns where its body starts
  // (body_offset 0, length body.size()). Empty bodies are allowed (seals). May sync: a segment is
  // full only when all of it is durable.
  // Errors: too_large (over log_body_bytes_max), store_full (no segment may be taken with this
  // reserve; nothing was written), io_error (stopped).
  virtual Result<Location> append(std::string_view body, SegmentKind kind, Reserve reserve,
                                  std::uint32_t epoch, Now now) = 0;
  virtual std::uint64_t last_seq() const = 0;

  // Makes every appended commit durable. Errors: io_error (stopped for ever).
  virtual Result<void> sync() = 0;
  virtual std::uint64_t durable_seq() const = 0;

  // Reads a piece of a body and checks the frames it lies in when `check` is set. Errors:
  // corruption, io_error.
  virtual Result<std::string> read(const Location& at, bool check) = 0;

  // Every segment in use, in order of number.
  virtual std::vector<SegmentInfo> segments() const = 0;
  // Gives a segment back to be recycled: nothing of it is needed any more. While it is pinned it is
  // kept, and given back by the first prepare_spares() after its last unpin. Errors: conflict (it
  // is active), not_found, io_error (stopped).
  virtual Result<void> free_segment(std::uint32_t number) = 0;
  virtual void pin(std::uint32_t number) = 0;
  virtual void unpin(std::uint32_t number) = 0;

  // Replays the commits of one segment again, for the cleaner. Errors: corruption, io_error.
  virtual Result<void> replay_segment(std::uint32_t number, const Replay& replay) = 0;

  // Zero-fills a piece (at most 1 MiB, direct) of the next spare segment. True when there is more
  // to do. Tries again after the disk was full. Errors: io_error.
  virtual Result<bool> prepare_spares() = 0;
  // How many segments to keep for the cleaner, at least one.
  virtual Result<void> set_cleaner_reserve(std::size_t segments) = 0;
  virtual bool is_full() const = 0;  // no spare outside the reserve, and the disk or quota allowed
                                     // none at the last try
  virtual std::uint64_t disk_bytes() const = 0;

  // Copies all segments in use up to and including commit `seq` (must be durable) and a manifest
  // into `target`; the copy opens as a store of its own. Blocking. Errors: conflict, io_error of
  // the target (the log goes on).
  virtual Result<void> copy_to(FileSystem& files, const std::string& target, std::uint64_t seq) = 0;

  // The store's key, made when it was created, and 4 KiB of small durable state of the index's own
  // choosing in the manifest.
  virtual const Hash128& store_key() const = 0;
  virtual const std::string& manifest_note() const = 0;
  virtual Result<void> set_manifest_note(std::string note) = 0;  // durable when it returns

  // Appends an end mark, syncs, releases the lock.
  virtual Result<void> close(std::uint32_t epoch, Now now) = 0;
};

}  // namespace weir::store::journal
