// SPDX-License-Identifier: Apache-2.0
#include "engine/release_queue.h"

#include <utility>

namespace weir::engine {
namespace {

constexpr std::size_t kSpareMax = 4096;

void give(Work& work, EventBus& events, Waiters& waiters) {
  if (work.answered) work.answered(std::move(work.answer));
  for (const auto& [event, queue_name] : work.events) {
    events.publish(event, queue_name);
    if (!event.to || core::is_ended(*event.to)) waiters.ended(event.job);
  }
}

}  // namespace

void ReleaseQueue::release(std::uint64_t durable_seq, EventBus& events, Waiters& waiters) {
  while (!queue_.empty()) {
    // A deque keeps its elements in place while callbacks push more.
    std::vector<Work>& works = queue_.front();
    while (next_ < works.size()) {
      Work& work = works[next_];
      if (work.has_answer && work.is_sync && work.seq > durable_seq) return;
      ++next_;
      if (work.has_answer) give(work, events, waiters);
    }
    works.clear();
    if (works.capacity() <= kSpareMax) spare_ = std::move(works);
    queue_.pop_front();
    next_ = 0;
  }
}

}  // namespace weir::engine
