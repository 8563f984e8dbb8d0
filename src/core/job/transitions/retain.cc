// SPDX-License-Identifier: Apache-2.0
// Retain: takes away an ended job that the store found past its retention or over a cap (the caps
// are the store's to count).
#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_retain(Deciding& d, const Retain& command) {
  const FoundJob found = find_timed_job(d, command.job);
  if (found.job == nullptr || !is_ended(found.job->state)) return Nothing{};
  remove_job(d, *found.job, Verb::purge);
  commit_riding(d);
  return Removed{.count = 1};
}

}  // namespace weir::core
