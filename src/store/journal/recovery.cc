// SPDX-License-Identifier: Apache-2.0
// Scanning, judging and replaying what is on the disk.
#include "store/journal/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/log.h"
#include "store/journal/segment_load.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {
namespace {

// The commits of the segments of one kind, one after the other.
class KindStream {
 public:
  KindStream(const std::string& directory, const Manifest& manifest, SegmentLoader& loader)
      : directory_(directory), manifest_(manifest), loader_(loader) {}

  void add(const ManifestEntry& entry, const ActiveScan* active) {
    pieces_.push_back({entry, active});
  }

  // Loads the next commit into current(). False at the end.
  Result<bool> advance() {
    current_ = nullptr;
    while (piece_ < pieces_.size()) {
      if (!is_open_) WEIR_TRY(open_piece());
      const CheckedCommits& checked = segment_.checked;
      if (next_ < checked.commits.size()) {
        current_ = &checked.commits[next_];
        const bool is_first = next_ == 0 && first_seq() != 0;
        if (current_->frame.seq <= seq_ || (is_first && current_->frame.seq != first_seq())) {
          return damaged(path(), current_->offset, seq_ + 1, "a durable commit is damaged");
        }
        ++next_;
        seq_ = current_->frame.seq;
        return true;
      }
      if (checked.end < end_) {
        return damaged(path(), checked.end, seq_ + 1, "a durable commit is damaged");
      }
      if (checked.end != end_ || (last_seq() != 0 && last_seq() != seq_)) {
        return damaged(path(), checked.end, seq_ + 1, "the segment ends elsewhere");
      }
      if (pieces_[piece_].active == nullptr) loader_.recycle(std::move(segment_));
      is_open_ = false;
      piece_ += 1;
    }
    return false;
  }

  // nullptr at the end.
  const FoundCommit* current() const { return current_; }
  const ManifestEntry& entry() const { return pieces_[piece_].entry; }

 private:
  struct Piece {
    ManifestEntry entry;
    const ActiveScan* active = nullptr;  // its image is in memory
  };

  std::string path() const { return slot_path(directory_, entry().slot); }
  std::uint64_t first_seq() const { return pieces_[piece_].active ? 0 : entry().first_seq; }
  std::uint64_t last_seq() const { return pieces_[piece_].active ? 0 : entry().last_seq; }

  Result<void> open_piece() {
    const Piece& piece = pieces_[piece_];
    if (piece.active != nullptr) {
      end_ = piece.active->used_bytes();
      segment_ = {};
      segment_.checked = check_commits({manifest_.store_key, piece.entry.generation},
                                       {piece.active->image.data(), end_});
    } else {
      end_ = piece.entry.used_bytes;
      WEIR_TRY_ASSIGN(segment_, loader_.take(piece.entry.number));
    }
    next_ = 0;
    is_open_ = true;
    return {};
  }

  const std::string& directory_;
  const Manifest& manifest_;
  SegmentLoader& loader_;
  std::vector<Piece> pieces_;
  std::size_t piece_ = 0;
  bool is_open_ = false;
  LoadedSegment segment_;  // of piece_, when it is open
  std::uint32_t end_ = 0;  // where it must end
  std::size_t next_ = 0;   // of its commits
  std::uint64_t seq_ = 0;
  const FoundCommit* current_ = nullptr;
};

}  // namespace

Failure damaged(const std::string& path, std::uint64_t offset, std::uint64_t seq,
                std::string_view what) {
  return failure(ErrorCode::corruption,
                 fmt::format("{}: offset {}: commit {}: {}", path, offset, seq, what));
}

CommitInfo to_commit_info(const FoundCommit& found, const ManifestEntry& entry) {
  return {.seq = found.frame.seq,
          .durable_seq = found.frame.durable_seq,
          .epoch = found.frame.epoch,
          .store_time = StoreTime{found.frame.store_time_ms},
          .wall_time = WallTime{found.frame.wall_time_ms},
          .kind = entry.kind,
          .segment = entry.number,
          .commit_offset = found.offset};
}

Result<void> visit_commits(const ManifestEntry& entry, const Hash128& store_key,
                           std::string_view image, const std::string& path,
                           const Log::Replay& visit) {
  CommitReader reader({store_key, entry.generation}, image.substr(0, entry.used_bytes),
                      kSegmentDataOffset);
  std::uint64_t seq = 0;
  while (reader.offset() < entry.used_bytes) {
    const std::optional<FoundCommit> found = reader.next();
    if (!found || found->frame.seq <= seq) {
      return damaged(path, reader.offset(), seq + 1, "a durable commit is damaged");
    }
    seq = found->frame.seq;
    WEIR_TRY(visit(to_commit_info(*found, entry), found->body));
  }
  if (seq != entry.last_seq) {
    return damaged(path, reader.offset(), seq + 1, "the segment ends elsewhere");
  }
  return {};
}

Result<void> Recovery::check_file(const ManifestEntry& entry, bool& header_is_bad) {
  const std::string path = slot_path(directory_, entry.slot);
  auto file = files_.open(path, {.read_only = true});
  if (!file && file.error().code == ErrorCode::not_found) {
    return failure(
        ErrorCode::corruption,
        fmt::format("{}: offset 0: commits {} and on: the file is missing", path, entry.first_seq));
  }
  if (!file) return failure(file.error());
  WEIR_TRY_ASSIGN(const std::uint64_t size, (*file)->size());
  if (size != manifest_.segment_bytes || entry.used_bytes > manifest_.segment_bytes) {
    return failure(ErrorCode::corruption,
                   fmt::format("{}: offset {}: commits {} and on: the file has {} bytes, not {}",
                               path, size, entry.first_seq, size, manifest_.segment_bytes));
  }
  AlignedBuffer block;
  block.reserve(kBlockBytes);
  WEIR_TRY_ASSIGN(const std::size_t got, (*file)->read(0, block.data(), kBlockBytes, true));
  const auto header = decode_segment_header({block.data(), got}, path);
  if (!header && header.error().code == ErrorCode::unsupported) return failure(header.error());
  // All that a header says is in the manifest too: alone, a damaged one is no loss.
  header_is_bad = !header;
  if (header && (header->id.store_key != manifest_.store_key ||
                 header->id.generation != entry.generation || header->slot != entry.slot)) {
    return failure(
        ErrorCode::corruption,
        fmt::format("{}: offset 0: commits {} and on: the file belongs {}", path, entry.first_seq,
                    header->id.store_key != manifest_.store_key ? "to another store"
                                                                : "elsewhere in this store"));
  }
  return {};
}

Result<void> Recovery::scan_active(const ManifestEntry& entry, bool header_is_bad) {
  const std::string path = slot_path(directory_, entry.slot);
  WEIR_TRY_ASSIGN(auto file, files_.open(path, {.read_only = true}));
  ActiveScan scan{.entry = entry};
  WEIR_TRY(read_segment(*file, path, manifest_.segment_bytes, scan.image, kLoadPieceBytes));
  const StreamId id{manifest_.store_key, entry.generation};
  const std::string_view image(scan.image.data(), manifest_.segment_bytes);
  CommitReader reader(id, image, kSegmentDataOffset);
  std::uint64_t seq = 0;
  while (const auto found = reader.next()) {
    if (found->frame.seq <= seq) break;
    seq = found->frame.seq;
    scan.durable_seq_seen = std::max(scan.durable_seq_seen, found->frame.durable_seq);
    scan.commits.push_back({.seq = seq,
                            .offset = found->offset,
                            .end = found->offset + found->file_bytes,
                            .is_end_mark = found->frame.is_end_mark});
  }
  scan.seen_end = scan.used_bytes();
  // Behind the first flaw: what whole frames say of durability counts, and how far anything was
  // meant to be written.
  for (std::uint32_t at = scan.seen_end; at < image.size(); at += kBlockBytes) {
    const std::string_view rest = image.substr(at);
    const std::optional<Frame> meant = peek_frame(id, rest);
    if (!meant) continue;
    const std::uint64_t end =
        std::uint64_t{at} + kFrameHeaderBytes + std::min(meant->body_bytes, kFrameBodyBytes);
    scan.seen_end = std::max(
        scan.seen_end,
        round_to_block(static_cast<std::uint32_t>(std::min<std::uint64_t>(end, image.size()))));
    if (meant->index == 0) scan.stray_commits += 1;
    if (const auto whole = decode_frame(id, rest)) {
      scan.durable_seq_seen = std::max(scan.durable_seq_seen, whole->durable_seq);
    }
  }
  if (scan.used_bytes() < entry.used_bytes) {
    return damaged(path, scan.used_bytes(), seq + 1, "a durable commit is damaged");
  }
  if (header_is_bad && scan.commits.empty()) {
    return failure(ErrorCode::corruption,
                   fmt::format("{}: offset 0: commits {} and on: no header, no commit", path,
                               manifest_.durable_seq + 1));
  }
  actives_.push_back(std::move(scan));
  return {};
}

Result<void> Recovery::scan(RecoveryReport& report) {
  for (const ManifestEntry& entry : manifest_.entries) {
    bool header_is_bad = false;
    WEIR_TRY(check_file(entry, header_is_bad));
    if (header_is_bad) {
      const std::string path = slot_path(directory_, entry.slot);
      report.note += fmt::format("{}: its header is damaged. ", path);
      log::warning("a segment's header is damaged, its commits are whole",
                   {log::field("file", path)});
    }
    if (entry.is_active) WEIR_TRY(scan_active(entry, header_is_bad));
  }
  report.segments = manifest_.entries.size();
  return find_end(report);
}

Result<void> Recovery::find_end(RecoveryReport& report) {
  // Numbers beyond the manifest's are all in the active segments: walk them in order until one is
  // missing.
  std::uint64_t durable_seq = manifest_.durable_seq;
  std::map<std::uint64_t, const ActiveScan*> found;
  for (const ActiveScan& scan : actives_) {
    durable_seq = std::max(durable_seq, scan.durable_seq_seen);
    for (const CommitSpan& span : scan.commits) {
      if (span.seq > manifest_.durable_seq) found.emplace(span.seq, &scan);
    }
  }
  last_seq_ = manifest_.durable_seq;
  for (const auto& [seq, scan] : found) {
    if (seq != last_seq_ + 1) break;
    last_seq_ = seq;
  }
  if (durable_seq > last_seq_) {
    // Which of two segments it was in nobody can say; the one whose readable part ends with the
    // lower number is the likelier.
    const ActiveScan* likeliest = nullptr;
    for (const ActiveScan& scan : actives_) {
      if (likeliest == nullptr || scan.stray_commits > likeliest->stray_commits) likeliest = &scan;
    }
    return damaged(likeliest ? slot_path(directory_, likeliest->entry.slot) : directory_,
                   likeliest ? likeliest->used_bytes() : 0, last_seq_ + 1,
                   fmt::format("damaged, though commits up to {} were durable", durable_seq));
  }
  cut(report);
  return {};
}

void Recovery::cut(RecoveryReport& report) {
  for (ActiveScan& scan : actives_) {
    const std::size_t before = scan.commits.size();
    while (!scan.commits.empty() && scan.commits.back().seq > last_seq_) scan.commits.pop_back();
    const std::uint64_t cut_commits = before - scan.commits.size() + scan.stray_commits;
    const std::uint32_t cut_bytes = scan.seen_end - scan.used_bytes();
    report.cut_commits += cut_commits;
    report.cut_bytes += cut_bytes;
    if (cut_bytes == 0) continue;
    const std::string path = slot_path(directory_, scan.entry.slot);
    report.note += fmt::format("{}: offset {}: cut a torn tail of {} bytes. ", path,
                               scan.used_bytes(), cut_bytes);
    log::warning("cut a torn tail that was never acknowledged",
                 {log::field("file", path), log::field("offset", std::uint64_t{scan.used_bytes()}),
                  log::field("bytes", std::uint64_t{cut_bytes}), log::field("commits", cut_commits),
                  log::field("last_commit", last_seq_)});
  }
  for (const ActiveScan& scan : actives_) {
    const bool is_last = !scan.commits.empty() && scan.commits.back().seq == last_seq_;
    if (is_last && scan.commits.back().is_end_mark && report.cut_bytes == 0) {
      report.clean_stop = true;
    }
  }
}

Result<void> Recovery::replay(const Log::Replay& replay, RecoveryReport& report) {
  SegmentLoader loader(files_, directory_, manifest_.store_key);
  KindStream hot(directory_, manifest_, loader);
  KindStream cold(directory_, manifest_, loader);
  for (const ManifestEntry& entry : manifest_.entries) {
    const auto active = std::find_if(
        actives_.begin(), actives_.end(),
        [&entry](const ActiveScan& scan) { return scan.entry.number == entry.number; });
    const bool is_active = active != actives_.end();
    (entry.kind == SegmentKind::hot ? hot : cold).add(entry, is_active ? &*active : nullptr);
    if (!is_active) loader.add(entry);
  }
  WEIR_TRY(hot.advance());
  WEIR_TRY(cold.advance());
  while (hot.current() != nullptr || cold.current() != nullptr) {
    const bool hot_first =
        hot.current() != nullptr &&
        (cold.current() == nullptr || hot.current()->frame.seq < cold.current()->frame.seq);
    KindStream& next = hot_first ? hot : cold;
    const FoundCommit& commit = *next.current();
    report.commits += 1;
    report.bytes += commit.file_bytes;
    WEIR_TRY(replay(to_commit_info(commit, next.entry()), commit.body));
    WEIR_TRY(next.advance());
  }
  return {};
}

}  // namespace weir::store::journal
