// SPDX-License-Identifier: Apache-2.0
// Encoding of the manifest and its two files.
#include "store/journal/manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "store/journal/aligned_buffer.h"
#include "store/journal/frame.h"

namespace weir::store::journal {
namespace {

constexpr std::string_view kMagic = "weirmani";
constexpr std::size_t kEnvelopeBytes = 40, kCrcOffset = 16, kFixedBytes = kEnvelopeBytes + 40;
constexpr std::size_t kEntryBytes = 40;
constexpr std::size_t kRoomStepBytes = 64 << 10;
constexpr std::uint8_t kEntryActive = 1;

std::uint32_t manifest_crc(std::string_view bytes) {
  return crc32c(bytes.substr(kCrcOffset + 4), crc32c(bytes.substr(0, kCrcOffset)));
}

std::size_t room_for(std::size_t entry_count) {
  const std::size_t bytes = kFixedBytes + kManifestNoteBytesMax + entry_count * kEntryBytes;
  return (bytes + kRoomStepBytes - 1) / kRoomStepBytes * kRoomStepBytes;
}

void write_entry(ByteWriter& out, const ManifestEntry& entry) {
  out.u32(entry.slot);
  out.u32(entry.number);
  out.u64(entry.generation);
  out.u32(static_cast<std::uint32_t>(entry.kind) | (entry.is_active ? kEntryActive << 8 : 0));
  out.u32(entry.used_bytes);
  out.u64(entry.first_seq);
  out.u64(entry.last_seq);
}

bool read_entry(ByteReader& in, ManifestEntry& entry) {
  entry.slot = in.u32();
  entry.number = in.u32();
  entry.generation = in.u64();
  const std::uint32_t kind = in.u32();
  entry.used_bytes = in.u32();
  entry.first_seq = in.u64();
  entry.last_seq = in.u64();
  entry.kind = static_cast<SegmentKind>(kind & 0xFF);
  entry.is_active = (kind >> 8) == kEntryActive;
  return (kind & 0xFF) >= 1 && (kind & 0xFF) <= 2 && (kind >> 8) <= 1 && entry.number != 0;
}

}  // namespace

std::string encode_manifest(const Manifest& manifest) {
  WEIR_ASSERT(manifest.note.size() <= kManifestNoteBytesMax, manifest.note.size());
  std::string bytes(kMagic);
  ByteWriter out(bytes);
  const std::size_t length =
      kFixedBytes + manifest.note.size() + manifest.entries.size() * kEntryBytes;
  out.u32(kStorageFormat);
  out.u32(static_cast<std::uint32_t>(length));
  out.u32(0);  // checksum, below
  out.u32(0);
  out.u64(manifest.sequence);
  out.u64(0);
  out.u64(manifest.store_key.high);
  out.u64(manifest.store_key.low);
  out.u64(manifest.durable_seq);
  out.u32(manifest.next_number);
  out.u32(manifest.segment_bytes);
  out.u32(static_cast<std::uint32_t>(manifest.note.size()));
  out.u32(static_cast<std::uint32_t>(manifest.entries.size()));
  bytes += manifest.note;
  for (const ManifestEntry& entry : manifest.entries) write_entry(out, entry);
  WEIR_ASSERT(bytes.size() == length, bytes.size(), length);
  const std::uint32_t crc = manifest_crc(bytes);
  std::memcpy(bytes.data() + kCrcOffset, &crc, sizeof crc);
  return bytes;
}

Result<Manifest> decode_manifest(std::string_view bytes, const std::string& path) {
  const auto bad = [&path](std::string_view why) {
    return failure(ErrorCode::corruption, fmt::format("{}: {}", path, why));
  };
  if (bytes.size() < kEnvelopeBytes || !bytes.starts_with(kMagic)) return bad("not a manifest");
  ByteReader in(bytes.substr(kMagic.size()));
  const std::uint32_t format = in.u32();
  const std::uint32_t length = in.u32();
  const std::uint32_t crc = in.u32();
  if (length < kEnvelopeBytes || length > bytes.size()) return bad("bad length");
  if (crc != manifest_crc(bytes.substr(0, length))) return bad("bad checksum");
  if (format != kStorageFormat) {
    return failure(ErrorCode::unsupported,
                   fmt::format("{} has storage format {}, this program reads format {}", path,
                               format, kStorageFormat));
  }
  in = ByteReader(bytes.substr(kCrcOffset + 8, length - kCrcOffset - 8));
  Manifest manifest;
  manifest.sequence = in.u64();
  in.u64();
  manifest.store_key.high = in.u64();
  manifest.store_key.low = in.u64();
  manifest.durable_seq = in.u64();
  manifest.next_number = in.u32();
  manifest.segment_bytes = in.u32();
  const std::uint32_t note_bytes = in.u32();
  const std::uint32_t entry_count = in.u32();
  if (!in.ok() || note_bytes > kManifestNoteBytesMax ||
      in.left() != note_bytes + std::uint64_t{entry_count} * kEntryBytes) {
    return bad("bad lengths");
  }
  manifest.note = bytes.substr(kFixedBytes, note_bytes);
  in = ByteReader(bytes.substr(kFixedBytes + note_bytes, entry_count * kEntryBytes));
  manifest.entries.resize(entry_count);
  for (ManifestEntry& entry : manifest.entries) {
    if (!read_entry(in, entry)) return bad("bad entry");
  }
  return manifest;
}

ManifestFiles::ManifestFiles(FileSystem& files, std::string directory)
    : files_(files), directory_(std::move(directory)) {}

std::string ManifestFiles::path(std::size_t copy) const {
  return directory_ + (copy == 0 ? "/MANIFEST-a" : "/MANIFEST-b");
}

Result<ManifestFiles::Found> ManifestFiles::load() {
  Found found;
  std::uint64_t sequences[2] = {0, 0};
  for (std::size_t copy = 0; copy < 2; ++copy) {
    auto opened = files_.open(path(copy), {.read_only = true});
    if (!opened && opened.error().code != ErrorCode::not_found) return failure(opened.error());
    if (!opened) {
      found.note += fmt::format("{} is missing. ", path(copy));
      continue;
    }
    found.any_file = true;
    WEIR_TRY_ASSIGN(const std::uint64_t size, (*opened)->size());
    // Past the page cache: it may hold bytes that a failed sync has never brought to the disk.
    AlignedBuffer bytes;
    const std::size_t rounded = (size + kBlockBytes) / kBlockBytes * kBlockBytes;
    bytes.reserve(rounded);
    WEIR_TRY_ASSIGN(const std::size_t got, (*opened)->read(0, bytes.data(), rounded, true));
    Result<Manifest> manifest = decode_manifest({bytes.data(), got}, path(copy));
    if (!manifest && manifest.error().code == ErrorCode::unsupported) {
      return failure(std::move(manifest).error());
    }
    if (!manifest) {
      found.note += manifest.error().detail + ". ";
      continue;
    }
    sequences[copy] = manifest->sequence;
    if (!found.manifest || manifest->sequence > found.manifest->sequence) {
      found.manifest = std::move(*manifest);
    }
  }
  older_ = sequences[0] <= sequences[1] ? 0 : 1;
  is_newest_synced_ = false;
  return found;
}

Result<File*> ManifestFiles::file(std::size_t copy) {
  if (!open_[copy]) {
    WEIR_TRY_ASSIGN(open_[copy], files_.open(path(copy), {.create = true}));
  }
  return open_[copy].get();
}

Result<void> ManifestFiles::ensure_room(std::size_t entry_count) {
  const std::size_t wanted = room_for(entry_count);
  if (wanted <= room_bytes_) return {};
  const std::string zeros(kRoomStepBytes, '\0');
  // Also when the files are found: who made them may have been killed before their entries were
  // durable.
  const bool is_first = room_bytes_ == 0;
  for (std::size_t copy = 0; copy < 2; ++copy) {
    WEIR_TRY_ASSIGN(File * out, file(copy));
    WEIR_TRY_ASSIGN(std::uint64_t size, out->size());
    if (size >= wanted) continue;
    for (; size < wanted; size += zeros.size()) {
      WEIR_TRY(out->write(size, std::string_view(zeros).substr(0, wanted - size), false));
    }
    WEIR_TRY(out->sync());
  }
  if (is_first) WEIR_TRY(files_.sync_directory(directory_));
  room_bytes_ = wanted;
  return {};
}

Result<void> ManifestFiles::store(Manifest& manifest) {
  // What was read may not have been durable yet; it must be before the other copy is overwritten.
  if (!is_newest_synced_) {
    WEIR_TRY_ASSIGN(File * newest, file(1 - older_));
    WEIR_TRY(newest->sync());
    is_newest_synced_ = true;
  }
  manifest.sequence += 1;
  const std::string bytes = encode_manifest(manifest);
  for (const std::size_t copy : {older_, 1 - older_}) {
    WEIR_TRY_ASSIGN(File * out, file(copy));
    WEIR_TRY(out->write(0, bytes, false));
    WEIR_TRY(out->sync());
  }
  return {};
}

}  // namespace weir::store::journal
