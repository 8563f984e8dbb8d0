// SPDX-License-Identifier: Apache-2.0
#include "engine/release_queue.h"

namespace weir::engine {

void ReleaseQueue::release(std::uint64_t durable_seq, EventBus& events, Waiters& waiters) {
  while (!queue_.empty() && queue_.front().wait_seq <= durable_seq) {
    PendingRelease next = std::move(queue_.front());
    queue_.pop_front();
    if (next.answered) next.answered(std::move(next.answer));
    for (const auto& [event, queue_name] : next.events) {
      events.publish(event, queue_name);
      if (!event.to || core::is_ended(*event.to)) waiters.ended(event.job);
    }
  }
}

}  // namespace weir::engine
