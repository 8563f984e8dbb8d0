// SPDX-License-Identifier: Apache-2.0
#include "store/journal/segment_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {
Result<void> read_segment(File& file, const std::string& path, std::uint32_t bytes,
                          AlignedBuffer& out, std::uint32_t piece_bytes) {
  const std::uint32_t wanted = round_to_block(bytes);
  out.reserve(wanted);
  for (std::uint32_t done = 0; done < wanted;) {
    const std::uint32_t piece = std::min(piece_bytes, wanted - done);
    WEIR_TRY_ASSIGN(const std::size_t got, file.read(done, out.data() + done, piece, true));
    if (got != piece) {
      return failure(ErrorCode::corruption,
                     fmt::format("{}: offset {}: the file is too short", path, done + got));
    }
    done += piece;
  }
  return {};
}

CheckedCommits check_commits(const StreamId& id, std::string_view image) {
  CheckedCommits checked;
  CommitReader reader(id, image, kSegmentDataOffset);
  while (reader.offset() < image.size()) {
    std::optional<FoundCommit> found = reader.next();
    if (!found) break;
    if (found->is_joined) found->body = checked.joined.emplace_back(found->body);
    checked.commits.push_back(*found);
  }
  checked.end = reader.offset();
  return checked;
}

Result<LoadedSegment> SegmentLoader::take(std::uint32_t number) {
  const auto waiting =
      std::find_if(entries_.begin(), entries_.end(),
                   [number](const ManifestEntry& entry) { return entry.number == number; });
  if (waiting != entries_.end()) {
    start(*waiting);
    entries_.erase(waiting);
  }
  auto taken = ahead_.extract(number);
  WEIR_ASSERT(!taken.empty(), number);
  while (ahead_.size() < kAheadMax && !entries_.empty()) {
    start(entries_.front());
    entries_.pop_front();
  }
  return taken.mapped().get();
}

// Without a policy: when no thread can be had, the read happens at get().
void SegmentLoader::start(const ManifestEntry& entry) {
  AlignedBuffer buffer;
  if (!unused_.empty()) {
    buffer = std::move(unused_.back());
    unused_.pop_back();
  }
  ahead_[entry.number] =
      std::async([files = &files_, path = slot_path(directory_, entry.slot),
                  bytes = entry.used_bytes, id = StreamId{store_key_, entry.generation},
                  image = std::move(buffer)]() mutable -> Result<LoadedSegment> {
        WEIR_TRY_ASSIGN(auto file, files->open(path, {.read_only = true}));
        WEIR_TRY(read_segment(*file, path, bytes, image, kLoadPieceBytes));
        LoadedSegment loaded{.image = std::move(image), .checked = {}};
        loaded.checked = check_commits(id, {loaded.image.data(), bytes});
        return loaded;
      });
}

}  // namespace weir::store::journal
