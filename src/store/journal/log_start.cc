// SPDX-License-Identifier: Apache-2.0
// Opening a log: creation, recovery, and the fresh copy of what was active.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/digest.h"
#include "base/log.h"
#include "store/journal/journal_log.h"

namespace weir::store::journal {
namespace {

bool is_manifest_name(const std::string& name) {
  return name == "MANIFEST-a" || name == "MANIFEST-b";
}

}  // namespace

Result<std::unique_ptr<Log>> Log::open(FileSystem& files, const std::string& directory,
                                       const LogOptions& options, const Replay& replay,
                                       RecoveryReport& report) {
  auto log = std::make_unique<JournalLog>(files, directory, options);
  WEIR_TRY(log->start(replay, report));
  return std::unique_ptr<Log>(std::move(log));
}

JournalLog::JournalLog(FileSystem& files, std::string directory, const LogOptions& options)
    : files_(files),
      directory_(std::move(directory)),
      options_(options),
      prng_(options.prng_seed != 0 ? options.prng_seed : secure_random_u64()),
      manifest_files_(files, directory_) {}

Result<void> JournalLog::start(const Replay& replay, RecoveryReport& report) {
  if (!files_.exists(directory_)) {
    if (!options_.create || options_.read_only) {
      return failure(ErrorCode::not_found, fmt::format("{}: no such directory", directory_));
    }
    WEIR_TRY(files_.make_directory(directory_));
  }
  WEIR_TRY_ASSIGN(lock_, files_.lock_directory(directory_));
  WEIR_TRY_ASSIGN(ManifestFiles::Found found, manifest_files_.load());
  WEIR_TRY_ASSIGN(const std::vector<std::string> names, files_.list(directory_));
  const bool any_segment = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return slot_of_name(name).has_value();
  });
  if (found.manifest) {
    if (!found.note.empty())
      log::warning("repaired a manifest", {log::field("detail", found.note)});
    report.note += found.note;
    manifest_ = std::move(*found.manifest);
    if (options_.prng_seed != 0) {
      // A seeded log must not draw the generations of its last life again.
      prng_ = Prng(options_.prng_seed + manifest_.sequence * 0x9E3779B97F4A7C15u);
    }
    WEIR_TRY(load_store(replay, report));
  } else if (any_segment || (found.any_file && !options_.create)) {
    // A store writes its manifest before its first segment: this is not one that was never
    // finished.
    return failure(ErrorCode::corruption,
                   fmt::format("{}: no manifest: {}", directory_, found.note));
  } else if (!options_.create || options_.read_only) {
    return failure(ErrorCode::not_found, fmt::format("{}: no store here", directory_));
  } else {
    const bool is_ours = std::all_of(names.begin(), names.end(), [](const std::string& name) {
      return name == "LOCK" || name == "lost+found" || is_manifest_name(name);
    });
    if (!is_ours) {
      return failure(ErrorCode::conflict,
                     fmt::format("{}: holds other files, and no store", directory_));
    }
    WEIR_TRY(create_store());
    report.created = true;
  }
  if (options_.read_only) return {};
  if (!pool_) WEIR_TRY(make_pool({}));
  for (bool more = true; more;) {
    WEIR_TRY_ASSIGN(more, prepare_spares());
  }
  return {};
}

Result<void> JournalLog::create_store() {
  manifest_.store_key =
      options_.prng_seed != 0 ? Hash128{prng_.next(), prng_.next()} : secure_random_128();
  manifest_.segment_bytes = options_.segment_bytes;
  WEIR_TRY(manifest_files_.ensure_room(1));
  return manifest_files_.store(manifest_);
}

Result<void> JournalLog::load_store(const Replay& replay, RecoveryReport& report) {
  WEIR_TRY_ASSIGN(const std::vector<std::string> names, files_.list(directory_));
  WEIR_TRY(check_unused(names));
  Recovery recovery(files_, directory_, manifest_);
  WEIR_TRY(recovery.scan(report));
  WEIR_TRY(recovery.replay(replay, report));
  last_seq_ = recovery.last_seq();
  durable_seq_ = manifest_.durable_seq;
  add_recovered(recovery);
  if (options_.read_only) {
    durable_seq_ = last_seq_;
    return {};
  }
  WEIR_TRY(make_pool(names));
  WEIR_TRY(manifest_files_.ensure_room(segments_.size() + 1));
  for (ActiveScan& scan : recovery.actives()) WEIR_TRY(renew_active(scan));
  durable_seq_ = last_seq_;
  return write_manifest();
}

void JournalLog::add_recovered(Recovery& recovery) {
  for (const ManifestEntry& entry : manifest_.entries) {
    segments_.emplace(entry.number, Segment{.entry = entry,
                                            .used_bytes = entry.used_bytes,
                                            .first_seq = entry.first_seq,
                                            .last_seq = entry.last_seq});
  }
  for (const ActiveScan& scan : recovery.actives()) {
    Segment& segment = segments_.at(scan.entry.number);
    segment.used_bytes = scan.used_bytes();
    segment.first_seq = scan.commits.empty() ? 0 : scan.commits.front().seq;
    segment.last_seq = scan.commits.empty() ? 0 : scan.commits.back().seq;
  }
}

// A segment file that the manifest does not name is ours to overwrite, unless it says otherwise.
Result<void> JournalLog::check_unused(const std::vector<std::string>& names) {
  AlignedBuffer block;
  block.reserve(kBlockBytes);
  for (const std::string& name : names) {
    const auto slot = slot_of_name(name);
    if (!slot) continue;
    const std::string path = slot_path(directory_, *slot);
    WEIR_TRY_ASSIGN(const auto file, files_.open(path, {.read_only = true}));
    WEIR_TRY_ASSIGN(const std::size_t got, file->read(0, block.data(), kBlockBytes, true));
    const auto header = decode_segment_header({block.data(), got}, path);
    if (header && header->id.store_key != manifest_.store_key) {
      return failure(ErrorCode::corruption,
                     fmt::format("{}: offset 0: the file belongs to another store", path));
    }
    if (!header && header.error().code == ErrorCode::unsupported) return failure(header.error());
  }
  return {};
}

Result<void> JournalLog::make_pool(const std::vector<std::string>& names) {
  pool_ = std::make_unique<SegmentPool>(
      files_,
      SegmentPool::Settings{.directory = directory_,
                            .store_key = manifest_.store_key,
                            .segment_bytes = manifest_.segment_bytes,
                            .disk_bytes_max = options_.disk_bytes_max},
      prng_);
  for (const auto& [number, segment] : segments_) pool_->occupy(segment.entry.slot);
  for (const std::string& name : names) {
    const auto slot = slot_of_name(name);
    if (!slot) continue;
    const bool in_use = std::any_of(segments_.begin(), segments_.end(), [&slot](const auto& each) {
      return each.second.entry.slot == *slot;
    });
    if (in_use) continue;
    const std::string path = slot_path(directory_, *slot);
    WEIR_TRY_ASSIGN(const auto file, files_.open(path, {.read_only = true}));
    WEIR_TRY_ASSIGN(const std::uint64_t size, file->size());
    WEIR_TRY(pool_->adopt(*slot, size));
  }
  return {};
}

// Copies what is valid of an active segment into a fresh file, under the same number: locations
// stay. The found file is given back once no manifest names it; nothing is ever appended to it,
// because of its blocks nobody knows what the disk has.
Result<void> JournalLog::renew_active(ActiveScan& scan) {
  Segment& segment = segments_.at(scan.entry.number);
  const std::uint32_t found_slot = scan.entry.slot;
  if (scan.commits.empty()) {
    const std::lock_guard guard(mutex_);
    segments_.erase(scan.entry.number);
  } else {
    WEIR_TRY_ASSIGN(SegmentPool::Ready ready, pool_->take_for_restart());
    const std::uint32_t used = scan.used_bytes();
    char* const image = scan.image.data();
    for (std::uint32_t at = kSegmentDataOffset; at < used;) {
      const auto frame =
          decode_frame({manifest_.store_key, scan.entry.generation}, {image + at, used - at});
      if (!frame) {
        return damaged(slot_path(directory_, found_slot), at, scan.commits.front().seq,
                       "changed while it was copied");
      }
      restamp_frame(ready.generation, image + at);
      at += round_to_block(kFrameHeaderBytes + frame->body_bytes);
    }
    for (std::uint32_t at = kSegmentDataOffset; at < used;) {
      const std::uint32_t piece = std::min(kZeroPieceBytes, used - at);
      WEIR_TRY(ready.file->write(at, {image + at, piece}, true));
      at += piece;
    }
    WEIR_TRY(ready.file->sync());
    segment.entry = {.slot = ready.slot,
                     .number = scan.entry.number,
                     .generation = ready.generation,
                     .kind = scan.entry.kind,
                     .is_active = true,
                     .used_bytes = used,
                     .first_seq = scan.commits.front().seq,
                     .last_seq = scan.commits.back().seq};
    segment.used_bytes = used;
    segment.first_seq = segment.entry.first_seq;
    segment.last_seq = segment.entry.last_seq;
    segment.file = std::move(ready.file);
    active(scan.entry.kind) = &segment;
  }
  WEIR_TRY(write_manifest());
  return pool_->give_back(found_slot);
}

}  // namespace weir::store::journal
