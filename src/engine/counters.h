// SPDX-License-Identifier: Apache-2.0
// What the engine counts as it goes; metrics.cc turns it into text. Counts only grow, and are taken
// from applied changes only, so that they agree with what the store holds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/answer.h"
#include "core/change.h"
#include "engine/engine.h"

namespace weir::engine {

// Seconds in buckets of fixed bounds. Value.
struct Histogram {
  static constexpr std::array<double, 14> kBoundsSeconds = {
      0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 3600, 21600, 86400};
  std::array<std::uint64_t, kBoundsSeconds.size() + 1> counts{};
  std::uint64_t count = 0;
  double sum_seconds = 0;

  void add_ms(std::int64_t ms);
};

inline constexpr std::size_t kMetricKindsMax =
    50;  // run times of further kinds are counted under "other"

// One thread.
struct Counters {
  std::uint64_t enqueued = 0, claimed = 0, completed = 0, failed = 0, dead = 0, retried = 0,
                expired_leases = 0;
  std::array<std::uint64_t, kErrorCodeCount> refused{};
  std::array<std::uint64_t, core::kPriorityClassCount> sla_met{}, sla_missed{};
  std::array<Histogram, core::kPriorityClassCount> wait;
  std::map<std::string, Histogram, std::less<>> run_by_kind;
  std::uint64_t turns = 0, turn_commands = 0;

  // Of one queue; made when there is none yet. Goes with its queue.
  QueueTally& tally(core::QueueId queue);
  QueueTally tally_of(core::QueueId queue) const;

  void note_applied(const core::ChangeSet& change);
  void note_answer(const core::Answer& answer);

 private:
  std::unordered_map<core::QueueId, QueueTally> tallies_;
  core::QueueId last_queue_;  // most changes follow one of the same queue
  QueueTally* last_tally_ = nullptr;
};

}  // namespace weir::engine
