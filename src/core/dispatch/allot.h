// SPDX-License-Identifier: Apache-2.0
// allot: the one function that chooses which lanes give how many jobs. Pure; explain uses it too.
//
// Strict class order before queue order; within a class the queues take turns; within a queue the
// lanes of one class merge by (priority, rank, id). One pick in kPicksPerOverdue goes to the most
// overdue lane head past its class's SLA, so that nothing starves. A queue with order = deadline
// ranks its heads by waiting_since + SLA instead of class.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/dispatch/lane.h"
#include "core/queue/queue.h"

namespace weir::core {

struct Pick {
  std::size_t lane = 0;  // index into heads
  LaneOrder order;       // the job picked: its place in that lane
};

// Picks at most `credit` jobs. `pick_count` counts all picks of the server's life (it drives turns
// and the overdue pick). `order_of` tells a queue's order setting. Requires: heads hold at least
// min(credit, lane size) places each.
std::vector<Pick> allot(std::span<const LaneHead> heads, std::uint32_t credit, Now now,
                        std::uint64_t pick_count,
                        const std::function<QueueOrder(QueueId)>& order_of);

}  // namespace weir::core
