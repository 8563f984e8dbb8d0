// SPDX-License-Identifier: Apache-2.0
// Jobs, their next states and the ChangeSets around them, made by hand and without the rules: what
// a store is tested with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/change.h"
#include "core/job/job.h"

namespace weir::test {

// A pending job with defaults; each call sets one thing. Value.
class JobBuilder {
 public:
  explicit JobBuilder(core::QueueId queue) { job_.queue = queue; }

  JobBuilder& kind(std::string kind);
  JobBuilder& priority_class(core::PriorityClass priority_class);
  JobBuilder& priority(std::int32_t priority);
  JobBuilder& rank(std::int64_t rank);  // else the id
  JobBuilder& group(std::string group);
  JobBuilder& unique_key(std::string key);
  JobBuilder& tags(std::vector<std::string> tags);
  JobBuilder& run_at(WallTime at);       // scheduled by the wall clock
  JobBuilder& due_at(StoreTime at);      // scheduled by the store's clock
  JobBuilder& expires_at(StoreTime at);  // TTL
  JobBuilder& created_at(WallTime at);   // else now
  core::Job build(core::JobId id, Now now) const;

 private:
  core::Job job_;
  bool has_rank_ = false;
};

// The next states of a job; version + 1 each.
core::Job claimed(core::Job job, Now now, std::int64_t lease_ms = 60'000);
core::Job released(core::Job job, Now now);
core::Job failed(core::Job job, Now now, std::int64_t retry_after_ms);
core::Job ended(core::Job job, core::JobState state, Now now);

core::JobChange enqueue_of(const core::Job& job, core::JobBody body = {.payload = "{}"});
core::JobChange change_of(const core::Job& before, const core::Job& after);
core::JobChange removal_of(const core::Job& before);

// A ChangeSet with that one change, synced.
core::ChangeSet only(core::JobChange change);
core::ChangeSet only(core::QueueChange change);
core::ChangeSet only(core::UniqueKeyChange change);
core::ChangeSet only(core::GroupLockChange change);
core::ChangeSet only(core::IdempotencyChange change);

}  // namespace weir::test
