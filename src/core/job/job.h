// SPDX-License-Identifier: Apache-2.0
// A job as the rules see it, and what hangs on it: payload, options, attempts.
//
// Job is the part that every verb reads and rewrites (a store packs it as tightly as it likes);
// JobBody is the part that is written at enqueue and changed by edit only, and is read when a job
// is handed out or shown; AttemptRecord is appended. Some fields serve doors that do not exist yet
// (design: format 1): they must survive copy, backup and upgrade.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/rare_text.h"
#include "base/strong.h"
#include "base/time.h"
#include "core/job/error_rule.h"
#include "core/job/retry.h"
#include "core/job/state.h"

namespace weir::core {

using JobId = Strong<struct JobIdTag, std::uint64_t>;
using QueueId = Strong<struct QueueIdTag, std::uint32_t>;

// What a job may set for itself; unset fields follow the queue's settings at the time they are
// needed. Value.
struct JobOptions {
  std::optional<std::uint32_t> max_attempts;
  std::optional<RetryPolicy> retry;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> timeout_ms;

  bool operator==(const JobOptions&) const = default;
};

enum class OwnerKind : std::uint8_t { none = 0, worker = 1, connection = 2 };

// The current hand-out of a job. The token is not kept: it is lease_token(key, job, attempt), see
// core/job/lease.h. Value.
struct Lease {
  StoreTime started_at;
  StoreTime deadline_at;  // StoreTime::never() for a lease without a timer (connection-bound doors)
  std::string worker_id;  // may be empty
  OwnerKind owner = OwnerKind::none;
  std::uint64_t connection = 0;  // with the boot it belongs to, for connection-bound doors
  std::uint64_t boot = 0;
  std::uint8_t progress_percent = 0;
  RareText progress_message;  // at most 1 KiB

  bool operator==(const Lease&) const = default;
};

// Counters only grow. `deliveries` equals `attempt`.
struct JobCounters {
  std::uint32_t failures = 0;
  std::uint32_t timeouts = 0;
  std::uint32_t releases = 0;
  std::uint32_t buries = 0;
  std::uint32_t kicks = 0;

  bool operator==(const JobCounters&) const = default;
};

enum class ExhaustionPolicy : std::uint8_t { dead = 0, move = 1, publish = 2, drop = 3 };

// Value. Strings that are usually absent are empty.
struct Job {
  JobId id;
  QueueId queue;
  JobState state = JobState::pending;
  PriorityClass priority_class = PriorityClass::P2;
  Verb last_verb =
      Verb::enqueue;  // what ended the last attempt or moved the job last; answers repeated verbs
  std::int32_t priority = 0;  // lower is more urgent
  std::int64_t rank = 0;      // acceptance order; by default the id
  std::uint64_t version = 0;  // grows with every change of this job (If-Match, guards)

  std::string kind;
  RareText group;
  RareText limit_key;  // "key": limits and fairness; empty means the group
  RareText unique_key;
  RareText external_id;  // a door's own id, indexed per queue
  std::vector<std::string> tags;
  std::shared_ptr<const JobOptions>
      options;  // shared and immutable: many jobs of one batch have the same; null = none

  WallTime created_at;
  WallTime run_at;        // shown; decides while state == scheduled and due_at is none
  StoreTime due_at;       // when a relative delay or a backoff ends; none: run_at decides
  StoreTime expires_at;   // TTL, until the first claim; none: no TTL
  WallTime claimed_at;    // start of the last attempt
  WallTime completed_at;  // end of any kind
  WallTime dead_at;
  StoreTime ended_at;  // the same end for retention
  std::int64_t ttl_ms = 0;

  std::uint32_t attempt = 0;        // ordinal of the last lease; never decreases
  std::uint32_t budget_start = 0;   // attempt at the last replay
  std::uint32_t excused_count = 0;  // all excuses
  std::uint32_t excused_since = 0;  // excuses since the last replay
  JobCounters counters;
  RareText dead_reason;      // "deserialization: …", "attempts used up (6): …"; empty unless dead
  bool has_history = false;  // an AttemptRecord exists
  bool has_result = false;
  std::optional<Lease> lease;  // set exactly while processing

  QueueId source_queue;              // where a moved job came from; 0 = here
  WallTime original_enqueued_at;     // none = created_at
  WallTime deadline_at;              // optional total deadline, no door sets it yet
  std::string created_by;            // principal, empty = anonymous
  std::uint32_t encryption_key = 0;  // 0 = plain
  std::uint32_t payload_bytes = 0;

  // Attempts that count against the bound.
  std::uint32_t charged() const { return attempt - budget_start - excused_since; }
  bool operator==(const Job& other) const;  // compares options by value
};

using TypedHeader = std::pair<std::string, std::string>;

inline constexpr std::string_view kJsonContentType = "application/json";

// Value. What the handler gets.
struct JobBody {
  std::string payload;
  std::string
      content_type;  // empty: kJsonContentType, the usual one, which is never spelt out here
  std::string content_encoding;
  std::vector<TypedHeader> headers;     // traceparent and others, unchanged
  std::uint64_t payload_reference = 0;  // a payload shared with another job; 0 = own

  std::string_view type() const {
    return content_type.empty() ? kJsonContentType : std::string_view(content_type);
  }
  void set_type(std::string_view type) {
    content_type = type == kJsonContentType ? std::string_view() : type;
  }
  bool operator==(const JobBody&) const = default;
};

// How an attempt ended. Persistent numbers.
enum class AttemptOutcome : std::uint8_t {
  completed = 1,
  failed = 2,
  timeout = 3,
  crash = 4,
  released = 5,
  snoozed = 6,
  cancelled = 7,
  dead = 8,
  undelivered = 9,
};
std::string_view to_string(AttemptOutcome outcome);

// Value. One attempt of a job, kept for its whole life.
struct AttemptRecord {
  std::uint32_t attempt = 0;
  std::string worker_id;
  WallTime started_at;
  WallTime ended_at;
  AttemptOutcome outcome = AttemptOutcome::failed;
  JobError error;
  std::string reason;  // the rule or the word that decided

  bool operator==(const AttemptRecord&) const = default;
};

}  // namespace weir::core
