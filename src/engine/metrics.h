// SPDX-License-Identifier: Apache-2.0
// The text of /metrics in the Prometheus format, made at most once a second from what was counted:
// its cost does not grow with the number of jobs, and not beyond a bound with the number of queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/state.h"

namespace weir::engine {

inline constexpr std::size_t kMetricQueuesMax =
    1000;  // queues named in the text; the rest is counted
inline constexpr std::int64_t kMetricsEveryMs = 1000;

// What metrics show besides the state. Value.
struct MetricGauges {
  std::size_t mailbox = 0;
  std::size_t demands = 0;
  std::int64_t uptime_ms = 0;
  bool is_draining = false;
};

std::string metrics_text(State& state, const MetricGauges& gauges);

}  // namespace weir::engine
