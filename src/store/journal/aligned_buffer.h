// SPDX-License-Identifier: Apache-2.0
// A reusable block of memory that direct I/O accepts: it starts at a multiple of 4 KiB. Value that
// moves, one thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace weir::store::journal {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : memory_(std::move(other.memory_)), capacity_(std::exchange(other.capacity_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    memory_ = std::move(other.memory_);
    capacity_ = std::exchange(other.capacity_, 0);
    return *this;
  }

  // Makes room for at least `size` bytes; what was there is lost when it has to grow. Never fails:
  // out of memory aborts.
  void reserve(std::size_t size);

  // Gives the memory back when it is larger than `size`.
  void shrink_above(std::size_t size) {
    if (capacity_ <= size) return;
    memory_.reset();
    capacity_ = 0;
  }

  char* data() { return memory_.get(); }
  const char* data() const { return memory_.get(); }
  std::size_t capacity() const { return capacity_; }

 private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  std::unique_ptr<char, Free> memory_;
  std::size_t capacity_ = 0;
};

}  // namespace weir::store::journal
