// SPDX-License-Identifier: Apache-2.0
// The end of remembered keys: idempotency entries after their time, unique keys after their window.
#include "core/job/transitions/transition.h"

namespace weir::core {

Decided decide_forget_idempotency(Deciding& d, const ForgetIdempotency& command) {
  const IdempotencyEntry* entry = d.view.idempotency(command.scope);
  if (entry == nullptr || entry->expires_at > d.now().store) return Nothing{};
  d.out.idempotency.push_back({.after = *entry, .erase = true});
  commit_riding(d);
  return Removed{.count = 1};
}

// The window is over. A job that still lives keeps its key until it ends.
Decided decide_forget_unique(Deciding& d, const ForgetUnique& command) {
  const UniqueKey* entry = d.view.unique_key(command.queue, command.key);
  if (entry == nullptr || !entry->until.is_set() || entry->until > d.now().store) return Nothing{};
  const Job* job = d.view.job(entry->job);
  const bool is_living = job != nullptr && !is_ended(job->state);
  UniqueKeyChange change{.after = *entry, .erase = !is_living, .expected_job = entry->job};
  if (is_living) change.after.until = StoreTime::none();
  d.out.unique_keys.push_back(std::move(change));
  commit_riding(d);
  return Removed{.count = is_living ? 0U : 1U};
}

}  // namespace weir::core
