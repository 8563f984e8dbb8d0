// SPDX-License-Identifier: Apache-2.0
// The requests in flight on one connection, oldest first, for protocols that answer in order.
#pragma once

#include <bit>
#include <cstddef>
#include <vector>

namespace weir::bench {

// One thread. Grows when it is full.
template <typename T>
class Ring {
 public:
  explicit Ring(std::size_t capacity) : slots_(std::bit_ceil(capacity + 1)) {}
  void push(const T& value) {
    if (count_ == slots_.size()) grow();
    slots_[(begin_ + count_++) & (slots_.size() - 1)] = value;
  }
  const T& front() const { return slots_[begin_]; }
  void drop_front() {
    begin_ = (begin_ + 1) & (slots_.size() - 1);
    --count_;
  }
  T pop() {
    const T value = front();
    drop_front();
    return value;
  }
  std::size_t size() const { return count_; }

 private:
  void grow() {
    std::vector<T> larger(slots_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) larger[i] = slots_[(begin_ + i) & (slots_.size() - 1)];
    slots_ = std::move(larger);
    begin_ = 0;
  }

  std::vector<T> slots_;
  std::size_t begin_ = 0, count_ = 0;
};

}  // namespace weir::bench
