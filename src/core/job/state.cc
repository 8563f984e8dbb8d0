// SPDX-License-Identifier: Apache-2.0
// The edge table itself. A row is (verb, from, to); `none` stands for a job that is not there.
#include "core/job/state.h"

#include "base/assert.h"

namespace weir::core {
namespace {

constexpr std::uint8_t kNone = 0;  // no JobState has the number 0

struct Edge {
  Verb verb;
  std::uint8_t from;
  std::uint8_t to;
};

constexpr std::uint8_t n(JobState s) { return static_cast<std::uint8_t>(s); }

constexpr std::uint8_t kScheduled = n(JobState::scheduled);
constexpr std::uint8_t kPending = n(JobState::pending);
constexpr std::uint8_t kProcessing = n(JobState::processing);
constexpr std::uint8_t kFailed = n(JobState::failed);
constexpr std::uint8_t kBlocked = n(JobState::blocked);
constexpr std::uint8_t kCompleted = n(JobState::completed);
constexpr std::uint8_t kDead = n(JobState::dead);
constexpr std::uint8_t kCancelled = n(JobState::cancelled);
constexpr std::uint8_t kExpired = n(JobState::expired);

constexpr Edge kEdges[] = {
    {Verb::enqueue, kNone, kPending},
    {Verb::enqueue, kNone, kScheduled},
    {Verb::claim, kPending, kProcessing},
    {Verb::claim, kScheduled, kProcessing},  // by its id only, and the next two
    {Verb::claim, kFailed, kProcessing},
    {Verb::claim, kDead, kProcessing},
    {Verb::claim, kPending, kCompleted},  // at-most-once: the claim is the ack
    {Verb::ack, kProcessing, kCompleted},
    {Verb::fail, kProcessing, kFailed},
    {Verb::fail, kProcessing, kDead},
    {Verb::bury, kProcessing, kDead},
    {Verb::release, kProcessing, kPending},
    {Verb::release, kProcessing, kScheduled},
    {Verb::release, kProcessing, kDead},  // excuses and attempts used up
    {Verb::snooze, kProcessing, kScheduled},
    {Verb::snooze, kProcessing, kDead},  // the same
    {Verb::extend, kProcessing, kProcessing},
    {Verb::progress, kProcessing, kProcessing},
    {Verb::cancel, kScheduled, kCancelled},
    {Verb::cancel, kPending, kCancelled},
    {Verb::cancel, kProcessing, kCancelled},
    {Verb::cancel, kFailed, kCancelled},
    {Verb::cancel, kBlocked, kCancelled},
    {Verb::promote, kScheduled, kPending},
    {Verb::promote, kFailed, kPending},
    {Verb::replay, kDead, kPending},
    {Verb::replay, kCancelled, kPending},
    {Verb::replay, kExpired, kPending},
    {Verb::erase, kScheduled, kNone},
    {Verb::erase, kPending, kNone},
    {Verb::erase, kFailed, kNone},
    {Verb::erase, kBlocked, kNone},
    {Verb::erase, kCompleted, kNone},
    {Verb::erase, kDead, kNone},
    {Verb::erase, kCancelled, kNone},
    {Verb::erase, kExpired, kNone},
    {Verb::expire_lease, kProcessing, kPending},  // where leases are given back
    {Verb::expire_lease, kProcessing, kFailed},
    {Verb::expire_lease, kProcessing, kDead},
    {Verb::expire_ttl, kScheduled, kExpired},
    {Verb::expire_ttl, kPending, kExpired},
    {Verb::expire_ttl, kBlocked, kExpired},
    {Verb::become_due, kScheduled, kPending},
    {Verb::become_due, kFailed, kPending},
    {Verb::edit, kScheduled, kScheduled},
    {Verb::edit, kScheduled, kPending},
    {Verb::edit, kPending, kPending},
    {Verb::edit, kPending, kScheduled},
    {Verb::edit, kFailed, kFailed},
    {Verb::edit, kBlocked, kBlocked},
    {Verb::purge, kScheduled, kNone},
    {Verb::purge, kPending, kNone},
    {Verb::purge, kProcessing, kNone},  // only with its whole queue
    {Verb::purge, kFailed, kNone},
    {Verb::purge, kBlocked, kNone},
    {Verb::purge, kCompleted, kNone},
    {Verb::purge, kDead, kNone},
    {Verb::purge, kCancelled, kNone},
    {Verb::purge, kExpired, kNone},
};

// legal[verb][from] has bit (1 << to).
struct EdgeIndex {
  std::uint16_t legal[kVerbCount + 1][kJobStateCount + 1] = {};
};

constexpr EdgeIndex make_index() {
  EdgeIndex index;
  for (const Edge& e : kEdges) {
    auto& row = index.legal[static_cast<std::size_t>(e.verb)][e.from];
    row = static_cast<std::uint16_t>(row | (1U << e.to));
  }
  return index;
}
constexpr EdgeIndex kIndex = make_index();

}  // namespace

std::string_view to_string(JobState state) {
  switch (state) {
    case JobState::scheduled:
      return "scheduled";
    case JobState::pending:
      return "pending";
    case JobState::processing:
      return "processing";
    case JobState::failed:
      return "failed";
    case JobState::blocked:
      return "blocked";
    case JobState::completed:
      return "completed";
    case JobState::dead:
      return "dead";
    case JobState::cancelled:
      return "cancelled";
    case JobState::expired:
      return "expired";
  }
  return "unknown";
}

std::string_view to_string(Verb verb) {
  switch (verb) {
    case Verb::enqueue:
      return "enqueue";
    case Verb::claim:
      return "claim";
    case Verb::ack:
      return "ack";
    case Verb::fail:
      return "fail";
    case Verb::release:
      return "release";
    case Verb::snooze:
      return "snooze";
    case Verb::extend:
      return "extend";
    case Verb::bury:
      return "bury";
    case Verb::cancel:
      return "cancel";
    case Verb::promote:
      return "promote";
    case Verb::replay:
      return "replay";
    case Verb::erase:
      return "delete";
    case Verb::expire_lease:
      return "expire_lease";
    case Verb::expire_ttl:
      return "expire_ttl";
    case Verb::become_due:
      return "become_due";
    case Verb::edit:
      return "edit";
    case Verb::progress:
      return "progress";
    case Verb::purge:
      return "purge";
  }
  return "unknown";
}

std::optional<JobState> job_state_from(std::string_view text) {
  for (const JobState state : kJobStates) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

bool is_legal_edge(Verb verb, std::optional<JobState> from, std::optional<JobState> to) {
  const std::uint8_t from_number = from ? n(*from) : kNone;
  const std::uint8_t to_number = to ? n(*to) : kNone;
  return (kIndex.legal[static_cast<std::size_t>(verb)][from_number] & (1U << to_number)) != 0;
}

void check_edge(Verb verb, std::optional<JobState> from, std::optional<JobState> to) {
  WEIR_ASSERT(is_legal_edge(verb, from, to), to_string(verb), from ? to_string(*from) : "none",
              to ? to_string(*to) : "none");
}

std::string_view to_string(PriorityClass priority_class) {
  switch (priority_class) {
    case PriorityClass::P0:
      return "P0";
    case PriorityClass::P1:
      return "P1";
    case PriorityClass::P2:
      return "P2";
    case PriorityClass::P3:
      return "P3";
    case PriorityClass::P4:
      return "P4";
  }
  return "unknown";
}

std::optional<PriorityClass> priority_class_from(std::string_view text) {
  if (text.size() != 2 || text[0] != 'P' || text[1] < '0' || text[1] > '4') return std::nullopt;
  return static_cast<PriorityClass>(text[1] - '0');
}

std::int64_t sla_ms(PriorityClass priority_class) {
  switch (priority_class) {
    case PriorityClass::P0:
      return 10'000;
    case PriorityClass::P1:
      return 60'000;
    case PriorityClass::P2:
      return 5 * 60'000;
    case PriorityClass::P3:
      return 60 * 60'000;
    case PriorityClass::P4:
      return 24 * 60 * 60'000;
  }
  return 0;
}

}  // namespace weir::core
