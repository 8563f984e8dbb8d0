// SPDX-License-Identifier: Apache-2.0
#include "engine/id_pool.h"

#include "base/assert.h"

namespace weir::engine {

Result<void> IdPool::reserve(std::uint64_t jobs, std::size_t queues) {
  while (jobs_left_ < jobs) {
    WEIR_TRY_ASSIGN(const store::IdRange range, store_.allocate_job_ids());
    if (range.count == 0) return failure(ErrorCode::unavailable, "the store gave no ids");
    ranges_.push_back(range);
    jobs_left_ += range.count;
  }
  while (queue_ids_.size() < queues) {
    WEIR_TRY_ASSIGN(const core::QueueId id, store_.allocate_queue_id());
    queue_ids_.push_back(id);
  }
  return {};
}

core::JobId IdPool::next_job_id() {
  WEIR_ASSERT(!ranges_.empty());
  store::IdRange& range = ranges_.front();
  const core::JobId id{range.first};
  ++range.first;
  --range.count;
  --jobs_left_;
  if (range.count == 0) ranges_.pop_front();
  return id;
}

std::uint64_t IdPool::peek_job_id() const {
  WEIR_ASSERT(!ranges_.empty());
  return ranges_.front().first;
}

core::QueueId IdPool::next_queue_id() {
  WEIR_ASSERT(!queue_ids_.empty());
  const core::QueueId id = queue_ids_.front();
  queue_ids_.pop_front();
  return id;
}

}  // namespace weir::engine
