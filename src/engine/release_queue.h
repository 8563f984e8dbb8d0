// SPDX-License-Identifier: Apache-2.0
// Answers (and events) that are decided but not given yet, in order. Each waits until the store's
// durable_seq covers its commit, or for nothing at all; an answer never overtakes an earlier one.
// On the I/O loop every turn ends with an empty queue; a commit stage on a thread of its own would
// let it fill.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/events.h"
#include "engine/work.h"

namespace weir::engine {

// One thread.
class ReleaseQueue {
 public:
  // Works without an answer are passed over.
  void push(std::vector<Work> works) { queue_.push_back(std::move(works)); }
  bool is_empty() const { return queue_.empty(); }

  // Gives everything, in order, that `durable_seq` allows. Callbacks may use the engine.
  void release(std::uint64_t durable_seq, EventBus& events, Waiters& waiters);

  // An empty vector with the memory of works that were released.
  std::vector<Work> take_spare() { return std::move(spare_); }

 private:
  std::deque<std::vector<Work>> queue_;
  std::size_t next_ = 0;  // of the first vector: those before it were released
  std::vector<Work> spare_;
};

}  // namespace weir::engine
