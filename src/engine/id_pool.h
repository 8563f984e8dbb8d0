// SPDX-License-Identifier: Apache-2.0
// Ids from the store's durable blocks. decide() may not fail for want of an id, so that enough of
// them are reserved before.
#pragma once

#include <cstdint>
#include <deque>

#include "base/result.h"
#include "core/decide.h"
#include "store/store.h"

namespace weir::engine {

// One thread. The store must outlive it.
class IdPool final : public core::IdSource {
 public:
  explicit IdPool(store::Store& store) : store_(store) {}

  // Makes sure that so many ids can be handed out. Errors: io_error, unavailable.
  Result<void> reserve(std::uint64_t jobs, std::size_t queues);

  // Requires: reserved. Ids grow from call to call.
  core::JobId next_job_id() override;
  core::QueueId next_queue_id() override;

  // The next job id: every job that exists has a smaller one. Requires: at least one is reserved.
  std::uint64_t peek_job_id() const;

 private:
  store::Store& store_;
  std::deque<store::IdRange> ranges_;
  std::uint64_t jobs_left_ = 0;
  std::deque<core::QueueId> queue_ids_;
};

}  // namespace weir::engine
