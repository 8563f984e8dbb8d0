// SPDX-License-Identifier: Apache-2.0
// Interned, reference-counted strings: kinds, workers, groups, keys … are numbers in the index.
// Number 0 is the empty text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace weir::store::journal {

// One thread. Texts do not move while they are referenced.
class StringTable {
 public:
  // The number of `text`, with one reference more. Cost: one hash and one probe.
  std::uint32_t acquire(std::string_view text);
  void retain(std::uint32_t number) {
    if (number != 0) ++entries_[number].references;
  }
  void release(std::uint32_t number);
  // Without a reference; 0 when nobody holds `text` (or it is empty).
  std::uint32_t find(std::string_view text) const;
  std::string_view text(std::uint32_t number) const { return entries_[number].text; }

  std::size_t size() const { return used_; }
  std::size_t memory_bytes() const {
    return bytes_ + buckets_.capacity() * 4 + entries_.size() * sizeof(Entry);
  }

 private:
  struct Entry {
    std::string text;
    std::uint32_t references = 0;
    std::uint32_t hash = 0;
  };
  static std::uint32_t hash_of(std::string_view text);
  std::size_t bucket_of(std::string_view text, std::uint32_t hash)
      const;  // its bucket, or the empty one where it would go
  void grow();

  std::deque<Entry> entries_{1};
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> buckets_;  // numbers; 0: empty; a power of two
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;  // of texts too long to lie in their entry
};

}  // namespace weir::store::journal
