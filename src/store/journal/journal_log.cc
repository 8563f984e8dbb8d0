// SPDX-License-Identifier: Apache-2.0
// The running log: append, sync, take and free segments.
#include "store/journal/journal_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"

namespace weir::store::journal {
namespace {

constexpr std::size_t kBufferKeptBytes =
    5u << 20;  // a turn's commit fits; a larger one gives its memory back

}  // namespace

Result<void> JournalLog::check_running() const {
  if (stopped_) {
    return failure(stopped_->code,
                   fmt::format("the log stopped after an error: {}", stopped_->detail));
  }
  if (options_.read_only) return failure(ErrorCode::unsupported, "the log was opened to read only");
  if (!lock_) return failure(ErrorCode::io_error, "the log is closed");
  return {};
}

// What was written since the last good sync may or may not be on the disk: nobody may build on it.
Result<void> JournalLog::stop(Error error) {
  if (error.code != ErrorCode::corruption) error.code = ErrorCode::io_error;
  if (!stopped_) stopped_ = error;
  return failure(std::move(error));
}

Result<Location> JournalLog::append(std::string_view body, SegmentKind kind, Reserve reserve,
                                    std::uint32_t epoch, Now now) {
  return append_commit(body, kind, reserve, epoch, now, false);
}

Result<Location> JournalLog::append_commit(std::string_view body, SegmentKind kind, Reserve reserve,
                                           std::uint32_t epoch, Now now, bool is_end_mark) {
  WEIR_TRY(check_running());
  if (body.size() > log_body_bytes_max(manifest_.segment_bytes)) {
    return failure(ErrorCode::too_large,
                   fmt::format("a commit of {} bytes does not fit a segment", body.size()));
  }
  const auto bytes = static_cast<std::uint32_t>(commit_file_bytes(body.size()));
  WEIR_TRY_ASSIGN(Segment * segment, segment_for(kind, bytes, reserve));
  buffer_.reserve(bytes);
  const Frame first{.seq = last_seq_ + 1,
                    .durable_seq = durable_seq_,
                    .store_time_ms = now.store.ms,
                    .wall_time_ms = now.wall.ms,
                    .epoch = epoch,
                    .segment = segment->entry.number,
                    .kind = kind,
                    .is_end_mark = is_end_mark};
  encode_commit({manifest_.store_key, segment->entry.generation}, first, body, buffer_.data());
  // Cold commits are large and nobody waits for them: past the page cache, which belongs to the
  // payloads of waiting jobs.
  const bool direct = kind == SegmentKind::cold;
  const auto written = segment->file->write(segment->used_bytes, {buffer_.data(), bytes}, direct);
  buffer_.shrink_above(kBufferKeptBytes);
  if (!written) return failure(stop(written.error()).error());
  const Location at{.segment = segment->entry.number,
                    .commit_offset = segment->used_bytes,
                    .body_offset = 0,
                    .length = static_cast<std::uint32_t>(body.size())};
  last_seq_ += 1;
  const std::lock_guard guard(mutex_);
  segment->is_dirty = true;
  if (segment->first_seq == 0) segment->first_seq = last_seq_;
  segment->last_seq = last_seq_;
  segment->used_bytes += bytes;
  return at;
}

Result<JournalLog::Segment*> JournalLog::segment_for(SegmentKind kind, std::uint64_t bytes,
                                                     Reserve reserve) {
  Segment* segment = active(kind);
  if (segment == nullptr || segment->used_bytes + bytes > manifest_.segment_bytes) {
    return take(kind, reserve);
  }
  if (segment->from_reserve && reserve == Reserve::none) {
    // The reserve is not for new work, also when it has room: only once it is whole again.
    const auto has_spare = pool_->has_spare();
    if (!has_spare) return failure(stop(has_spare.error()).error());
    if (!*has_spare) return failure(ErrorCode::store_full, "only the reserve segments are left");
    segment->from_reserve = false;
  }
  return segment;
}

Result<JournalLog::Segment*> JournalLog::take(SegmentKind kind, Reserve reserve) {
  if (const auto room = manifest_files_.ensure_room(segments_.size() + 1); !room) {
    if (room.error().code == ErrorCode::store_full) return failure(room.error());
    return failure(stop(room.error()).error());
  }
  bool from_reserve = false;
  auto ready = pool_->take(reserve, from_reserve);
  if (!ready && ready.error().code == ErrorCode::store_full) return failure(ready.error());
  if (!ready) return failure(stop(ready.error()).error());
  WEIR_TRY(sync_files());  // a sealed segment is durable to its end
  Segment segment{.entry = {.slot = ready->slot,
                            .number = manifest_.next_number,
                            .generation = ready->generation,
                            .kind = kind,
                            .is_active = true,
                            .used_bytes = kSegmentDataOffset},
                  .used_bytes = kSegmentDataOffset,
                  .from_reserve = from_reserve,
                  .file = std::move(ready->file)};
  manifest_.next_number += 1;
  Segment* const sealed = active(kind);
  if (sealed != nullptr) {
    const std::lock_guard guard(mutex_);
    sealed->entry.is_active = false;
    sealed->file.reset();
  }
  {
    const std::lock_guard guard(mutex_);
    const std::uint32_t number = segment.entry.number;
    active(kind) = &segments_.emplace(number, std::move(segment)).first->second;
  }
  WEIR_TRY(write_manifest());
  return active(kind);
}

Result<void> JournalLog::sync_files() {
  const std::uint64_t seq = last_seq_;
  for (Segment* segment : {hot_, cold_}) {
    if (segment == nullptr || !segment->is_dirty) continue;
    const auto synced = segment->file->sync();
    if (!synced) return stop(synced.error());
    segment->is_dirty = false;
    const std::lock_guard guard(mutex_);
    segment->entry.used_bytes = segment->used_bytes;
    segment->entry.first_seq = segment->first_seq;
    segment->entry.last_seq = segment->last_seq;
  }
  durable_seq_ = seq;
  return {};
}

Result<void> JournalLog::sync() {
  WEIR_TRY(check_running());
  return sync_files();
}

Result<void> JournalLog::write_manifest() {
  manifest_.durable_seq = durable_seq_;
  manifest_.entries.clear();
  for (const auto& [number, segment] : segments_) {
    if (!segment.is_freed) manifest_.entries.push_back(segment.entry);
  }
  const auto written = manifest_files_.store(manifest_);
  if (!written) return stop(written.error());
  return {};
}

Result<void> JournalLog::set_manifest_note(std::string note) {
  WEIR_TRY(check_running());
  if (note.size() > kManifestNoteBytesMax) {
    return failure(ErrorCode::too_large, "the manifest's note is at most 4 KiB");
  }
  {
    const std::lock_guard guard(mutex_);
    manifest_.note = std::move(note);
  }
  return write_manifest();
}

std::vector<SegmentInfo> JournalLog::segments() const {
  std::vector<SegmentInfo> infos;
  const std::lock_guard guard(mutex_);
  for (const auto& [number, segment] : segments_) {
    if (segment.is_freed) continue;
    infos.push_back({.number = number,
                     .kind = segment.entry.kind,
                     .used_bytes = segment.used_bytes,
                     .first_seq = segment.first_seq,
                     .last_seq = segment.last_seq,
                     .is_active = segment.entry.is_active});
  }
  return infos;
}

Result<void> JournalLog::free_segment(std::uint32_t number) {
  WEIR_TRY(check_running());
  const auto found = segments_.find(number);
  if (found == segments_.end() || found->second.is_freed) {
    return failure(ErrorCode::not_found, fmt::format("segment {} is not in use", number));
  }
  if (found->second.entry.is_active) {
    return failure(ErrorCode::conflict, fmt::format("segment {} is active", number));
  }
  {
    const std::lock_guard guard(mutex_);
    found->second.is_freed = true;
  }
  // The file may be overwritten only when no manifest names it.
  WEIR_TRY(write_manifest());
  return release_freed();
}

Result<void> JournalLog::release_freed() {
  std::vector<std::uint32_t> slots;
  {
    const std::lock_guard guard(mutex_);
    for (auto at = segments_.begin(); at != segments_.end();) {
      if (!at->second.is_freed || at->second.pins > 0) {
        ++at;
        continue;
      }
      slots.push_back(at->second.entry.slot);
      forget_open_file(at->first);
      at = segments_.erase(at);
    }
  }
  for (const std::uint32_t slot : slots) {
    const auto given = pool_->give_back(slot);
    if (!given) return stop(given.error());
  }
  return {};
}

void JournalLog::pin(std::uint32_t number) {
  const std::lock_guard guard(mutex_);
  const auto found = segments_.find(number);
  WEIR_ASSERT(found != segments_.end(), number);
  found->second.pins += 1;
}

void JournalLog::unpin(std::uint32_t number) {
  const std::lock_guard guard(mutex_);
  const auto found = segments_.find(number);
  WEIR_ASSERT(found != segments_.end() && found->second.pins > 0, number);
  found->second.pins -= 1;
}

Result<bool> JournalLog::prepare_spares() {
  WEIR_TRY(check_running());
  WEIR_TRY(release_freed());
  const auto room = manifest_files_.ensure_room(pool_->slot_count() + 8);
  if (!room && room.error().code == ErrorCode::store_full) return false;
  if (!room) return failure(stop(room.error()).error());
  Result<bool> more = pool_->prepare();
  if (!more) return failure(stop(more.error()).error());
  return more;
}

Result<void> JournalLog::set_cleaner_reserve(std::size_t segments) {
  WEIR_TRY(check_running());
  pool_->set_cleaner_reserve(segments);
  return {};
}

bool JournalLog::is_full() const {
  return pool_ != nullptr && pool_->spare_count() == 0 && pool_->is_exhausted();
}

Result<void> JournalLog::close(std::uint32_t epoch, Now now) {
  WEIR_TRY(check_running());
  const auto marked = append_commit({}, SegmentKind::hot, Reserve::workers, epoch, now, true);
  // Without room for the mark the next start only thinks that this was not a clean stop.
  if (!marked && marked.error().code != ErrorCode::store_full) return failure(marked.error());
  WEIR_TRY(sync_files());
  // From now on the manifest vouches for every commit: damage to the last one can't pass for a torn
  // tail.
  WEIR_TRY(write_manifest());
  lock_.reset();
  return {};
}

}  // namespace weir::store::journal
