// SPDX-License-Identifier: Apache-2.0
// Fail: the attempt did not work. The rule table and the retry policy decide between failed and
// dead; `dead` (bury) skips both.
#include <algorithm>

#include "base/text.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

JobError cut_error(const JobError& error) {
  return JobError{.error_class = std::string(cut_utf8(error.error_class, kNameBytesMax)),
                  .code = std::string(cut_utf8(error.code, kNameBytesMax)),
                  .http_status = error.http_status,
                  .message = std::string(cut_utf8(error.message, kErrorMessageBytesMax))};
}

// As the first time, as far as the job still tells: what is left of the delay, not what it was.
Moved repeated_answer(const Deciding& d, const Job& job) {
  Moved answer{.job = job.id, .state = JobState::failed, .version = job.version};
  if (job.state == JobState::dead) {
    answer.state = JobState::dead;
    answer.reason = job.dead_reason;
  } else if (job.state == JobState::failed) {
    answer.retry_after_ms = std::max<std::int64_t>(0, job.due_at.since(d.now().store));
  }
  return answer;
}

}  // namespace

Decided decide_fail(Deciding& d, const Fail& command) {
  if (command.retry_after_ms && *command.retry_after_ms < 0) {
    return failure(ErrorCode::invalid_argument, "retry_after is negative; it must be 0 or more");
  }
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::fail));
  const Job& before = *held.found.job;
  if (held.is_repeated) return repeated_answer(d, before);
  JobChange& change = start_held_change(d, before);
  ++change.after.counters.failures;
  if (command.dead) ++change.after.counters.buries;
  set_placement(change.after, *held.found.queue, command.placement);
  return fail_attempt(d, change, held.found,
                      {.verb = command.dead ? Verb::bury : Verb::fail,
                       .outcome = AttemptOutcome::failed,
                       .error = cut_error(command.error),
                       .retry_after_ms = command.retry_after_ms});
}

}  // namespace weir::core
