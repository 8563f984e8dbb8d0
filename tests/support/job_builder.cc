// SPDX-License-Identifier: Apache-2.0
#include "support/job_builder.h"

#include <utility>

namespace weir::test {

JobBuilder& JobBuilder::kind(std::string kind) {
  job_.kind = std::move(kind);
  return *this;
}
JobBuilder& JobBuilder::priority_class(core::PriorityClass priority_class) {
  job_.priority_class = priority_class;
  return *this;
}
JobBuilder& JobBuilder::priority(std::int32_t priority) {
  job_.priority = priority;
  return *this;
}
JobBuilder& JobBuilder::rank(std::int64_t rank) {
  job_.rank = rank;
  has_rank_ = true;
  return *this;
}
JobBuilder& JobBuilder::group(std::string group) {
  job_.group = std::move(group);
  return *this;
}
JobBuilder& JobBuilder::unique_key(std::string key) {
  job_.unique_key = std::move(key);
  return *this;
}
JobBuilder& JobBuilder::tags(std::vector<std::string> tags) {
  job_.tags = std::move(tags);
  return *this;
}
JobBuilder& JobBuilder::run_at(WallTime at) {
  job_.state = core::JobState::scheduled;
  job_.run_at = at;
  return *this;
}
JobBuilder& JobBuilder::due_at(StoreTime at) {
  job_.state = core::JobState::scheduled;
  job_.due_at = at;
  return *this;
}
JobBuilder& JobBuilder::expires_at(StoreTime at) {
  job_.expires_at = at;
  return *this;
}
JobBuilder& JobBuilder::created_at(WallTime at) {
  job_.created_at = at;
  return *this;
}

core::Job JobBuilder::build(core::JobId id, Now now) const {
  core::Job job = job_;
  job.id = id;
  job.version = 1;
  if (!has_rank_) job.rank = static_cast<std::int64_t>(id.value);
  if (!job.created_at.is_set()) job.created_at = now.wall;
  if (!job.run_at.is_set()) job.run_at = job.created_at;
  if (job.expires_at.is_set()) job.ttl_ms = job.expires_at.since(now.store);
  job.payload_bytes = 2;
  return job;
}

core::Job claimed(core::Job job, Now now, std::int64_t lease_ms) {
  ++job.version;
  ++job.attempt;
  job.state = core::JobState::processing;
  job.last_verb = core::Verb::claim;
  job.claimed_at = now.wall;
  job.due_at = StoreTime::none();
  job.expires_at = StoreTime::none();
  job.lease = core::Lease{.started_at = now.store,
                          .deadline_at = now.store.plus(lease_ms),
                          .worker_id = "worker-1",
                          .owner = core::OwnerKind::worker};
  return job;
}

core::Job released(core::Job job, Now) {
  ++job.version;
  ++job.excused_count;
  ++job.excused_since;
  ++job.counters.releases;
  job.state = core::JobState::pending;
  job.last_verb = core::Verb::release;
  job.lease.reset();
  return job;
}

core::Job failed(core::Job job, Now now, std::int64_t retry_after_ms) {
  ++job.version;
  ++job.counters.failures;
  job.state = core::JobState::failed;
  job.last_verb = core::Verb::fail;
  job.lease.reset();
  job.due_at = now.store.plus(retry_after_ms);
  return job;
}

core::Job ended(core::Job job, core::JobState state, Now now) {
  ++job.version;
  job.state = state;
  job.last_verb = state == core::JobState::completed ? core::Verb::ack : core::Verb::cancel;
  job.lease.reset();
  job.due_at = StoreTime::none();
  job.expires_at = StoreTime::none();
  job.completed_at = now.wall;
  job.ended_at = now.store;
  if (state == core::JobState::dead) job.dead_at = now.wall;
  return job;
}

core::JobChange enqueue_of(const core::Job& job, core::JobBody body) {
  core::JobChange change;
  change.guard.absent = true;
  change.after = job;
  change.body = std::move(body);
  return change;
}

core::JobChange change_of(const core::Job& before, const core::Job& after) {
  core::JobChange change;
  change.guard = {.state = before.state, .attempt = before.attempt, .version = before.version};
  change.after = after;
  return change;
}

core::JobChange removal_of(const core::Job& before) {
  core::JobChange change = change_of(before, before);
  change.erase = true;
  return change;
}

namespace {

core::ChangeSet synced() {
  core::ChangeSet change_set;
  change_set.commit_class = core::CommitClass::sync;
  return change_set;
}

}  // namespace

core::ChangeSet only(core::JobChange change) {
  core::ChangeSet change_set = synced();
  change_set.jobs.push_back(std::move(change));
  return change_set;
}
core::ChangeSet only(core::QueueChange change) {
  core::ChangeSet change_set = synced();
  change_set.queues.push_back(std::move(change));
  return change_set;
}
core::ChangeSet only(core::UniqueKeyChange change) {
  core::ChangeSet change_set = synced();
  change_set.unique_keys.push_back(std::move(change));
  return change_set;
}
core::ChangeSet only(core::GroupLockChange change) {
  core::ChangeSet change_set = synced();
  change_set.group_locks.push_back(std::move(change));
  return change_set;
}
core::ChangeSet only(core::IdempotencyChange change) {
  core::ChangeSet change_set = synced();
  change_set.idempotency.push_back(std::move(change));
  return change_set;
}

}  // namespace weir::test
