// SPDX-License-Identifier: Apache-2.0
// Expire TTL: the job was not started in time. After the first claim a TTL has no effect
// (expires_at is gone by then).
#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_expire_ttl(Deciding& d, const ExpireTtl& command) {
  const FoundJob found = find_timed_job(d, command.job);
  if (found.job == nullptr) return Nothing{};
  const Job& before = *found.job;
  if (!is_legal_edge(Verb::expire_ttl, before.state, JobState::expired) ||
      !before.expires_at.is_set() || before.expires_at > d.now().store) {
    return Nothing{};
  }
  JobChange& change = start_change(d, before);
  change.after.last_verb = Verb::expire_ttl;
  end_job(d, change, before, Verb::expire_ttl, JobState::expired);
  commit_riding(d);
  return moved(change.after);
}

}  // namespace weir::core
