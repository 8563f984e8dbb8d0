// SPDX-License-Identifier: Apache-2.0
// Release: the holder gives the job back, uncharged, to its place, to the front, to the back, or
// after a delay.
#include "core/job/transitions/transition.h"

namespace weir::core {
namespace {

Moved repeated_answer(const Job& job) {
  Moved answer = moved(job);
  if (job.state != JobState::dead && job.state != JobState::scheduled) {
    answer.state = JobState::pending;
  }
  return answer;
}

// Ids only grow, so a fresh one is behind everything, and its negative before everything.
void place(Deciding& d, Job& job, ReleasePlace where) {
  if (where == ReleasePlace::keep) return;
  const auto fresh = static_cast<std::int64_t>(d.context.ids.next_job_id().value);
  job.rank = where == ReleasePlace::front ? -fresh : fresh;
}

}  // namespace

Decided decide_release(Deciding& d, const Release& command) {
  const std::int64_t delay_ms = command.delay_ms.value_or(0);
  WEIR_TRY_ASSIGN(const StartAt start, start_after_delay(d.now(), "delay", delay_ms));
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::release));
  const Job& before = *held.found.job;
  if (held.is_repeated) return repeated_answer(before);

  JobChange& change = start_held_change(d, before);
  Job& job = change.after;
  const AttemptOutcome outcome =
      command.undelivered ? AttemptOutcome::undelivered : AttemptOutcome::released;
  if (!command.undelivered) ++job.counters.releases;
  const bool is_excused = excuse_attempt(job, *held.found.queue);
  end_attempt(d, change, before,
              {.outcome = outcome, .reason = is_excused ? "" : "charged: excuses used up"});
  job.last_verb = Verb::release;
  commit_by(d, *held.found.queue);
  if (!is_excused && die_if_used_up(d, change, held.found, Verb::release)) return moved(job);
  place(d, job, command.place);
  set_placement(job, *held.found.queue, command.placement);
  if (start.state == JobState::scheduled) set_start(job, start);
  move_to(d, change, before, Verb::release, start.state);
  return moved(job);
}

}  // namespace weir::core
