// SPDX-License-Identifier: Apache-2.0
#include "store/journal/string_table.h"

#include <functional>

namespace weir::store::journal {

std::uint32_t StringTable::hash_of(std::string_view text) {
  const std::size_t hash = std::hash<std::string_view>{}(text);
  return static_cast<std::uint32_t>(hash ^ (hash >> 32));
}

std::size_t StringTable::bucket_of(std::string_view text, std::uint32_t hash) const {
  const std::size_t mask = buckets_.size() - 1;
  std::size_t at = hash & mask;
  while (buckets_[at] != 0) {
    const Entry& entry = entries_[buckets_[at]];
    if (entry.hash == hash && entry.text == text) break;
    at = (at + 1) & mask;
  }
  return at;
}

void StringTable::grow() {
  std::vector<std::uint32_t> larger(buckets_.empty() ? 64 : buckets_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (const std::uint32_t number : buckets_) {
    if (number == 0) continue;
    std::size_t at = entries_[number].hash & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = number;
  }
  buckets_ = std::move(larger);
}

std::uint32_t StringTable::acquire(std::string_view text) {
  if (text.empty()) return 0;
  if ((used_ + 1) * 4 > buckets_.size() * 3) grow();
  const std::uint32_t hash = hash_of(text);
  const std::size_t at = bucket_of(text, hash);
  if (buckets_[at] != 0) {
    ++entries_[buckets_[at]].references;
    return buckets_[at];
  }
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[number];
  entry.text = text;
  entry.references = 1;
  entry.hash = hash;
  buckets_[at] = number;
  ++used_;
  if (text.size() > 15) bytes_ += text.size();
  return number;
}

std::uint32_t StringTable::find(std::string_view text) const {
  if (text.empty() || buckets_.empty()) return 0;
  return buckets_[bucket_of(text, hash_of(text))];
}

void StringTable::release(std::uint32_t number) {
  if (number == 0 || --entries_[number].references > 0) return;
  Entry& entry = entries_[number];
  const std::size_t mask = buckets_.size() - 1;
  std::size_t hole = entry.hash & mask;
  while (buckets_[hole] != number) hole = (hole + 1) & mask;
  for (std::size_t at = (hole + 1) & mask; buckets_[at] != 0; at = (at + 1) & mask) {
    const std::size_t home = entries_[buckets_[at]].hash & mask;
    if (((at - home) & mask) >= ((at - hole) & mask)) {
      buckets_[hole] = buckets_[at];
      hole = at;
    }
  }
  buckets_[hole] = 0;
  if (entry.text.size() > 15) bytes_ -= entry.text.size();
  entry.text = std::string();
  free_.push_back(number);
  --used_;
}

}  // namespace weir::store::journal
