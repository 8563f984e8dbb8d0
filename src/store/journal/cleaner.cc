// SPDX-License-Identifier: Apache-2.0
// The cleaner: jobs that point into victims, and jobs with scattered histories, are written whole
// into cold segments.
#include <algorithm>

#include "store/codec.h"
#include "store/history.h"
#include "store/journal/housekeeping.h"

namespace weir::store::journal {
namespace {

constexpr std::size_t kColdCommitBytes = 512u << 10;
constexpr std::uint32_t kSlotsPerStep = 2048;

}  // namespace

Result<void> Housekeeping::move_slice(Now now, std::uint64_t budget_bytes) {
  Index& index = *store_.index_;
  const std::size_t commit_bytes =
      std::min<std::size_t>(kColdCommitBytes, store_.options_.segment_bytes / 4);
  std::uint64_t done = 0;
  while (done < budget_bytes) {
    if (!to_move_.empty()) {
      const core::JobId id = to_move_.front();
      to_move_.pop_front();
      const std::size_t before = body_.size();
      if (index.has_job(id) && write_job(id)) done += body_.size() - before;
      done += 128;
      WEIR_TRY(store_.check_running());
      if (body_.size() >= commit_bytes) WEIR_TRY(flush_moves(now));
      continue;
    }
    if (has_walked_) break;
    next_slot_ = index.walk_places(
        is_walking_ended_, next_slot_, kSlotsPerStep,
        [this](std::uint32_t segment) { return victims_.contains(segment); },
        [this](core::JobId id) { to_move_.push_back(id); });
    done += kSlotsPerStep * 8;
    if (next_slot_ != 0) continue;
    has_walked_ = is_walking_ended_;
    is_walking_ended_ = true;
  }
  // The index may change before the next slice: what was read must be written now.
  WEIR_TRY(flush_moves(now));
  if (phase_ == Phase::moving && has_walked_ && to_move_.empty()) {
    phase_ = Phase::snapshotting;
    next_partition_ = 0;
  }
  return {};
}

Result<void> Housekeeping::flush_moves(Now now) {
  if (moved_.empty()) return {};
  auto at = store_.append(SegmentKind::cold, Reserve::none, body_, now);
  // While full the reserve is for the snapshots, which give segments back: moves go beside them,
  // little at a time.
  const bool may_use_reserve = moved_bytes_ < store_.options_.segment_bytes / 4;
  if (!at && at.error().code == ErrorCode::store_full && may_use_reserve) {
    moved_bytes_ += body_.size();
    at = store_.append(SegmentKind::hot, Reserve::cleaner, body_, now);
  }
  if (at) {
    for (const Moved& moved : moved_) {
      RecordParts parts = moved.parts;
      parts.at = PackedLocation::of({.segment = at->segment,
                                     .commit_offset = at->commit_offset,
                                     .body_offset = moved.offset,
                                     .length = moved.length});
      store_.index_->move_job(moved.job, parts);
    }
  }
  body_.clear();
  moved_.clear();
  if (at || at.error().code == ErrorCode::too_large) return {};
  if (at.error().code != ErrorCode::store_full) return failure(std::move(at).error());
  // No room to move anything: what is dead already may still be given back.
  to_move_.clear();
  has_walked_ = true;
  return {};
}

// Appends the job whole. False when it is damaged: it stays where it is, and so does its segment.
bool Housekeeping::write_job(core::JobId id) {
  JobPlaces places;
  if (!store_.index_->places(id, places)) return false;
  const auto gather = [&]() -> Result<void> {
    std::string head, body, result;
    bool has_result = false;
    WEIR_TRY_ASSIGN(const core::Job job, store_.read_job(id));
    encode_job(job, head);
    if (places.body) {
      WEIR_TRY_ASSIGN(const core::JobBody texts, store_.read_body(id));
      encode_body(texts, body);
    }
    if (places.result) {
      WEIR_TRY_ASSIGN(result, store_.read_result(id));
      has_result = true;
    }
    WEIR_TRY_ASSIGN(const std::vector<core::AttemptRecord> history, store_.read_history(id));
    std::vector<std::string> attempts;
    for (const core::AttemptRecord& attempt : history)
      encode_attempt(attempt, attempts.emplace_back());
    const auto offset = static_cast<std::uint32_t>(body_.size());
    const std::uint32_t length = RecordWriter(body_).job(RecordType::moved, head, body, attempts,
                                                         has_result ? &result : nullptr);
    moved_.push_back({.job = id,
                      .offset = offset,
                      .length = length,
                      .parts = {.has_body = !body.empty(),
                                .has_attempts = !attempts.empty(),
                                .has_result = has_result,
                                .is_whole = true}});
    return {};
  };
  if (gather()) return true;
  for (const PackedLocation& place : Index::distinct(places)) stuck_.insert(place.segment);
  return false;
}

}  // namespace weir::store::journal
