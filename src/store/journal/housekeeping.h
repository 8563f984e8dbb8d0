// SPDX-License-Identifier: Apache-2.0
// What the store does beside its work, in slices: the idle seal, spare segments, snapshots of the
// index, cleaning, folding of long histories.
//
// A segment can be given back when nothing living points into it and every partition of the index
// (and the meta record) has a durable snapshot younger than its last commit: replaying what is left
// then gives the same index. Mostly dead segments are emptied by writing the jobs that point into
// them whole into cold segments, in the order of the log like any other change: replay applies the
// move where it stands, so it needs no second record to count, and the old segment stays until the
// move is durable.
//
// A cycle: scan for jobs in the victims and move them, snapshot everything, free what can be freed.
// It begins when the log has outgrown the living data; its slices grow with what was written since
// the last one, so that the log can't outrun it.
#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/job/job.h"
#include "store/journal/journal_store.h"

namespace weir::store::journal {

// One thread: the store's.
class Housekeeping {
 public:
  explicit Housekeeping(JournalStore& store) : store_(store) {}

  // One slice. True when there is more to do at once. Errors: io_error.
  Result<bool> work(Now now);

  // A worker's change found no room: a cycle begins at the next slice, however little was written
  // since the last one.
  void note_refusal() { next_cycle_at_bytes_ = 0; }

  // Bytes of the last whole set of snapshots: living data too.
  std::uint64_t snapshot_bytes() const { return snapshot_bytes_; }

 private:
  enum class Phase : std::uint8_t { idle, moving, snapshotting, freeing };
  struct Moved {
    core::JobId job;
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
    RecordParts parts;
  };

  Result<bool> seal(Now now);
  Result<void> plan(Now now);
  Result<void> keep_reserve();
  std::uint64_t rest_bytes() const;
  void choose_victims(const std::vector<SegmentInfo>& segments);
  Result<void> move_slice(Now now, std::uint64_t budget_bytes);
  Result<void> flush_moves(Now now);
  bool write_job(core::JobId id);
  Result<void> snapshot_slice(Now now, std::uint64_t budget_bytes);
  Result<void> append_snapshots(Now now);
  Result<void> free_segments();

  JournalStore& store_;
  Phase phase_ = Phase::idle;
  std::uint64_t written_at_last_slice_ = 0;
  std::uint64_t next_cycle_at_bytes_ = 0;  // by stats().bytes_written

  std::uint64_t sealed_seq_ = 0;
  std::uint64_t idle_seq_ = 0;
  StoreTime idle_since_;

  std::set<std::uint32_t> victims_;
  std::set<std::uint32_t> stuck_;  // hold damaged jobs: never emptied
  bool is_walking_ended_ = false;
  bool has_walked_ = true;
  std::uint32_t next_slot_ = 0;
  std::deque<core::JobId> to_move_;
  std::string body_;
  std::vector<Moved> moved_;
  std::uint64_t moved_bytes_ = 0;    // in this cycle, beside the snapshots
  std::uint64_t foreign_bytes_ = 0;  // written by others since the cycle began
  StoreTime cycle_at_;               // when it began

  std::uint32_t next_partition_ = 0;
  std::uint64_t round_begin_seq_ = 0;  // every snapshot of the round is younger
  std::uint64_t round_end_seq_ = 0;    // durable before anything is given back
  std::uint64_t round_bytes_ = 0;
  std::uint64_t snapshot_bytes_ = 0;
  std::string payload_;  // kept for its memory
};

}  // namespace weir::store::journal
