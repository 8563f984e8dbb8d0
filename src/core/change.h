// SPDX-License-Identifier: Apache-2.0
// A ChangeSet: everything one command does, as after-images of every entity it touches. Atomic at
// every store. Applying one twice is harmless. New features add entities here, not calls to the
// store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/answer.h"
#include "core/job/job.h"
#include "core/key/key.h"
#include "core/queue/queue.h"

namespace weir::core {

// What the store must find before it applies a change; a miss applies nothing of the ChangeSet.
struct JobGuard {
  bool absent = false;  // enqueue: the id must not exist
  JobState state = JobState::pending;
  std::uint32_t attempt = 0;
  std::uint64_t version = 0;
  StoreTime deadline_after;  // set: the lease must still run at this instant of the store's clock
};

struct JobChange {
  JobGuard guard;
  Job after;                             // ignored when erase is set, but for id and queue
  bool erase = false;                    // the job goes away with body, history and result
  std::optional<JobBody> body;           // enqueue, edit
  std::optional<AttemptRecord> attempt;  // appended to the history
  std::optional<std::string> result;     // ack
};

struct UniqueKeyChange {
  UniqueKey after;
  bool erase = false;
  std::optional<JobId> expected_job;  // guard: nullopt = must be absent (or belong to the same job)
};

struct GroupLockChange {
  GroupLock after;
  bool erase = false;
  std::optional<JobId> expected_holder;  // guard: nullopt = must be free
};

struct QueueChange {
  Queue after;
  bool erase = false;
  std::uint64_t expected_version =
      0;  // guard: 0 = must be absent (by id and by namespace and name)
};

struct IdempotencyChange {
  IdempotencyEntry after;
  bool erase = false;  // guard when not erased: must be absent
};

struct ApiTokenChange {
  ApiToken after;
};

// An operator's act, kept: who, what, when, why.
struct AuditRecord {
  WallTime at;
  std::string principal;
  std::string action;   // "purge", "replay", "cancel", "delete", "token create", …
  std::string subject;  // queue or job
  std::string reason;

  bool operator==(const AuditRecord&) const = default;
};

// For /v1/events, waiting clients and counters; not stored.
struct Event {
  Verb verb = Verb::enqueue;
  JobId job;
  QueueId queue;
  std::string kind;
  std::optional<JobState> from;
  std::optional<JobState> to;
  WallTime at;
  std::uint32_t attempt = 0;
  std::int64_t waited_ms = -1;  // claim: from due to start
  std::int64_t ran_ms = -1;     // end of an attempt
};

enum class CommitClass : std::uint8_t {
  none,      // changes nothing
  ride,      // written now, synced with the next sync (claims, extends, progress)
  interval,  // the queue's durability is interval: answered before the sync
  sync,      // answered when durable
};

struct ChangeSet {
  std::vector<JobChange> jobs;
  std::vector<UniqueKeyChange> unique_keys;
  std::vector<GroupLockChange> group_locks;
  std::vector<QueueChange> queues;
  std::vector<IdempotencyChange> idempotency;
  std::vector<ApiTokenChange> tokens;
  std::vector<AuditRecord> audit;
  std::vector<Event> events;
  CommitClass commit_class = CommitClass::none;
  bool may_use_reserve =
      false;  // claims, acks, fails, releases, retention: go on while the store is full
  Answer answer;

  // As new, but keeps the memory of the lists.
  void clear() {
    jobs.clear();
    unique_keys.clear();
    group_locks.clear();
    queues.clear();
    idempotency.clear();
    tokens.clear();
    audit.clear();
    events.clear();
    commit_class = CommitClass::none;
    may_use_reserve = false;
    answer.outcome.emplace<Nothing>();
    answer.durable = true;
    answer.replayed = false;
  }

  bool is_empty() const {
    return jobs.empty() && unique_keys.empty() && group_locks.empty() && queues.empty() &&
           idempotency.empty() && tokens.empty() && audit.empty();
  }
};

}  // namespace weir::core
