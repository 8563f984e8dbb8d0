// SPDX-License-Identifier: Apache-2.0
// Queues that give no jobs for a while: a gate of dispatch that opens by itself, unlike the setting
// `paused`, and that is gone with the server. By name: a queue may be paused before it has a job.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "engine/engine.h"

namespace weir::engine {

// One thread.
class Pauses {
 public:
  using Name = std::pair<std::uint32_t, std::string>;

  void add(std::uint32_t namespace_id, std::string_view queue, std::int64_t duration_ms,
           std::int64_t boot_ms) {
    pauses_[{namespace_id, std::string(queue)}] = {
        .duration_ms = duration_ms, .until_ms = saturating_add(boot_ms, duration_ms)};
    next_ms_ = std::min(next_ms_, saturating_add(boot_ms, duration_ms));
  }

  bool is_closed(std::uint32_t namespace_id, const std::string& queue) const {
    return !pauses_.empty() && pauses_.contains({namespace_id, queue});
  }
  QueuePause of(std::uint32_t namespace_id, std::string_view queue, std::int64_t boot_ms) const {
    const auto at = pauses_.find({namespace_id, std::string(queue)});
    if (at == pauses_.end()) return {};
    return {.duration_ms = at->second.duration_ms,
            .left_ms = std::max<std::int64_t>(0, at->second.until_ms - boot_ms)};
  }

  // Those that are over.
  std::vector<Name> take_ended(std::int64_t boot_ms) {
    std::vector<Name> ended;
    if (next_ms_ > boot_ms) return ended;
    next_ms_ = std::numeric_limits<std::int64_t>::max();
    for (auto at = pauses_.begin(); at != pauses_.end();) {
      if (at->second.until_ms <= boot_ms) {
        ended.push_back(at->first);
        at = pauses_.erase(at);
      } else {
        next_ms_ = std::min(next_ms_, at->second.until_ms);
        ++at;
      }
    }
    return ended;
  }
  // The largest number when nothing is paused; never later than the true instant.
  std::int64_t next_boot_ms() const { return next_ms_; }

 private:
  struct Pause {
    std::int64_t duration_ms = 0;
    std::int64_t until_ms = 0;  // boot time
  };
  std::map<Name, Pause> pauses_;
  std::int64_t next_ms_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace weir::engine
