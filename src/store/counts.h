// SPDX-License-Identifier: Apache-2.0
// Counts of a queue's jobs by state, kept with every change and never counted.
#pragma once

#include <cstddef>
#include <optional>

#include "base/assert.h"
#include "core/job/state.h"
#include "core/view.h"

namespace weir::store {

// Moves one job from `before` to `after`; nullopt: not there. A count below zero is a bug of the
// store.
inline void move_count(core::QueueCounts& counts, std::optional<core::JobState> before,
                       std::optional<core::JobState> after) {
  if (before) {
    auto& count = counts.by_state[static_cast<std::size_t>(*before)];
    WEIR_ASSERT(count > 0, static_cast<int>(*before));
    --count;
  }
  if (after) ++counts.by_state[static_cast<std::size_t>(*after)];
}

}  // namespace weir::store
