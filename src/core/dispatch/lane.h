// SPDX-License-Identifier: Apache-2.0
// Lanes: dispatch never scans jobs. A lane is (queue, class, kind); its claimable jobs stand in
// order (priority, rank, id). Of a group only the head stands in a lane, and only while the group
// is free: a busy group's jobs are in no lane. (A later gate, such as a limit key, closes a lane in
// the same way and says when it opens.)
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "core/job/job.h"

namespace weir::core {

struct LaneKey {
  QueueId queue;
  PriorityClass priority_class = PriorityClass::P2;
  std::string kind;  // empty: jobs without kind

  bool operator==(const LaneKey&) const = default;
  auto operator<=>(const LaneKey&) const = default;
};

// Place of a job in its lane; lower goes first.
struct LaneOrder {
  std::int32_t priority = 0;
  std::int64_t rank = 0;
  JobId id;

  auto operator<=>(const LaneOrder&) const = default;
};

// The head of one open lane, with the next few places behind it. Lanes of paused queues are not
// listed.
struct LaneHead {
  LaneKey key;
  std::vector<LaneOrder> first;  // at least one, in order, as many as asked for or there are
  WallTime waiting_since;        // of the first: when it became claimable (run_at, or created_at)
};

// What a consumer asks for. Empty lists mean all.
struct LaneFilter {
  std::vector<QueueId> queues;
  std::vector<PriorityClass> classes;
  std::vector<std::string> kinds;
};

}  // namespace weir::core
