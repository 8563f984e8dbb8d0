// SPDX-License-Identifier: Apache-2.0
// Recycled slots in chunks: growing never copies, a slot's number is its name for its whole life.
// Slot 0 is never given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weir::store::journal {

// One thread. T must be default-constructible; a released slot is reset to T{}.
template <typename T, std::uint32_t kChunkSlots = 1024>
class SlotPool {
 public:
  std::uint32_t take() {
    ++used_;
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    const std::uint32_t slot = end_++;
    if (slot / kChunkSlots >= chunks_.size()) chunks_.push_back(std::make_unique<T[]>(kChunkSlots));
    return slot;
  }
  void release(std::uint32_t slot) {
    (*this)[slot] = T{};
    free_.push_back(slot);
    --used_;
  }
  T& operator[](std::uint32_t slot) { return chunks_[slot / kChunkSlots][slot % kChunkSlots]; }
  const T& operator[](std::uint32_t slot) const {
    return chunks_[slot / kChunkSlots][slot % kChunkSlots];
  }

  // Slots are below this number; some of them are free.
  std::uint32_t end() const { return end_; }
  std::size_t used() const { return used_; }
  std::size_t memory_bytes() const {
    return chunks_.size() * kChunkSlots * sizeof(T) + chunks_.capacity() * sizeof(void*) +
           free_.capacity() * sizeof(std::uint32_t);
  }

 private:
  std::vector<std::unique_ptr<T[]>> chunks_;
  std::vector<std::uint32_t> free_;
  std::uint32_t end_ = 1;
  std::size_t used_ = 0;
};

}  // namespace weir::store::journal
