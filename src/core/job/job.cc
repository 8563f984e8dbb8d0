// SPDX-License-Identifier: Apache-2.0
#include "core/job/job.h"

#include <tuple>

namespace weir::core {
namespace {

// No options and options with nothing set mean the same.
bool same_options(const std::shared_ptr<const JobOptions>& a,
                  const std::shared_ptr<const JobOptions>& b) {
  if (a == b) return true;
  const JobOptions none;
  return (a ? *a : none) == (b ? *b : none);
}

// Two halves: a tuple of all fields at once compiles slowly.
auto identity_of(const Job& j) {
  return std::tie(j.id, j.queue, j.state, j.priority_class, j.last_verb, j.priority, j.rank,
                  j.version, j.kind, j.group, j.limit_key, j.unique_key, j.external_id, j.tags,
                  j.source_queue, j.original_enqueued_at, j.deadline_at, j.created_by,
                  j.encryption_key, j.payload_bytes);
}
auto life_of(const Job& j) {
  return std::tie(j.created_at, j.run_at, j.due_at, j.expires_at, j.claimed_at, j.completed_at,
                  j.dead_at, j.ended_at, j.ttl_ms, j.attempt, j.budget_start, j.excused_count,
                  j.excused_since, j.counters, j.dead_reason, j.has_history, j.has_result, j.lease);
}

}  // namespace

bool Job::operator==(const Job& other) const {
  return identity_of(*this) == identity_of(other) && life_of(*this) == life_of(other) &&
         same_options(options, other.options);
}

std::string_view to_string(AttemptOutcome outcome) {
  switch (outcome) {
    case AttemptOutcome::completed:
      return "completed";
    case AttemptOutcome::failed:
      return "failed";
    case AttemptOutcome::timeout:
      return "timeout";
    case AttemptOutcome::crash:
      return "crash";
    case AttemptOutcome::released:
      return "released";
    case AttemptOutcome::snoozed:
      return "snoozed";
    case AttemptOutcome::cancelled:
      return "cancelled";
    case AttemptOutcome::dead:
      return "dead";
    case AttemptOutcome::undelivered:
      return "undelivered";
  }
  return "unknown";
}

}  // namespace weir::core
