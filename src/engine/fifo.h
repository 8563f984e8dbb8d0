// SPDX-License-Identifier: Apache-2.0
// Fifo<T>: a queue in one block of memory that is used again: filled and emptied once a turn, it
// allocates nothing, where a deque of large values allocates for each. After a flood the memory is
// given back.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace weir::engine {

// One thread. References live until the next call that is not const.
template <typename T>
class Fifo {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  T& front() { return items_[head_]; }
  T& emplace_back() { return items_.emplace_back(); }

  // Gives everything at once for the memory of `out`, which is empty. False when some of it was
  // taken already: then it must be taken one by one.
  bool swap_out(std::vector<T>& out) {
    if (head_ != 0) return false;
    items_.swap(out);
    return true;
  }

  void pop_front() {
    if (++head_ == items_.size()) {
      clear();
    } else if (head_ > kKept && 2 * head_ > items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  static constexpr std::size_t kKept = 4096;

  void clear() {
    items_.clear();
    head_ = 0;
    if (items_.capacity() > 2 * kKept) std::vector<T>().swap(items_);
  }

  std::vector<T> items_;
  std::size_t head_ = 0;  // the first that was not taken
};

}  // namespace weir::engine
