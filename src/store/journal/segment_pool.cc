// SPDX-License-Identifier: Apache-2.0
// Zero filling, recycling and handing out of segment files.
#include "store/journal/segment_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace weir::store::journal {
namespace {

constexpr std::string_view kNamePrefix = "segment-";

// Out of room or descriptors passes by itself; everything else stops the store.
bool is_passing(const Error& error) {
  return error.code == ErrorCode::store_full || error.code == ErrorCode::unavailable;
}

}  // namespace

std::string slot_path(const std::string& directory, std::uint32_t slot) {
  return fmt::format("{}/{}{:06}", directory, kNamePrefix, slot);
}

std::optional<std::uint32_t> slot_of_name(const std::string& name) {
  if (!name.starts_with(kNamePrefix)) return std::nullopt;
  std::uint64_t slot = 0;
  for (const char c : name.substr(kNamePrefix.size())) {
    if (c < '0' || c > '9' || slot > 99'999'999) return std::nullopt;
    slot = slot * 10 + static_cast<std::uint64_t>(c - '0');
  }
  const auto number = static_cast<std::uint32_t>(slot);
  if (slot == 0 || name != fmt::format("{}{:06}", kNamePrefix, number)) return std::nullopt;
  return number;
}

SegmentPool::SegmentPool(FileSystem& files, Settings settings, Prng& prng)
    : files_(files), settings_(std::move(settings)), prng_(prng) {}

void SegmentPool::occupy(std::uint32_t slot) {
  used_count_ += 1;
  disk_bytes_ += settings_.segment_bytes;
  next_slot_ = std::max(next_slot_, slot + 1);
}

Result<void> SegmentPool::adopt(std::uint32_t slot, std::uint64_t size) {
  next_slot_ = std::max(next_slot_, slot + 1);
  const bool is_surplus = recyclable_.size() + partial_.size() >= ready_count_max();
  if (size > settings_.segment_bytes || is_surplus) {
    return files_.remove(slot_path(settings_.directory, slot));
  }
  disk_bytes_ += size;
  if (size == settings_.segment_bytes) {
    recyclable_.push_back(slot);
  } else {
    partial_.emplace_back(slot, size);
  }
  return {};
}

std::size_t SegmentPool::ready_count() const {
  return spares_.size() + cleaner_.size() + (restart_ ? 1 : 0) + (workers_ ? 1 : 0);
}

void SegmentPool::put_ready(Ready ready) {
  if (!restart_) {
    restart_ = std::move(ready);
  } else if (cleaner_.size() < cleaner_count_) {
    cleaner_.push_back(std::move(ready));
  } else if (!workers_) {
    workers_ = std::move(ready);
  } else {
    spares_.push_back(std::move(ready));
  }
}

void SegmentPool::set_cleaner_reserve(std::size_t count) {
  cleaner_count_ = std::max<std::size_t>(count, 1);
  while (cleaner_.size() < cleaner_count_ && !spares_.empty()) {
    cleaner_.push_back(std::move(spares_.back()));
    spares_.pop_back();
  }
  while (cleaner_.size() > cleaner_count_) {
    spares_.push_back(std::move(cleaner_.back()));
    cleaner_.pop_back();
  }
}

Result<std::uint64_t> SegmentPool::write_header(std::uint32_t slot, File& file) {
  const std::uint64_t generation = prng_.next();
  buffer_.reserve(kBlockBytes);
  encode_segment_header({.id = {settings_.store_key, generation},
                         .slot = slot,
                         .segment_bytes = settings_.segment_bytes},
                        buffer_.data());
  WEIR_TRY(file.write(0, {buffer_.data(), kBlockBytes}, true));
  WEIR_TRY(file.sync());
  return generation;
}

Result<void> SegmentPool::recycle(std::uint32_t slot) {
  const std::string path = slot_path(settings_.directory, slot);
  WEIR_TRY_ASSIGN(std::unique_ptr<File> file, files_.open(path, {}));
  WEIR_TRY_ASSIGN(const std::uint64_t generation, write_header(slot, *file));
  // It may have been found without its directory entry being durable.
  WEIR_TRY(files_.sync_directory(settings_.directory));
  recyclable_.pop_front();
  put_ready({.slot = slot, .generation = generation, .file = std::move(file)});
  return {};
}

Result<void> SegmentPool::start_filling(Quota quota) {
  Filling filling;
  if (!partial_.empty()) {
    filling.slot = partial_.front().first;
    filling.done = partial_.front().second / kBlockBytes * kBlockBytes;
  } else {
    filling.slot = next_slot_;
  }
  const std::uint64_t missing = settings_.segment_bytes - filling.done;
  if (quota == Quota::keep && settings_.disk_bytes_max != 0 &&
      disk_bytes_ + missing > settings_.disk_bytes_max) {
    return failure(ErrorCode::store_full,
                   fmt::format("{}: the quota of {} bytes is used up", settings_.directory,
                               settings_.disk_bytes_max));
  }
  WEIR_TRY_ASSIGN(filling.file,
                  files_.open(slot_path(settings_.directory, filling.slot), {.create = true}));
  if (!partial_.empty()) {
    partial_.pop_front();
  } else {
    next_slot_ += 1;
  }
  filling_ = std::move(filling);
  return {};
}

Result<void> SegmentPool::fill_piece() {
  const std::uint64_t left = settings_.segment_bytes - filling_->done;
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(left, kZeroPieceBytes));
  buffer_.reserve(piece);
  std::memset(buffer_.data(), 0, piece);
  WEIR_TRY_ASSIGN(const std::uint64_t before, filling_->file->size());
  const Result<void> written = filling_->file->write(filling_->done, {buffer_.data(), piece}, true);
  // A write that ran out of room may have left a part.
  WEIR_TRY_ASSIGN(const std::uint64_t after, filling_->file->size());
  if (after > before) disk_bytes_ += after - before;
  WEIR_TRY(written);
  is_exhausted_ = false;
  filling_->done += piece;
  if (filling_->done < settings_.segment_bytes) return {};
  WEIR_TRY_ASSIGN(const std::uint64_t generation, write_header(filling_->slot, *filling_->file));
  WEIR_TRY(files_.sync_directory(settings_.directory));
  put_ready({.slot = filling_->slot, .generation = generation, .file = std::move(filling_->file)});
  filling_.reset();
  buffer_.shrink_above(kBlockBytes);
  return {};
}

Result<bool> SegmentPool::prepare_step(Quota quota) {
  if (!recyclable_.empty()) {
    WEIR_TRY(recycle(recyclable_.front()));
  } else {
    if (!filling_) WEIR_TRY(start_filling(quota));
    WEIR_TRY(fill_piece());
  }
  if (!is_complete()) return true;
  is_exhausted_ = false;
  return false;
}

Result<bool> SegmentPool::prepare() {
  if (is_complete()) return false;
  Result<bool> more = prepare_step(Quota::keep);
  if (!more && is_passing(more.error())) {
    if (!is_exhausted_) {
      log::warning("no room for another segment", {log::field("detail", more.error().detail)});
    }
    is_exhausted_ = true;
    return false;
  }
  return more;
}

Result<bool> SegmentPool::has_spare() {
  while (spares_.empty() && (!is_exhausted_ || !recyclable_.empty())) {
    WEIR_TRY_ASSIGN(const bool more, prepare());
    if (!more) break;
  }
  return !spares_.empty();
}

Result<SegmentPool::Ready> SegmentPool::take(Reserve reserve, bool& from_reserve) {
  WEIR_TRY_ASSIGN(const bool has, has_spare());
  Ready ready;
  from_reserve = !has;
  if (has) {
    ready = std::move(spares_.front());
    spares_.pop_front();
  } else if ((reserve == Reserve::workers || reserve == Reserve::start) && workers_) {
    ready = std::move(*std::exchange(workers_, std::nullopt));
  } else if (reserve != Reserve::none && !cleaner_.empty()) {
    ready = std::move(cleaner_.front());
    cleaner_.pop_front();
  } else if (reserve == Reserve::start && restart_) {
    ready = std::move(*std::exchange(restart_, std::nullopt));
  } else {
    return failure(ErrorCode::store_full,
                   fmt::format("{}: no segment is left", settings_.directory));
  }
  used_count_ += 1;
  return ready;
}

Result<SegmentPool::Ready> SegmentPool::take_for_restart() {
  while (ready_count() == 0) {
    // A store that was killed while it started may have used up even this: rather one segment over
    // the quota than a store that cannot be opened.
    WEIR_TRY(prepare_step(Quota::exceed));
  }
  Ready ready;
  if (!spares_.empty()) {
    ready = std::move(spares_.front());
    spares_.pop_front();
  } else {
    std::optional<Ready>& place = restart_ ? restart_ : workers_;
    if (place) {
      ready = std::move(*std::exchange(place, std::nullopt));
    } else {
      ready = std::move(cleaner_.front());
      cleaner_.pop_front();
    }
  }
  used_count_ += 1;
  return ready;
}

Result<void> SegmentPool::give_back(std::uint32_t slot) {
  used_count_ -= 1;
  if (recyclable_.size() + ready_count() < ready_count_max()) {
    recyclable_.push_back(slot);
    return {};
  }
  WEIR_TRY(files_.remove(slot_path(settings_.directory, slot)));
  disk_bytes_ -= settings_.segment_bytes;
  return {};
}

}  // namespace weir::store::journal
