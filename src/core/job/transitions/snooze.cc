// SPDX-License-Identifier: Apache-2.0
// Snooze: the holder puts the job off to a chosen time, uncharged.
#include "core/job/transitions/transition.h"

namespace weir::core {
namespace {

Result<StartAt> chosen_start(Now now, const Snooze& command) {
  if (command.delay_ms.has_value() == command.until.has_value()) {
    return failure(ErrorCode::invalid_argument, "snooze needs either delay or until");
  }
  if (command.delay_ms) return start_after_delay(now, "delay", *command.delay_ms);
  return start_at_instant(now, "until", *command.until);
}

Moved repeated_answer(const Job& job) {
  Moved answer = moved(job);
  if (job.state != JobState::dead) {
    answer.state = JobState::scheduled;
    answer.run_at = job.run_at;
  }
  return answer;
}

}  // namespace

Decided decide_snooze(Deciding& d, const Snooze& command) {
  WEIR_TRY_ASSIGN(const StartAt start, chosen_start(d.now(), command));
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::snooze));
  const Job& before = *held.found.job;
  if (held.is_repeated) return repeated_answer(before);

  JobChange& change = start_held_change(d, before);
  Job& job = change.after;
  const bool is_excused = excuse_attempt(job, *held.found.queue);
  end_attempt(
      d, change, before,
      {.outcome = AttemptOutcome::snoozed, .reason = is_excused ? "" : "charged: excuses used up"});
  job.last_verb = Verb::snooze;
  commit_by(d, *held.found.queue);
  if (!is_excused && die_if_used_up(d, change, held.found, Verb::snooze)) return moved(job);
  // Also a time that has passed goes through scheduled; it is due at once.
  set_start(job, start);
  move_to(d, change, before, Verb::snooze, JobState::scheduled);
  return moved(job);
}

}  // namespace weir::core
