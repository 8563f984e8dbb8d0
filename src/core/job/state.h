// SPDX-License-Identifier: Apache-2.0
// The nine states, the verbs, and the one table of legal edges. Every change of a job's state
// passes through check_edge(); docs/states.md is the same table for people. Numbers are persistent:
// never renumber, only append.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::core {

enum class JobState : std::uint8_t {
  scheduled = 1,
  pending = 2,
  processing = 3,
  failed = 4,
  blocked = 5,
  completed = 6,
  dead = 7,
  cancelled = 8,
  expired = 9,
};
inline constexpr int kJobStateCount = 9;
inline constexpr std::array<JobState, kJobStateCount> kJobStates = {
    JobState::scheduled, JobState::pending,   JobState::processing,
    JobState::failed,    JobState::blocked,   JobState::completed,
    JobState::dead,      JobState::cancelled, JobState::expired};

constexpr bool is_ended(JobState s) { return s >= JobState::completed; }
constexpr bool is_waiting(JobState s) { return !is_ended(s) && s != JobState::processing; }

// What moved a job. Persistent numbers (history, events, repeated-verb answers).
enum class Verb : std::uint8_t {
  enqueue = 1,
  claim = 2,
  ack = 3,
  fail = 4,
  release = 5,
  snooze = 6,
  extend = 7,
  bury = 8,
  cancel = 9,
  promote = 10,
  replay = 11,
  erase = 12,  // "delete" on every surface; the word is taken in C++
  expire_lease = 13,
  expire_ttl = 14,
  become_due = 15,  // run_at or retry_after has come
  edit = 16,
  progress = 17,
  purge = 18,  // retention, or an operator's purge of waiting jobs
};
inline constexpr int kVerbCount = 18;

std::string_view to_string(JobState state);
std::string_view to_string(Verb verb);
std::optional<JobState> job_state_from(std::string_view text);

// May `verb` move a job from `from` to `to`? `from` is nullopt for a job that is not there yet
// (enqueue), `to` is nullopt for one that goes away (erase, purge).
bool is_legal_edge(Verb verb, std::optional<JobState> from, std::optional<JobState> to);

// Aborts on an illegal edge: decide() never makes one.
void check_edge(Verb verb, std::optional<JobState> from, std::optional<JobState> to);

enum class PriorityClass : std::uint8_t { P0 = 0, P1 = 1, P2 = 2, P3 = 3, P4 = 4 };
inline constexpr int kPriorityClassCount = 5;
std::string_view to_string(PriorityClass priority_class);
std::optional<PriorityClass> priority_class_from(std::string_view text);
// The start SLA: 10 s, 60 s, 5 min, 1 h, 24 h.
std::int64_t sla_ms(PriorityClass priority_class);

}  // namespace weir::core
