// SPDX-License-Identifier: Apache-2.0
// What the store does beside its work, in slices: the idle seal, spare segments, snapshots of the
// index, cleaning, folding of long histories.
//
// A segment can be given back when nothing living points into it and every partition of the index
// (and the meta record) has a durable snapshot younger than its last commit: replaying what is left
// then gives the same index. Mostly dead segments are emptied by writing the living jobs that point
// into them whole into cold segments, in the order of the log like any other change: no second
// record is needed to make a move count, and the old segment stays until the move is durable.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "store/journal/id_table.h"
#include "store/journal/journal_store.h"

namespace weir::store::journal {

// One thread: the store's.
class Housekeeping {
 public:
  explicit Housekeeping(JournalStore& store) : store_(store) {}

  // One slice. True when there is more to do at once. Errors: io_error.
  Result<bool> work(Now now);

 private:
  Result<bool> seal(Now now);
  Result<bool> plan();
  Result<void> snapshot_slice(Now now);
  Result<void> clean_slice(Now now);
  Result<bool> move_jobs(const std::vector<core::JobId>& ids, Now now);
  Result<bool> write_job(core::JobId id, std::string& body,
                         std::vector<std::pair<core::JobId, std::uint32_t>>& starts);
  Result<void> free_segments();

  JournalStore& store_;
  std::uint64_t sealed_seq_ = 0;
  StoreTime idle_since_;
  std::uint64_t idle_seq_ = 0;

  // The snapshot round: partitions done in it, the last one is meta.
  bool is_snapshotting_ = false;
  std::uint32_t next_partition_ = 0;
  std::uint64_t round_begin_seq_ = 0;  // no partition of the round is older
  std::uint64_t covered_seq_ =
      0;  // of the last complete round: everything up to it is in snapshots
  std::uint64_t round_end_seq_ = 0;   // when this is durable, covered_seq_ may be used
  std::uint64_t snapshot_bytes_ = 0;  // of the last complete round
  std::uint64_t round_bytes_ = 0;

  // The cleaning pass over the slots.
  std::set<std::uint32_t> victims_;
  bool pass_over_ended_ = false;
  std::uint32_t next_slot_ = 0;
  std::deque<core::JobId> to_move_;
  std::uint64_t moved_seq_ = 0;
  bool is_blocked_ = false;  // no room for cleaning: tried again after something was freed
};

}  // namespace weir::store::journal
