// SPDX-License-Identifier: Apache-2.0
// Erase ("delete"): an operator removes a job with its payload and history. A running one must be
// cancelled first, so that its worker is told.
#include <fmt/format.h>

#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_erase(Deciding& d, const Erase& command) {
  WEIR_TRY_ASSIGN(const FoundJob found, find_job(d, command.job));
  const Job& before = *found.job;
  if (command.is_by_client && is_ended(before.state) && before.state != JobState::dead) {
    return failure(ErrorCode::not_found, fmt::format("job {} has ended", before.id.value));
  }
  if (before.state == JobState::processing) {
    return failure(conflict(
        fmt::format("job {} is processing; cancel it before deleting it", before.id.value)));
  }
  remove_job(d, before, Verb::erase);
  if (!command.is_by_client) audit(d, "delete", job_subject(before.id));
  commit_by(d, *found.queue);
  return Removed{.count = 1};
}

}  // namespace weir::core
