// SPDX-License-Identifier: Apache-2.0
// A binary heap of instants with lazy deletion: an entry that its owner no longer means is dropped
// when it comes to the top, or all at once when stale entries outnumber the true ones. Putting is
// O(log n), nothing is searched.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::store::journal {

// One thread. Key: what the owner checks an entry by (a small value).
template <typename Key>
class TimerHeap {
 public:
  struct Entry {
    std::int64_t at = 0;
    Key key{};
  };

  void put(std::int64_t at, Key key) {
    heap_.push_back({at, key});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  // The earliest entry for which is_true(entry), nullptr when there is none; drops stale ones above
  // it.
  template <typename IsTrue>
  const Entry* top(const IsTrue& is_true) {
    while (!heap_.empty() && !is_true(heap_.front())) pop();
    return heap_.empty() ? nullptr : &heap_.front();
  }

  // Calls take(entry) for true entries at or before `until`, the earliest first, until it says
  // false. Does not disturb the heap but for dropping stale tops. Cost: O(k log k) for k entries
  // visited.
  template <typename IsTrue, typename Take>
  void peek(std::int64_t until, const IsTrue& is_true, const Take& take) {
    if (top(is_true) == nullptr) return;
    const auto worse = [this](std::size_t a, std::size_t b) { return later(heap_[a], heap_[b]); };
    frontier_.assign(1, 0);
    while (!frontier_.empty()) {
      std::pop_heap(frontier_.begin(), frontier_.end(), worse);
      const std::size_t node = frontier_.back();
      frontier_.pop_back();
      if (heap_[node].at > until) return;
      if (is_true(heap_[node]) && !take(heap_[node])) return;
      for (std::size_t child = 2 * node + 1; child <= 2 * node + 2 && child < heap_.size();
           ++child) {
        frontier_.push_back(child);
        std::push_heap(frontier_.begin(), frontier_.end(), worse);
      }
    }
  }

  // Drops stale entries when they outnumber `true_count` entries and a margin: O(1) a put, over
  // time.
  template <typename IsTrue>
  void compact(std::size_t true_count, const IsTrue& is_true) {
    if (heap_.size() <= 2 * true_count + 1024) return;
    std::erase_if(heap_, [&](const Entry& entry) { return !is_true(entry); });
    // The same key may stand twice with the same instant (put, moved on, put again): once is
    // enough.
    std::sort(heap_.begin(), heap_.end(),
              [](const Entry& a, const Entry& b) { return later(b, a); });
    heap_.erase(
        std::unique(heap_.begin(), heap_.end(),
                    [](const Entry& a, const Entry& b) { return a.at == b.at && a.key == b.key; }),
        heap_.end());
    if (heap_.capacity() > 4 * heap_.size() + 1024) heap_.shrink_to_fit();
  }

  std::size_t size() const { return heap_.size(); }
  std::size_t memory_bytes() const { return heap_.capacity() * sizeof(Entry); }

 private:
  // Equal entries stand side by side in order, so that a reader can pass over doubles.
  static bool later(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at > b.at : b.key < a.key;
  }
  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
  }

  std::vector<Entry> heap_;
  std::vector<std::size_t> frontier_;  // kept for its memory
};

}  // namespace weir::store::journal
