// SPDX-License-Identifier: Apache-2.0
// Reading what was written: pieces of bodies, whole segments again, and copies for backups. read()
// and copy_to() may run on a helper beside the owner.
#include <fmt/format.h>

#include <algorithm>

#include "store/journal/journal_log.h"
#include "store/journal/segment_load.h"

namespace weir::store::journal {
namespace {

constexpr std::size_t kOpenFilesMax =
    8;  // of full segments; every one costs one or two descriptors

// A place in a body, in terms of frames.
struct Piece {
  std::uint64_t frame_offset = 0;  // in the segment
  std::uint32_t skip = 0;          // bytes of the frame's body before the piece
  std::uint32_t length = 0;
};

Piece piece_at(const Location& at, std::uint64_t done) {
  const std::uint64_t position = at.body_offset + done;
  const std::uint64_t index = position / kFrameBodyBytes;
  const auto skip = static_cast<std::uint32_t>(position % kFrameBodyBytes);
  return {.frame_offset = at.commit_offset + index * kFrameBodyBytesMax,
          .skip = skip,
          .length = static_cast<std::uint32_t>(
              std::min<std::uint64_t>(kFrameBodyBytes - skip, at.length - done))};
}

// Reads one whole frame and checks it; appends the piece's bytes to `out`.
Result<void> read_checked(File& file, const std::string& path, const StreamId& id,
                          const Piece& piece, std::string& frame, std::string& out) {
  const auto bad = [&] {
    return failure(ErrorCode::corruption,
                   fmt::format("{}: offset {}: a frame is damaged", path, piece.frame_offset));
  };
  frame.resize(kBlockBytes);
  WEIR_TRY_ASSIGN(std::size_t got,
                  file.read(piece.frame_offset, frame.data(), frame.size(), false));
  const auto meant = peek_frame(id, std::string_view(frame).substr(0, got));
  if (!meant || meant->body_bytes > kFrameBodyBytes) return bad();
  const std::size_t whole = kFrameHeaderBytes + meant->body_bytes;
  if (whole > got) {
    frame.resize(whole);
    WEIR_TRY_ASSIGN(const std::size_t more,
                    file.read(piece.frame_offset + got, frame.data() + got, whole - got, false));
    got += more;
  }
  const auto checked = decode_frame(id, std::string_view(frame).substr(0, got));
  if (!checked || checked->body_bytes < std::uint64_t{piece.skip} + piece.length) return bad();
  out.append(frame, kFrameHeaderBytes + piece.skip, piece.length);
  return {};
}

}  // namespace

Result<JournalLog::OpenFile> JournalLog::open_for_reading(std::uint32_t number,
                                                          std::uint32_t slot) {
  {
    const std::lock_guard guard(mutex_);
    for (const auto& [each, file] : open_files_) {
      if (each == number) return file;
    }
  }
  WEIR_TRY_ASSIGN(auto opened, files_.open(slot_path(directory_, slot), {.read_only = true}));
  OpenFile file = std::move(opened);
  const std::lock_guard guard(mutex_);
  open_files_.emplace_back(number, file);
  if (open_files_.size() > kOpenFilesMax) open_files_.pop_front();
  return file;
}

void JournalLog::forget_open_file(std::uint32_t number) {
  std::erase_if(open_files_, [number](const auto& each) { return each.first == number; });
}

Result<std::string> JournalLog::read(const Location& at, bool check) {
  ManifestEntry entry;
  std::uint32_t used_bytes = 0;
  {
    const std::lock_guard guard(mutex_);
    const auto found = segments_.find(at.segment);
    if (found == segments_.end()) {
      return failure(ErrorCode::corruption, fmt::format("segment {} is not in use", at.segment));
    }
    entry.number = at.segment;
    entry.slot = found->second.entry.slot;
    entry.generation = found->second.entry.generation;
    used_bytes = found->second.used_bytes;
  }
  const std::string path = slot_path(directory_, entry.slot);
  const Piece last = piece_at(at, at.length > 0 ? at.length - 1 : 0);
  if (at.commit_offset < kSegmentDataOffset ||
      last.frame_offset + kFrameHeaderBytes + last.skip + last.length > used_bytes) {
    return failure(ErrorCode::corruption,
                   fmt::format("{}: offset {}: nothing was written there", path, at.commit_offset));
  }
  WEIR_TRY_ASSIGN(const OpenFile file, open_for_reading(entry.number, entry.slot));
  std::string out, frame;
  for (std::uint64_t done = 0; done < at.length; done = out.size()) {
    const Piece piece = piece_at(at, done);
    if (check) {
      WEIR_TRY(
          read_checked(*file, path, {manifest_.store_key, entry.generation}, piece, frame, out));
      continue;
    }
    out.resize(done + piece.length);
    WEIR_TRY_ASSIGN(const std::size_t got,
                    file->read(piece.frame_offset + kFrameHeaderBytes + piece.skip,
                               out.data() + done, piece.length, false));
    if (got != piece.length) {
      return failure(ErrorCode::corruption,
                     fmt::format("{}: offset {}: the file is too short", path, piece.frame_offset));
    }
  }
  return out;
}

Result<void> JournalLog::replay_segment(std::uint32_t number, const Replay& replay) {
  if (stopped_) return check_running();
  const auto found = segments_.find(number);
  if (found == segments_.end()) {
    return failure(ErrorCode::not_found, fmt::format("segment {} is not in use", number));
  }
  ManifestEntry entry = found->second.entry;
  entry.used_bytes = found->second.used_bytes;
  entry.last_seq = found->second.last_seq;
  const std::string path = slot_path(directory_, entry.slot);
  WEIR_TRY_ASSIGN(auto file, files_.open(path, {.read_only = true}));
  AlignedBuffer image;
  WEIR_TRY(read_segment(*file, path, entry.used_bytes, image, kZeroPieceBytes));
  return visit_commits(entry, manifest_.store_key, {image.data(), entry.used_bytes}, path, replay);
}

Result<ManifestEntry> JournalLog::copy_segment(FileSystem& files, const std::string& target,
                                               const CopyPiece& piece, std::uint64_t seq) {
  WEIR_TRY_ASSIGN(auto source, files_.open(piece.path, {.read_only = true}));
  AlignedBuffer image;
  WEIR_TRY(read_segment(*source, piece.path, piece.entry.used_bytes, image, kZeroPieceBytes));
  // A backup of damaged bytes is none: every commit is checked on the way.
  ManifestEntry entry = piece.entry;
  CommitReader reader({manifest_.store_key, entry.generation},
                      {image.data(), piece.entry.used_bytes}, kSegmentDataOffset);
  entry.is_active = false;
  entry.used_bytes = kSegmentDataOffset;
  entry.last_seq = 0;
  while (reader.offset() < piece.entry.used_bytes) {
    const auto found = reader.next();
    if (!found) {
      return damaged(piece.path, reader.offset(), entry.last_seq + 1,
                     "a durable commit is damaged");
    }
    if (found->frame.seq > seq) break;
    if (entry.last_seq == 0) entry.first_seq = found->frame.seq;
    entry.last_seq = found->frame.seq;
    entry.used_bytes = reader.offset();
  }
  if (entry.last_seq == 0) return entry;
  WEIR_TRY_ASSIGN(auto copy,
                  files.open(slot_path(target, entry.slot), {.create = true, .exclusive = true}));
  for (std::uint32_t at = 0; at < entry.used_bytes;) {
    const std::uint32_t bytes = std::min(kZeroPieceBytes, entry.used_bytes - at);
    WEIR_TRY(copy->write(at, {image.data() + at, bytes}, true));
    at += bytes;
  }
  WEIR_TRY(copy->truncate(manifest_.segment_bytes));
  WEIR_TRY(copy->sync());
  return entry;
}

Result<void> JournalLog::copy_to(FileSystem& files, const std::string& target, std::uint64_t seq) {
  if (seq > durable_seq_) {
    return failure(ErrorCode::invalid_argument, fmt::format("commit {} is not durable yet", seq));
  }
  WEIR_TRY(files.make_directory(target));
  WEIR_TRY_ASSIGN(const auto present, files.list(target));
  if (!present.empty()) {
    return failure(ErrorCode::conflict, fmt::format("{} is not empty", target));
  }
  WEIR_TRY_ASSIGN(const auto lock, files.lock_directory(target));
  Manifest copy{.store_key = manifest_.store_key,
                .durable_seq = seq,
                .segment_bytes = manifest_.segment_bytes};
  std::vector<CopyPiece> pieces;
  {
    const std::lock_guard guard(mutex_);
    copy.note = manifest_.note;
    for (auto& [number, segment] : segments_) {
      copy.next_number = number + 1;
      if (segment.is_freed || segment.used_bytes <= kSegmentDataOffset) continue;
      segment.pins += 1;
      pieces.push_back({segment.entry, slot_path(directory_, segment.entry.slot)});
      pieces.back().entry.used_bytes = segment.used_bytes;
    }
  }
  Result<void> outcome;
  for (const CopyPiece& piece : pieces) {
    if (outcome) {
      auto entry = copy_segment(files, target, piece, seq);
      if (!entry) {
        outcome = failure(std::move(entry).error());
      } else if (entry->last_seq != 0) {
        copy.entries.push_back(*entry);
      }
    }
    unpin(piece.entry.number);
  }
  WEIR_TRY(outcome);
  WEIR_TRY(files.sync_directory(target));
  // The manifest comes last: what is not complete is not a store.
  ManifestFiles manifests(files, target);
  WEIR_TRY(manifests.ensure_room(copy.entries.size()));
  return manifests.store(copy);
}

}  // namespace weir::store::journal
