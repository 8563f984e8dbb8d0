// SPDX-License-Identifier: Apache-2.0
// Jobs and queues for showing: what the store has, with the times of the store's clock turned into
// wall time.
#pragma once

#include <vector>

#include "engine/engine.h"
#include "engine/state.h"

namespace weir::engine {

// Errors of all: not_found, corruption, io_error.
Result<JobView> inspect_job(State& state, core::JobId id);
Result<Engine::JobPage> inspect_jobs(State& state, const store::ScanQuery& query);
Result<QueueView> inspect_queue(State& state, const core::Queue& queue);
Result<core::JobId> inspect_next_pending(State& state, std::string_view name,
                                         std::uint32_t namespace_id);
Result<std::vector<QueueView>> inspect_queues(State& state, std::uint32_t namespace_id);

}  // namespace weir::engine
