// SPDX-License-Identifier: Apache-2.0
// Extend: a later deadline for the lease. Never an earlier one, never past the start plus the job's
// timeout.
#include <algorithm>

#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

// An at-most-once job is over at its claim, but its worker may still send heartbeats: there is
// nothing left to lose.
bool is_over_by_claim(const FoundJob& found) {
  return found.job->state == JobState::completed &&
         found.queue->settings.delivery == DeliveryMode::at_most_once;
}

}  // namespace

Decided decide_extend(Deciding& d, const Extend& command) {
  if (command.lease_ms) {
    WEIR_TRY(check_duration("lease", *command.lease_ms, kLeaseMsMin, kLeaseMsMax));
  }
  Result<Held> held = find_held(d, command.job, command.token, Verb::extend);
  if (!held) {
    const Result<Held> acked = find_held(d, command.job, command.token, Verb::ack);
    if (!acked || !acked->is_repeated || !is_over_by_claim(acked->found)) {
      return failure(std::move(held).error());
    }
    held = acked;
  }
  const FoundJob& found = held->found;
  const Job& before = *found.job;
  const StoreTime now = d.now().store;
  StoreTime deadline =
      now.plus(command.lease_ms.value_or(effective_lease_ms(before, *found.queue)));
  if (held->is_repeated) {
    return Extended{.job = before.id, .lease_expires_at = to_wall(deadline, d.now())};
  }
  if (const std::int64_t timeout_ms = effective_timeout_ms(before, *found.queue); timeout_ms > 0) {
    deadline = std::min(deadline, before.lease->started_at.plus(timeout_ms));
  }
  deadline = std::max(deadline, before.lease->deadline_at);

  JobChange& change = start_held_change(d, before);
  change.after.lease->deadline_at = deadline;
  move_to(d, change, before, Verb::extend, JobState::processing);
  commit_riding(d);
  return Extended{.job = before.id, .lease_expires_at = to_wall(deadline, d.now())};
}

}  // namespace weir::core
