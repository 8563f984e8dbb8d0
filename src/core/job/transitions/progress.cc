// SPDX-License-Identifier: Apache-2.0
// Progress: how far the holder has come, for people. Changes nothing else.
#include "base/text.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

constexpr std::size_t kProgressMessageBytesMax = 1 * kKiB;

}  // namespace

Decided decide_progress(Deciding& d, const Progress& command) {
  if (command.percent && *command.percent > 100) {
    return failure(ErrorCode::invalid_argument, "percent is over 100; it must be 0 to 100");
  }
  WEIR_TRY_ASSIGN(const Held held, find_held(d, command.job, command.token, Verb::progress));
  const Job& before = *held.found.job;
  JobChange& change = start_held_change(d, before);
  Lease& lease = *change.after.lease;
  if (command.percent) lease.progress_percent = *command.percent;
  if (command.message) {
    lease.progress_message = cut_utf8(*command.message, kProgressMessageBytesMax);
  }
  move_to(d, change, before, Verb::progress, JobState::processing);
  commit_riding(d);
  return moved(change.after);
}

}  // namespace weir::core
