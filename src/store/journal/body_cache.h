// SPDX-License-Identifier: Apache-2.0
// Pieces of commit bodies kept in memory: the newest commits with payloads, and read-ahead windows
// of draining lanes. Bounded by bytes, oldest out first.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "store/journal/log.h"

namespace weir::store::journal {

// One thread.
class BodyCache {
 public:
  explicit BodyCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // `bytes` are what lies at `at` (its length is ignored).
  void put(const Location& at, std::string bytes) {
    if (bytes.size() + kEntryBytes > bytes_max_ / 2) return;
    const Key key{at.segment, at.commit_offset, at.body_offset};
    bytes_ += bytes.size() + kEntryBytes;
    auto [entry, is_new] = entries_.try_emplace(key);
    if (!is_new) bytes_ -= entry->second.size() + kEntryBytes;
    entry->second = std::move(bytes);
    if (is_new) order_.push_back(key);
    while (bytes_ > bytes_max_ && !order_.empty()) drop_oldest();
  }

  // The bytes at `at`, empty when they are not here. Lives until the next put.
  std::string_view find(const Location& at) const {
    auto entry = entries_.upper_bound(Key{at.segment, at.commit_offset, at.body_offset});
    if (entry == entries_.begin()) return {};
    --entry;
    const auto& [segment, commit, from] = entry->first;
    if (segment != at.segment || commit != at.commit_offset) return {};
    const std::size_t skip = at.body_offset - from;
    if (skip + at.length > entry->second.size()) return {};
    return std::string_view(entry->second).substr(skip, at.length);
  }

  std::size_t bytes() const { return bytes_; }

 private:
  using Key = std::tuple<std::uint32_t, std::uint32_t,
                         std::uint32_t>;  // segment, commit, offset in the body
  static constexpr std::size_t kEntryBytes = 128;

  void drop_oldest() {
    const auto entry = entries_.find(order_.front());
    order_.pop_front();
    if (entry == entries_.end()) return;
    bytes_ -= entry->second.size() + kEntryBytes;
    entries_.erase(entry);
  }

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::map<Key, std::string> entries_;
  std::deque<Key> order_;
};

}  // namespace weir::store::journal
