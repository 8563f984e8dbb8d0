// SPDX-License-Identifier: Apache-2.0
// Ack: the holder of the lease has done the work.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {

Decided decide_ack(Deciding& d, const Ack& command) {
  if (command.result && command.result->size() > kResultBytesMax) {
    return failure(ErrorCode::too_large,
                   fmt::format("the result has {} bytes, at most {} are kept: store it elsewhere "
                               "and ack with a reference to it",
                               command.result->size(), kResultBytesMax));
  }
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::ack));
  const Job& before = *held.found.job;
  if (held.is_repeated) {
    return Moved{.job = before.id, .state = JobState::completed, .version = before.version};
  }
  if (!keeps_completed(held.found.queue->settings)) {
    complete_and_remove(d, before);
    commit_by(d, *held.found.queue);
    return Moved{.job = before.id, .state = JobState::completed, .version = before.version + 1};
  }
  JobChange& change = start_held_change(d, before);
  change.after.last_verb = Verb::ack;
  end_attempt(d, change, before, {.outcome = AttemptOutcome::completed});
  if (command.result) {
    change.result = *command.result;
    change.after.has_result = true;
  }
  end_job(d, change, before, Verb::ack, JobState::completed);
  commit_by(d, *held.found.queue);
  return moved(change.after);
}

}  // namespace weir::core
