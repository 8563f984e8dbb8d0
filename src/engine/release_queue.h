// SPDX-License-Identifier: Apache-2.0
// Answers (and events) that are decided but not given yet, in order. Each waits until the store's
// durable_seq covers its commit, or for nothing at all; an answer never overtakes an earlier one.
// On the I/O loop every turn ends with an empty queue; a commit stage on a thread of its own would
// let it fill.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/answer.h"
#include "core/change.h"
#include "engine/engine.h"
#include "engine/events.h"

namespace weir::engine {

struct PendingRelease {
  std::uint64_t wait_seq = 0;  // 0: waits for nothing but those before it
  AnswerCallback answered;     // may be null
  core::Answer answer;
  std::vector<std::pair<core::Event, std::string>> events;  // with the queue's name
};

// One thread.
class ReleaseQueue {
 public:
  void push(PendingRelease release) { queue_.push_back(std::move(release)); }
  bool is_empty() const { return queue_.empty(); }

  // Gives everything, in order, that `durable_seq` allows. Callbacks may use the engine.
  void release(std::uint64_t durable_seq, EventBus& events, Waiters& waiters);

 private:
  std::deque<PendingRelease> queue_;
};

}  // namespace weir::engine
