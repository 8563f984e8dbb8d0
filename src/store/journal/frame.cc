// SPDX-License-Identifier: Apache-2.0
// Encoding and checking of frames and segment headers.
#include "store/journal/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"

namespace weir::store::journal {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers on disk are little-endian");

constexpr std::uint32_t kFrameMagic = 0x4D524657;  // "WFRM"
constexpr std::uint16_t kFlagLast = 1, kFlagEndMark = 2, kFlagCold = 4;
constexpr std::uint32_t kFrameCrcOffset = 92;

constexpr std::string_view kSegmentMagic = "weirsegm";
constexpr std::uint32_t kSegmentHeaderBytes = 56;
constexpr std::uint32_t kSegmentCrcOffset = 12;

template <typename T>
void put(char* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
T get(const char* at) {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint32_t frame_crc(const char* data, std::uint32_t body_bytes) {
  return crc32c({data + kFrameHeaderBytes, body_bytes}, crc32c({data, kFrameCrcOffset}));
}

std::uint32_t segment_header_crc(const char* block) {
  return crc32c({block + kSegmentCrcOffset + 4, kSegmentHeaderBytes - kSegmentCrcOffset - 4},
                crc32c({block, kSegmentCrcOffset}));
}

}  // namespace

std::uint32_t encode_frame(const StreamId& id, const Frame& frame, std::string_view body,
                           char* out) {
  WEIR_ASSERT(body.size() <= kFrameBodyBytes && body.size() == frame.body_bytes, body.size());
  std::uint16_t flags = frame.is_last ? kFlagLast : std::uint16_t{0};
  if (frame.is_end_mark) flags |= kFlagEndMark;
  if (frame.kind == SegmentKind::cold) flags |= kFlagCold;
  put<std::uint32_t>(out, kFrameMagic);
  put<std::uint16_t>(out + 4, kStorageFormat);
  put<std::uint16_t>(out + 6, flags);
  put<std::uint64_t>(out + 8, id.store_key.high);
  put<std::uint64_t>(out + 16, id.store_key.low);
  put<std::uint64_t>(out + 24, id.generation);
  put<std::uint64_t>(out + 32, frame.seq);
  put<std::uint64_t>(out + 40, frame.durable_seq);
  put<std::int64_t>(out + 48, frame.store_time_ms);
  put<std::int64_t>(out + 56, frame.wall_time_ms);
  put<std::uint32_t>(out + 64, frame.index);
  put<std::uint32_t>(out + 68, frame.commit_bytes);
  put<std::uint32_t>(out + 72, frame.body_bytes);
  put<std::uint32_t>(out + 76, frame.epoch);
  put<std::uint32_t>(out + 80, frame.segment);
  put<std::uint64_t>(out + 84, 0);
  if (!body.empty()) std::memcpy(out + kFrameHeaderBytes, body.data(), body.size());
  put<std::uint32_t>(out + kFrameCrcOffset, frame_crc(out, frame.body_bytes));
  const std::uint32_t used = kFrameHeaderBytes + frame.body_bytes;
  const std::uint32_t padded = round_to_block(used);
  std::memset(out + used, 0, padded - used);
  return padded;
}

void encode_commit(const StreamId& id, const Frame& first, std::string_view body, char* out) {
  Frame frame = first;
  frame.commit_bytes = static_cast<std::uint32_t>(body.size());
  frame.index = 0;
  do {
    const std::string_view piece = body.substr(0, kFrameBodyBytes);
    body.remove_prefix(piece.size());
    frame.body_bytes = static_cast<std::uint32_t>(piece.size());
    frame.is_last = body.empty();
    out += encode_frame(id, frame, piece, out);
    frame.index += 1;
  } while (!body.empty());
}

void restamp_frame(std::uint64_t generation, char* data) {
  put<std::uint64_t>(data + 24, generation);
  put<std::uint32_t>(data + kFrameCrcOffset, frame_crc(data, get<std::uint32_t>(data + 72)));
}

std::optional<Frame> peek_frame(const StreamId& id, std::string_view data) {
  if (data.size() < kFrameHeaderBytes) return std::nullopt;
  const char* in = data.data();
  if (get<std::uint32_t>(in) != kFrameMagic || get<std::uint64_t>(in + 24) != id.generation ||
      get<std::uint16_t>(in + 4) != kStorageFormat ||
      get<std::uint64_t>(in + 8) != id.store_key.high ||
      get<std::uint64_t>(in + 16) != id.store_key.low) {
    return std::nullopt;
  }
  const auto flags = get<std::uint16_t>(in + 6);
  return Frame{.seq = get<std::uint64_t>(in + 32),
               .durable_seq = get<std::uint64_t>(in + 40),
               .store_time_ms = get<std::int64_t>(in + 48),
               .wall_time_ms = get<std::int64_t>(in + 56),
               .index = get<std::uint32_t>(in + 64),
               .commit_bytes = get<std::uint32_t>(in + 68),
               .body_bytes = get<std::uint32_t>(in + 72),
               .epoch = get<std::uint32_t>(in + 76),
               .segment = get<std::uint32_t>(in + 80),
               .kind = (flags & kFlagCold) != 0 ? SegmentKind::cold : SegmentKind::hot,
               .is_last = (flags & kFlagLast) != 0,
               .is_end_mark = (flags & kFlagEndMark) != 0};
}

std::optional<Frame> decode_frame(const StreamId& id, std::string_view data) {
  const std::optional<Frame> frame = peek_frame(id, data);
  if (!frame) return std::nullopt;
  if (frame->body_bytes > kFrameBodyBytes || frame->body_bytes > data.size() - kFrameHeaderBytes) {
    return std::nullopt;
  }
  const auto wanted = get<std::uint32_t>(data.data() + kFrameCrcOffset);
  if (frame_crc(data.data(), frame->body_bytes) != wanted) return std::nullopt;
  return frame;
}

void encode_segment_header(const SegmentHeader& header, char* out) {
  std::memset(out, 0, kBlockBytes);
  std::memcpy(out, kSegmentMagic.data(), kSegmentMagic.size());
  put<std::uint32_t>(out + 8, kStorageFormat);
  put<std::uint64_t>(out + 16, header.id.store_key.high);
  put<std::uint64_t>(out + 24, header.id.store_key.low);
  put<std::uint64_t>(out + 32, header.id.generation);
  put<std::uint32_t>(out + 40, header.slot);
  put<std::uint32_t>(out + 44, header.segment_bytes);
  put<std::uint32_t>(out + kSegmentCrcOffset, segment_header_crc(out));
}

Result<SegmentHeader> decode_segment_header(std::string_view block, const std::string& path) {
  if (block.size() < kSegmentHeaderBytes || !block.starts_with(kSegmentMagic) ||
      get<std::uint32_t>(block.data() + kSegmentCrcOffset) != segment_header_crc(block.data())) {
    return failure(ErrorCode::corruption, fmt::format("{}: offset 0: no segment header", path));
  }
  const auto format = get<std::uint32_t>(block.data() + 8);
  if (format != kStorageFormat) {
    return failure(ErrorCode::unsupported,
                   fmt::format("{} has storage format {}, this program reads format {}", path,
                               format, kStorageFormat));
  }
  const char* in = block.data();
  return SegmentHeader{
      .id = {.store_key = {get<std::uint64_t>(in + 16), get<std::uint64_t>(in + 24)},
             .generation = get<std::uint64_t>(in + 32)},
      .slot = get<std::uint32_t>(in + 40),
      .segment_bytes = get<std::uint32_t>(in + 44)};
}

std::optional<FoundCommit> CommitReader::next() {
  std::uint64_t at = offset_;
  FoundCommit found{.offset = offset_};
  joined_.clear();
  for (std::uint32_t index = 0;; ++index) {
    if (at >= image_.size()) return std::nullopt;
    const std::string_view rest = image_.substr(at);
    const std::optional<Frame> frame = decode_frame(id_, rest);
    if (!frame || frame->index != index) return std::nullopt;
    if (index == 0) found.frame = *frame;
    if (frame->seq != found.frame.seq || frame->commit_bytes != found.frame.commit_bytes) {
      return std::nullopt;
    }
    if (!frame->is_last && frame->body_bytes != kFrameBodyBytes) return std::nullopt;
    found.body = rest.substr(kFrameHeaderBytes, frame->body_bytes);
    at += round_to_block(kFrameHeaderBytes + frame->body_bytes);
    if (index > 0 || !frame->is_last) joined_ += found.body;
    if (!frame->is_last) continue;
    found.is_joined = index > 0;
    if (found.is_joined) found.body = joined_;
    break;
  }
  if (at > image_.size() || found.body.size() != found.frame.commit_bytes) return std::nullopt;
  found.file_bytes = static_cast<std::uint32_t>(at) - offset_;
  offset_ = static_cast<std::uint32_t>(at);
  return found;
}

}  // namespace weir::store::journal
