// SPDX-License-Identifier: Apache-2.0
// The bound on a job's history: at most kHistoryBytesMax, the middle goes first.
#pragma once

#include <cstddef>
#include <vector>

#include "core/job/job.h"
#include "core/limits.h"

namespace weir::store {

// What a record counts against the bound.
std::size_t history_bytes(const core::AttemptRecord& attempt);

// Brings `history` under `bytes_max`: the texts of middle attempts are cut first, then middle
// attempts themselves. The first and the last attempt always stay as they are.
void bound_history(std::vector<core::AttemptRecord>& history,
                   std::size_t bytes_max = core::kHistoryBytesMax);

}  // namespace weir::store
