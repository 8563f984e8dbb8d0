// SPDX-License-Identifier: Apache-2.0
// The manifest: which segments the store consists of, and how far they are known to be durable.
//
// It is kept twice, in MANIFEST-a and MANIFEST-b, with equal content. A new version is written and
// synced to one file, then to the other: a crash leaves at least one whole version, and damage to
// one copy of a store at rest is repaired from the other. The first 40 bytes (the envelope) keep
// their place in every later format, so that any version can name any other.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "store/journal/file_system.h"
#include "store/journal/log.h"

namespace weir::store::journal {

inline constexpr std::size_t kManifestNoteBytesMax = 4096;

// One segment in use. Value.
struct ManifestEntry {
  std::uint32_t slot = 0;    // the file
  std::uint32_t number = 0;  // the segment that lies in it now
  std::uint64_t generation = 0;
  SegmentKind kind = SegmentKind::hot;
  bool is_active = false;        // may have commits beyond used_bytes
  std::uint32_t used_bytes = 0;  // up to here everything was synced when this was written
  std::uint64_t first_seq = 0, last_seq = 0;  // of the synced commits; 0 when there is none
  bool operator==(const ManifestEntry&) const = default;
};

// Value.
struct Manifest {
  std::uint64_t sequence = 0;  // grows with each version
  Hash128 store_key;
  std::uint64_t durable_seq = 0;  // every commit up to here was synced when this was written
  std::uint32_t next_number = 1;
  std::uint32_t segment_bytes = 0;
  std::string note;
  std::vector<ManifestEntry> entries;  // in order of number
  bool operator==(const Manifest&) const = default;
};

std::string encode_manifest(const Manifest& manifest);
// Errors: corruption, unsupported (whole, but of another format). `path` for the detail.
Result<Manifest> decode_manifest(std::string_view bytes, const std::string& path);

// The two files. One thread.
class ManifestFiles {
 public:
  ManifestFiles(FileSystem& files, std::string directory);

  struct Found {
    std::optional<Manifest> manifest;  // the newest whole version
    bool any_file = false;
    std::string note;  // for people: a copy that is missing or damaged
  };
  // Errors: unsupported (some copy is whole and of another format), io_error.
  Result<Found> load();

  // Writes `manifest` as the next version to both copies; durable when it returns. After an error
  // the caller stops.
  Result<void> store(Manifest& manifest);

  // Makes the files large enough for `entry_count` entries, so that store() never needs room.
  // Errors: store_full, io_error.
  Result<void> ensure_room(std::size_t entry_count);

  std::string path(std::size_t copy) const;

 private:
  Result<File*> file(std::size_t copy);

  FileSystem& files_;
  const std::string directory_;
  std::unique_ptr<File> open_[2];
  std::size_t older_ = 0;  // the copy to write first
  bool is_newest_synced_ = true;
  std::size_t room_bytes_ = 0;
};

}  // namespace weir::store::journal
