// SPDX-License-Identifier: Apache-2.0
// A queue: its identity and its settings. The first enqueue creates a queue with the server's
// defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "core/job/job.h"
#include "core/limits.h"

namespace weir::core {

// <queue>-dlq is a view of the dead jobs of <queue>.
inline constexpr std::string_view kDeadLetterSuffix = "-dlq";

enum class Durability : std::uint8_t { sync = 0, interval = 1 };
enum class ClaimMode : std::uint8_t { ride = 0, sync = 1 };  // does a claim wait for its own sync?
enum class DeliveryMode : std::uint8_t { at_least_once = 0, at_most_once = 1 };
enum class QueueOrder : std::uint8_t { priority = 0, deadline = 1, fifo = 2 };

// The words of these settings, the same in requests, answers and weir.toml. The parsers take '-'
// for '_' too. Errors: invalid_argument with the known words.
std::string_view to_string(ClaimMode mode);
std::string_view to_string(DeliveryMode mode);
std::string_view to_string(QueueOrder order);
Result<ClaimMode> parse_claim_mode(std::string_view text);
Result<DeliveryMode> parse_delivery_mode(std::string_view text);
Result<QueueOrder> parse_queue_order(std::string_view text);

// The door by which a request came in, where the rules must know it. Persistent nowhere.
enum class Door : std::uint8_t { http = 0, beanstalk = 1 };

// Value.
struct QueueSettings {
  PriorityClass priority_class = PriorityClass::P2;
  RetryPolicy retry = ladder_policy();
  std::uint32_t max_attempts = 6;  // kUnbounded: of a tube until somebody sets a bound
  std::int64_t lease_ms = kLeaseMsDefault;
  std::int64_t timeout_ms = 0;  // longest run of one attempt; 0: no bound but the extends
  std::int64_t ttl_ms = 0;      // default TTL; 0: none
  std::uint64_t max_depth = 0;  // enqueue is refused at this many waiting jobs; 0: no bound
  std::uint64_t payload_bytes_max = kPayloadBytesMax;
  Durability durability = Durability::sync;
  std::int64_t durability_interval_ms = 0;
  ClaimMode claim = ClaimMode::ride;
  DeliveryMode delivery = DeliveryMode::at_least_once;
  QueueOrder order = QueueOrder::priority;
  std::int64_t completed_retention_ms = kCompletedRetentionMs;
  std::uint64_t completed_max = kCompletedPerQueueMax;
  std::int64_t dead_retention_ms = kDeadRetentionMs;
  ExhaustionPolicy exhaustion = ExhaustionPolicy::dead;

  bool operator==(const QueueSettings&) const = default;
};

// Without a bound on attempts a lease that ends by time or with its connection gives the job back
// at once, uncharged. Only the beanstalkd door makes such queues: its protocol says so.
inline constexpr std::uint32_t kUnbounded = 0;
constexpr bool is_used_up(std::uint32_t charged, std::uint32_t max_attempts) {
  return max_attempts != kUnbounded && charged >= max_attempts;
}
// Jobs that are done go at once, in the change that ends them.
inline bool keeps_completed(const QueueSettings& settings) {
  return settings.completed_max > 0 && settings.completed_retention_ms > 0;
}

// What a queue has that the first job through `door` makes. `defaults` are the server's.
QueueSettings first_settings(Door door, const QueueSettings& defaults,
                             std::optional<std::int64_t> lease_ms);

// Errors: invalid_argument, naming the setting and what would be right. A queue that is unbounded
// already may stay so.
Result<void> check_queue_settings(const QueueSettings& settings, bool may_be_unbounded = false);
// What is allowed but seldom meant.
std::vector<std::string> queue_warnings(const QueueSettings& settings);

// "sync", or "interval:100ms".
std::string durability_text(const QueueSettings& settings);

// Value, an entity of the store.
struct Queue {
  QueueId id;
  std::uint32_t namespace_id = 0;  // 0 = default
  std::string name;
  QueueSettings settings;
  bool paused = false;      // gives no jobs
  bool draining = false;    // takes no new jobs
  bool is_deleted = false;  // its jobs are being removed in slices
  std::uint64_t version = 0;
  WallTime created_at;
  std::string created_by;

  bool operator==(const Queue&) const = default;
};

// What a request may change of a queue; unset fields stay. Value.
struct QueuePatch {
  std::optional<PriorityClass> priority_class;
  std::optional<RetryPolicy> retry;  // brings its max_attempts unless that is set too
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::int64_t> lease_ms, timeout_ms, ttl_ms;
  std::optional<std::uint64_t> max_depth, payload_bytes_max;
  std::optional<Durability> durability;
  std::optional<std::int64_t> durability_interval_ms;
  std::optional<ClaimMode> claim;
  std::optional<DeliveryMode> delivery;
  std::optional<QueueOrder> order;
  std::optional<std::int64_t> completed_retention_ms, dead_retention_ms;
  std::optional<std::uint64_t> completed_max;
  std::optional<bool> paused, draining;

  bool operator==(const QueuePatch&) const = default;
};

// Settings only: paused and draining are the queue's.
void apply_patch(const QueuePatch& patch, QueueSettings& settings);
// Reads what durability_text() writes. Errors: invalid_argument.
Result<void> parse_durability(std::string_view text, QueuePatch& into);

}  // namespace weir::core
