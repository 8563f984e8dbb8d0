// SPDX-License-Identifier: Apache-2.0
// Everything that may be asked of the core, as values. Doors make them from bytes, the ticker from
// time.
// Checklist for a new command: struct here, its place in the variant, its reads() and its file in
// core/job/transitions/ (or core/queue/), its Answer, its row in docs/states.md, its cases in
// transition_table_test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/job/job.h"
#include "core/job/lease.h"
#include "core/key/key.h"
#include "core/queue/queue.h"

namespace weir::core {

// A place in the lane that a door's own number asks for. Value.
struct Placement {
  std::int32_t priority = 0;
  std::optional<std::int64_t> rank;  // none: the order of acceptance
};

// One job to be made. Exactly one of delay_ms and run_at, or neither.
struct NewJob {
  JobBody body;
  std::string kind;
  std::optional<PriorityClass> priority_class;
  std::int32_t priority = 0;
  std::optional<std::int64_t> rank;  // else the order of acceptance
  std::optional<std::int64_t> delay_ms;
  std::optional<WallTime> run_at;
  JobOptions options;
  std::optional<std::int64_t> ttl_ms;
  std::string group;
  std::string limit_key;
  std::string unique_key;
  std::optional<std::int64_t> unique_window_ms;
  std::vector<std::string> tags;
  std::string external_id;
};

// Atomic: all or none. A unique hit does not refuse; it is marked. Queues are created on the way.
struct Enqueue {
  std::string queue;
  std::vector<NewJob> jobs;  // 1..kBatchJobsMax
  bool is_batch = false;     // errors name the index, the answer lists ids
  Door door = Door::http;    // says what the queue gets when this enqueue makes it
};

// Grants a lease for a job that dispatch chose. Made by the engine, not by doors (doors place
// demands).
struct Claim {
  JobId job;
  std::string worker_id;
  OwnerKind owner = OwnerKind::worker;
  std::uint64_t connection = 0;
  std::optional<std::int64_t> lease_ms;  // else the job's, else the queue's
  // A consumer named this very job: then also one that waits for its time, or is dead, and in a
  // paused queue too.
  bool is_by_id = false;
};

struct Ack {
  JobId job;
  LeaseToken token;
  std::optional<std::string> result;
};  // result: JSON text
struct Fail {
  JobId job;
  LeaseToken token;
  JobError error;
  std::optional<std::int64_t> retry_after_ms;
  bool dead = false;
  std::optional<Placement> placement;  // from now on
};
enum class ReleasePlace : std::uint8_t { keep, front, back };
// undelivered: set by the engine for a claim that was not wholly handed to the kernel (outcome
// undelivered, excused).
struct Release {
  JobId job;
  LeaseToken token;
  std::optional<std::int64_t> delay_ms;
  ReleasePlace place = ReleasePlace::keep;
  bool undelivered = false;
  std::optional<Placement> placement;  // with `keep`: another priority
};
// The connection that the lease is bound to has ended. The job goes back at once where the queue
// gives leases back, or when the server stops; else the attempt has failed (outcome crash).
struct Abandon {
  JobId job;
  LeaseToken token;
  bool is_server_stop = false;
};
struct Snooze {
  JobId job;
  LeaseToken token;
  std::optional<std::int64_t> delay_ms;
  std::optional<WallTime> until;
};
struct Extend {
  JobId job;
  LeaseToken token;
  std::optional<std::int64_t> lease_ms;
};
struct Progress {
  JobId job;
  LeaseToken token;
  std::optional<std::uint8_t> percent;
  std::optional<std::string> message;
};

struct Cancel {
  JobId job;
  std::string reason;
};
struct Promote {
  JobId job;
};
struct Replay {
  JobId job;
  std::string reason;
};
// by_client: a client of a door whose protocol lets anybody delete what nobody holds; no operator's
// act, and no way to what has ended otherwise than dead.
struct Erase {
  JobId job;
  bool is_by_client = false;
};
// Lets these jobs be claimed now, at their places: dead ones with their attempts anew, scheduled
// and failed ones. Ids that are gone or do not qualify are passed over. The engine makes the slices
// of a kick of many and keeps the audit entry of the first one only.
struct Kick {
  std::vector<JobId> jobs;
  std::string subject;  // for the audit: "queue mail", "job 7"
};
// Waiting jobs only. if_match: the version that the caller saw. A change of payload or content type
// writes a whole body: stored_body is what the job has now, read by whoever submits the command, so
// that headers and the rest are kept.
struct Edit {
  JobId job;
  std::optional<JobBody> stored_body;
  std::optional<std::uint64_t> if_match;
  std::optional<std::string> payload;
  std::optional<std::string> content_type;
  std::optional<PriorityClass> priority_class;
  std::optional<std::int32_t> priority;
  std::optional<WallTime> run_at;
  std::optional<std::vector<std::string>> tags;
};

// Time. Made by the ticker; decided like any other command, and no-ops when the job has moved on.
struct BecomeDue {
  JobId job;
};
struct ExpireLease {
  JobId job;
};
struct ExpireTtl {
  JobId job;
};
struct Retain {
  JobId job;
};  // an ended job whose retention is over, or that is over a cap
struct ForgetIdempotency {
  Hash128 scope;
};
struct ForgetUnique {
  QueueId queue;
  std::string key;
};

struct PutQueue {
  std::string queue;
  QueuePatch patch;
  bool replace = false;
};  // replace: unset fields go to defaults
// An empty queue goes at once. With force, or when it is marked already, one with jobs is marked
// is_deleted; the engine then removes the jobs in slices (Purge) and repeats the command at the
// end.
struct DeleteQueue {
  std::string queue;
  bool force = false;
};
// Removes these jobs: the waiting ones only, or all, whatever their state, when the queue is marked
// is_deleted. Ids that are gone or do not qualify are passed over. The engine makes the slices and
// keeps the audit entry of the first one only.
struct Purge {
  std::string queue;
  std::vector<JobId> slice;
};
struct PutToken {
  ApiToken token;
};
struct RevokeToken {
  std::string id;
};

using Command =
    std::variant<Enqueue, Claim, Ack, Fail, Release, Snooze, Extend, Progress, Cancel, Promote,
                 Replay, Erase, Edit, BecomeDue, ExpireLease, ExpireTtl, Retain, ForgetIdempotency,
                 ForgetUnique, PutQueue, DeleteQueue, Purge, PutToken, RevokeToken, Abandon, Kick>;

// An Idempotency-Key as the door saw it.
struct IdempotencyRef {
  Hash128 scope;    // of (token, route, key)
  Hash128 request;  // of the body
};

// A command, who asks, and under which Idempotency-Key.
struct Request {
  Command command;
  Principal principal;
  std::optional<IdempotencyRef> idempotency;
};

}  // namespace weir::core
