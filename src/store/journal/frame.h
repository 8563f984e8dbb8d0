// SPDX-License-Identifier: Apache-2.0
// The bytes of a segment: its header block and the frames of commits. Pure functions over memory;
// docs/storage-format.md is the table of offsets. Persistent: a change here is a new format number.
//
// A commit's body is cut into frames; each full frame, header included, is exactly 512 KiB, and
// every frame starts at a multiple of 4 KiB. A frame belongs to a segment by (store key,
// generation): what a recycled file still holds from before, and what a payload imitates, has
// another generation and is not seen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"
#include "store/journal/log.h"

namespace weir::store::journal {

inline constexpr std::uint32_t kStorageFormat = 1;
inline constexpr std::uint32_t kFrameHeaderBytes = 96;
inline constexpr std::uint32_t kFrameBodyBytes = kFrameBodyBytesMax - kFrameHeaderBytes;
// The first block of a segment is its header; commits start behind it.
inline constexpr std::uint32_t kSegmentDataOffset = kBlockBytes;

// What makes a frame part of one taking of one segment of one store.
struct StreamId {
  Hash128 store_key;
  std::uint64_t generation = 0;
  bool operator==(const StreamId&) const = default;
};

struct Frame {
  std::uint64_t seq = 0;
  std::uint64_t durable_seq = 0;
  std::int64_t store_time_ms = 0;
  std::int64_t wall_time_ms = 0;
  std::uint32_t index = 0;         // of this frame in its commit
  std::uint32_t commit_bytes = 0;  // of the whole body of the commit
  std::uint32_t body_bytes = 0;    // of this frame
  std::uint32_t epoch = 0;
  std::uint32_t segment = 0;  // number
  SegmentKind kind = SegmentKind::hot;
  bool is_last = false;
  bool is_end_mark = false;
  bool operator==(const Frame&) const = default;
};

constexpr std::uint32_t round_to_block(std::uint32_t bytes) {
  return (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
}

// Bytes that a commit with a body of `body_bytes` takes in its segment.
constexpr std::uint64_t commit_file_bytes(std::uint64_t body_bytes) {
  const std::uint64_t full = body_bytes / kFrameBodyBytes;
  const std::uint64_t rest = body_bytes % kFrameBodyBytes;
  const std::uint64_t last =
      rest > 0 || full == 0 ? round_to_block(static_cast<std::uint32_t>(rest) + kFrameHeaderBytes)
                            : 0;
  return full * kFrameBodyBytesMax + last;
}

// Writes header, body and zeros up to the next block to `out`. Returns the bytes written.
std::uint32_t encode_frame(const StreamId& id, const Frame& frame, std::string_view body,
                           char* out);

// Writes all frames of a commit; `first` holds what they share. Requires: room for
// commit_file_bytes(body.size()).
void encode_commit(const StreamId& id, const Frame& first, std::string_view body, char* out);

// Puts another generation into the frame at `data`, which decode_frame has accepted.
void restamp_frame(std::uint64_t generation, char* data);

// The frame at the start of `data` when it is whole and belongs to `id`: magic, format, key,
// generation, lengths and checksum. Its body lies at data + kFrameHeaderBytes.
std::optional<Frame> decode_frame(const StreamId& id, std::string_view data);

// The same without the checksum: bytes that were meant to be a frame of this segment. Nothing in it
// is to be trusted.
std::optional<Frame> peek_frame(const StreamId& id, std::string_view data);

// The header block of a segment, kBlockBytes long.
struct SegmentHeader {
  StreamId id;
  std::uint32_t slot = 0;
  std::uint32_t segment_bytes = 0;
};
void encode_segment_header(const SegmentHeader& header, char* out);
// Errors: corruption (not a header, or a damaged one), unsupported (a whole header of another
// format). `path` for the detail.
Result<SegmentHeader> decode_segment_header(std::string_view block, const std::string& path);

// One commit as found in a segment. The body view lives as long as the image and the reader's next
// call.
struct FoundCommit {
  Frame frame;  // of the first frame
  std::uint32_t offset = 0;
  std::uint32_t file_bytes = 0;
  bool is_joined = false;  // several frames: the body lies in the reader, else in the image
  std::string_view body;
};

// Walks the commits of a segment in memory. One thread.
class CommitReader {
 public:
  // `image` starts at the segment's first byte and must outlive the reader.
  CommitReader(const StreamId& id, std::string_view image, std::uint32_t offset)
      : id_(id), image_(image), offset_(offset) {}

  // The commit at offset(), or nothing when there is none that is whole; offset() then stays.
  std::optional<FoundCommit> next();
  std::uint32_t offset() const { return offset_; }

 private:
  StreamId id_;
  std::string_view image_;
  std::uint32_t offset_;
  std::string joined_;  // body of a commit with several frames
};

}  // namespace weir::store::journal
