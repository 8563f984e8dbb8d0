// SPDX-License-Identifier: Apache-2.0
// When something falls due, from the fields of an entity alone: the one reading of them that all
// stores share. A thing is due when its instant is not after `now` of its clock.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "core/job/job.h"
#include "core/queue/queue.h"
#include "store/store.h"

namespace weir::store {

// One instant of one clock: exactly one of the two is set.
struct DueAt {
  Due::Kind kind = Due::Kind::run_at;
  WallTime wall;
  StoreTime store;
};

// What a job waits for; at most two at a time (its start and its TTL). Value.
struct JobDues {
  std::array<DueAt, 2> at{};
  std::size_t count = 0;

  const DueAt* begin() const { return at.data(); }
  const DueAt* end() const { return at.data() + count; }
  void add(const DueAt& due) { at[count++] = due; }
};

// TTL bounds the first start only: the first claim takes expires_at away, a replay sets it anew.
inline bool has_running_ttl(const core::Job& job) {
  const bool waits_for_start = job.state == core::JobState::scheduled ||
                               job.state == core::JobState::pending ||
                               job.state == core::JobState::blocked;
  return waits_for_start && job.expires_at.is_set() && job.expires_at != StoreTime::never();
}

// Everything but retention, which needs the queue's settings too.
inline JobDues dues_of(const core::Job& job) {
  JobDues dues;
  const auto add_store = [&dues](Due::Kind kind, StoreTime at) {
    if (at != StoreTime::never()) dues.add(DueAt{.kind = kind, .wall = {}, .store = at});
  };
  switch (job.state) {
    case core::JobState::scheduled:
      if (job.due_at.is_set()) {
        add_store(Due::Kind::run_at, job.due_at);
      } else if (job.run_at != WallTime::never()) {
        dues.add(DueAt{.kind = Due::Kind::run_at, .wall = job.run_at, .store = {}});
      }
      break;
    case core::JobState::failed:
      add_store(Due::Kind::retry, job.due_at);
      break;
    case core::JobState::processing:
      if (job.lease) add_store(Due::Kind::lease, job.lease->deadline_at);
      break;
    case core::JobState::pending:
    case core::JobState::blocked:
    case core::JobState::completed:
    case core::JobState::dead:
    case core::JobState::cancelled:
    case core::JobState::expired:
      break;
  }
  if (has_running_ttl(job)) add_store(Due::Kind::ttl, job.expires_at);
  return dues;
}

// The deadline of a lease after the store was opened again. Workers get at least until
// `least_deadline` to come back; a lease that was bound to a connection of the server that ended is
// due now, whenever that was.
inline std::int64_t deadline_after_start(core::OwnerKind owner, std::int64_t deadline_ms,
                                         StoreTime least_deadline) {
  if (owner != core::OwnerKind::connection) return std::max(deadline_ms, least_deadline.ms);
  return std::max<std::int64_t>(1, least_deadline.ms - core::kLeaseGraceMs);
}

// How long a job that ended in `state` is kept: dead ones long, all others as completed ones
// (floods of expired or cancelled jobs must not outlive the completed ones by a month).
inline std::int64_t retention_ms(core::JobState state, const core::QueueSettings& settings) {
  return state == core::JobState::dead ? settings.dead_retention_ms
                                       : settings.completed_retention_ms;
}

// When retention takes an ended job. Besides, of the completed jobs of a queue only the newest
// completed_max by (ended_at, id) stay: the older ones are due at once.
inline StoreTime retention_at(const core::Job& job, const core::QueueSettings& settings) {
  return job.ended_at.plus(retention_ms(job.state, settings));
}

}  // namespace weir::store
