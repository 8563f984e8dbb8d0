// SPDX-License-Identifier: Apache-2.0
// What a command answers, as values; each door maps them to its own words. Every case of the
// variants must be named by the caller. Answers are persistent too (idempotency): their codec is
// answer_codec.cc, their numbers are never reused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "core/job/job.h"
#include "core/job/lease.h"
#include "core/queue/queue.h"

namespace weir::core {

struct Enqueued {
  QueueId queue;
  std::vector<JobId> ids;                    // one per job; a unique hit has the living job's id
  std::vector<std::uint32_t> duplicates;     // indexes of unique hits
  JobState first_state = JobState::pending;  // of ids[0]
  bool operator==(const Enqueued&) const = default;
};

// A granted lease. The job as it is now is in the ChangeSet; the body is read from the store when
// it is handed out.
struct Claimed {
  JobId job;
  LeaseToken token;
  std::uint64_t fence = 0;
  std::uint32_t max_attempts = 0;
  bool operator==(const Claimed&) const = default;
};

// Dispatch lost a race: the job is not claimable any more. Never leaves the engine.
struct NotClaimable {
  bool operator==(const NotClaimable&) const = default;
};

// The state a job is in after a verb.
struct Moved {
  JobId job;
  JobState state = JobState::pending;
  std::int64_t retry_after_ms = 0;  // failed: until the next attempt
  WallTime run_at;                  // scheduled (snooze, release with delay)
  RareText reason;                  // dead: why
  std::uint64_t version = 0;
  bool operator==(const Moved&) const = default;
};

struct Extended {
  JobId job;
  WallTime lease_expires_at;
  bool operator==(const Extended&) const = default;
};

struct Removed {  // erase, retention, purge slice, deleted queue
  std::uint64_t count = 0;
  bool operator==(const Removed&) const = default;
};

struct Kicked {  // jobs that may be claimed now
  std::uint64_t count = 0;
  bool operator==(const Kicked&) const = default;
};

struct QueueChanged {
  Queue queue;
  bool created = false;
  std::vector<std::string> warnings;  // e.g. more than 10 attempts
  bool operator==(const QueueChanged&) const = default;
};

struct TokenChanged {
  std::string id;
  bool operator==(const TokenChanged&) const = default;
};

struct Nothing {  // a timed command that found nothing to do
  bool operator==(const Nothing&) const = default;
};

// Error is a refusal: not_found, conflict, lease_lost, gone, queue_saturated, …
using Outcome = std::variant<Nothing, Enqueued, Claimed, NotClaimable, Moved, Extended, Removed,
                             QueueChanged, TokenChanged, Kicked, Error>;

struct Answer {
  Outcome outcome;
  bool durable = true;    // false in interval mode
  bool replayed = false;  // the stored answer of an earlier request with the same Idempotency-Key
  bool operator==(const Answer&) const = default;
};

}  // namespace weir::core
