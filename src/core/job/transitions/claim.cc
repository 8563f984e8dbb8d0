// SPDX-License-Identifier: Apache-2.0
// Claim: a pending job gets a lease, and with it its next attempt. In an at-most-once queue the
// claim is the ack. Closes the job's group to others until the job ends.
#include <algorithm>

#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

bool is_claimable_by_id(JobState state) {
  return is_legal_edge(Verb::claim, state, JobState::processing);
}

bool is_claimable(const Deciding& d, const FoundJob& found, bool is_by_id) {
  if (found.job == nullptr || found.queue->is_deleted) return false;
  if (found.job->state != JobState::pending && !(is_by_id && is_claimable_by_id(found.job->state)))
    return false;
  if (found.queue->paused && !is_by_id) return false;
  // A job whose time to start has passed is the ticker's.
  const Job& job = *found.job;
  if (job.expires_at.is_set() && job.expires_at <= d.now().store) return false;
  if (job.group.empty()) return true;
  const GroupLock* lock = d.view.group_lock(job.queue, job.group);
  return lock == nullptr || lock->holder == job.id;
}

Lease grant_lease(const Deciding& d, const Claim& command, const FoundJob& found) {
  const StoreTime now = d.now().store;
  const bool ends_otherwise_too = command.owner == OwnerKind::connection;
  const std::int64_t lease_ms =
      std::clamp(command.lease_ms.value_or(effective_lease_ms(*found.job, *found.queue)),
                 kLeaseMsMin, ends_otherwise_too ? kJobLeaseMsMax : kLeaseMsMax);
  const std::int64_t timeout_ms = effective_timeout_ms(*found.job, *found.queue);
  const std::int64_t bounded_ms = timeout_ms > 0 ? std::min(lease_ms, timeout_ms) : lease_ms;
  return Lease{.started_at = now,
               .deadline_at = now.plus(bounded_ms),
               .worker_id = command.worker_id,
               .owner = command.owner,
               .connection = command.connection,
               .boot = d.context.epoch};
}

void close_group(Deciding& d, const Job& job) {
  if (job.group.empty() || d.view.group_lock(job.queue, job.group) != nullptr) return;
  d.out.group_locks.push_back(
      {.after = {.queue = job.queue, .group = job.group.str(), .holder = job.id}});
}

void note_wait(Deciding& d, const Job& before) {
  // Later attempts start when their retry falls due, which the job does not keep.
  const bool is_first = before.attempt == before.budget_start;
  if (is_first) {
    d.out.events.back().waited_ms = std::max<std::int64_t>(0, d.now().wall.since(before.run_at));
  }
}

void complete_at_once(Deciding& d, JobChange& change, const Job& before, const Lease& lease) {
  Job& job = change.after;
  change.attempt = AttemptRecord{.attempt = job.attempt,
                                 .worker_id = lease.worker_id,
                                 .started_at = job.claimed_at,
                                 .ended_at = job.claimed_at,
                                 .outcome = AttemptOutcome::completed,
                                 .reason = "at_most_once"};
  job.has_history = true;
  job.last_verb = Verb::ack;  // so that a worker's ack of it is answered as a repeat
  end_job(d, change, before, Verb::claim, JobState::completed);
}

}  // namespace

Decided decide_claim(Deciding& d, const Claim& command) {
  const FoundJob found = find_timed_job(d, command.job);
  if (!is_claimable(d, found, command.is_by_id)) return NotClaimable{};
  if (command.is_by_id && found.queue->namespace_id != d.principal.namespace_id)
    return NotClaimable{};
  const Job& before = *found.job;
  const QueueSettings& settings = found.queue->settings;
  const bool is_ack = settings.delivery == DeliveryMode::at_most_once;
  if (is_ack && before.state != JobState::pending) return NotClaimable{};

  JobChange& change = start_change(d, before);
  Job& job = change.after;
  if (is_ended(before.state)) WEIR_TRY(revive(d, job));
  ++job.attempt;
  job.claimed_at = d.now().wall;
  job.expires_at = StoreTime::none();
  job.due_at = StoreTime::none();
  job.last_verb = Verb::claim;
  const Lease lease = grant_lease(d, command, found);
  if (is_ack) {
    complete_at_once(d, change, before, lease);
  } else {
    job.lease = lease;
    close_group(d, before);
    move_to(d, change, before, Verb::claim, JobState::processing);
  }
  d.out.events.back().attempt = job.attempt;
  note_wait(d, before);
  if (is_ack || settings.claim == ClaimMode::sync) {
    commit_synced(d);
  } else {
    commit_riding(d);
  }
  return Claimed{.job = job.id,
                 .token = lease_token(d.context.lease_secret, job.id, job.attempt),
                 .fence = fence(d.context.epoch, job.attempt),
                 .max_attempts = effective_max_attempts(before, *found.queue)};
}

}  // namespace weir::core
