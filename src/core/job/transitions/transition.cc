// SPDX-License-Identifier: Apache-2.0
#include "core/job/transitions/transition.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/assert.h"
#include "base/text.h"
#include "core/limits.h"

namespace weir::core {
namespace {

constexpr std::size_t kReasonBytesMax = 1 * kKiB;

Error no_such_job(JobId id) {
  return Error{.code = ErrorCode::not_found,
               .detail = fmt::format("job {} is not there", id.value)};
}

Event& note(Deciding& d, const Job& before, Verb verb, std::optional<JobState> to) {
  d.out.events.push_back(Event{.verb = verb,
                               .job = before.id,
                               .queue = before.queue,
                               .kind = before.kind,
                               .from = before.state,
                               .to = to,
                               .at = d.now().wall,
                               .attempt = before.attempt});
  Event& event = d.out.events.back();
  const bool attempt_ends = before.lease && to != JobState::processing;
  if (attempt_ends)
    event.ran_ms = std::max<std::int64_t>(0, d.now().store.since(before.lease->started_at));
  return event;
}

// The end of a job, or its removal, frees what it held.
void free_keys(Deciding& d, const Job& job) {
  if (!job.unique_key.empty()) {
    const UniqueKey* entry = d.view.unique_key(job.queue, job.unique_key);
    const bool is_own = entry != nullptr && entry->job == job.id;
    if (is_own && !(entry->until > d.now().store)) {
      d.out.unique_keys.push_back({.after = *entry, .erase = true, .expected_job = job.id});
    }
  }
  // Only a claim takes a group; a job that was never claimed may be too new for its lock to be
  // loaded.
  if (!job.group.empty() && job.attempt > 0) {
    const GroupLock* lock = d.view.group_lock(job.queue, job.group);
    if (lock != nullptr && lock->holder == job.id) {
      d.out.group_locks.push_back({.after = *lock, .erase = true, .expected_holder = job.id});
    }
  }
}

// Takes the job's unique key again. Errors: conflict when another living job has it.
Result<void> take_key_again(Deciding& d, const Job& job) {
  if (job.unique_key.empty()) return {};
  const UniqueKey* entry = d.view.unique_key(job.queue, job.unique_key);
  if (entry != nullptr && entry->job == job.id) return {};  // its window still runs
  UniqueKeyChange change{.after = {.queue = job.queue, .key = job.unique_key.str(), .job = job.id}};
  if (entry != nullptr) {
    const Job* other = d.view.job(entry->job);
    if (other != nullptr && !is_ended(other->state)) {
      return failure(conflict(fmt::format("the unique key of job {} is taken by job {}",
                                          job.id.value, other->id.value)));
    }
    change.expected_job = entry->job;
  }
  d.out.unique_keys.push_back(std::move(change));
  return {};
}

}  // namespace

Result<FoundJob> find_job(const Deciding& d, JobId id) {
  const FoundJob found = find_timed_job(d, id);
  if (found.job == nullptr || found.queue->namespace_id != d.principal.namespace_id) {
    return failure(no_such_job(id));
  }
  return found;
}

FoundJob find_timed_job(const Deciding& d, JobId id) {
  const Job* job = d.view.job(id);
  if (job == nullptr) return {};
  const Queue* queue = d.view.queue(job->queue);
  if (queue == nullptr) return {};
  return {.job = job, .queue = queue};
}

Result<const Queue*> find_queue(const Deciding& d, std::string_view name) {
  WEIR_TRY(check_name("queue", name, kNameBytesMax));
  const Queue* queue = d.view.queue(d.principal.namespace_id, name);
  if (queue == nullptr) {
    return failure(ErrorCode::not_found, fmt::format("queue \"{}\" is not there", name));
  }
  return queue;
}

Queue default_queue(const Deciding& d, const std::string& name) {
  return Queue{.namespace_id = d.principal.namespace_id,
               .name = name,
               .settings = d.context.policy.queue_defaults,
               .created_at = d.now().wall,
               .created_by = d.principal.id};
}

Result<Held> find_held(const Deciding& d, JobId id, const LeaseToken& token, Verb verb) {
  const Job* job = d.view.job(id);
  const FoundJob found = job == nullptr ? FoundJob{} : find_timed_job(d, id);
  if (job != nullptr &&
      (found.job == nullptr || found.queue->namespace_id != d.principal.namespace_id)) {
    return failure(no_such_job(id));
  }
  const auto lost = [&] {
    return failure(ErrorCode::lease_lost,
                   fmt::format("the lease of attempt {} of job {} is not the current one",
                               token.attempt, id.value));
  };
  switch (check_lease(d.context.lease_secret, id, job, token, d.context.judge_time())) {
    case LeaseCheck::current:
      return Held{.found = found};
    case LeaseCheck::repeated: {
      const Verb last = job->last_verb == Verb::bury ? Verb::fail : job->last_verb;
      if (last != verb) return lost();
      return Held{.found = found, .is_repeated = true};
    }
    case LeaseCheck::lost:
      return lost();
    case LeaseCheck::gone:
      return failure(ErrorCode::gone, fmt::format("job {} ended and was removed", id.value));
    case LeaseCheck::not_found:
      break;
  }
  return failure(no_such_job(id));
}

JobChange& start_change(Deciding& d, const Job& before) {
  d.out.jobs.emplace_back();
  JobChange& change = d.out.jobs.back();
  change.guard = {.state = before.state, .attempt = before.attempt, .version = before.version};
  change.after = before;
  ++change.after.version;
  return change;
}

JobChange& start_held_change(Deciding& d, const Job& before) {
  JobChange& change = start_change(d, before);
  change.guard.deadline_after = d.context.judge_time();
  return change;
}

void move_to(Deciding& d, JobChange& change, const Job& before, Verb verb, JobState to) {
  check_edge(verb, before.state, to);
  WEIR_ASSERT(!is_ended(to), to_string(to));
  WEIR_ASSERT(change.after.lease.has_value() == (to == JobState::processing), to_string(to));
  change.after.state = to;
  note(d, before, verb, to);
}

void end_job(Deciding& d, JobChange& change, const Job& before, Verb verb, JobState to) {
  check_edge(verb, before.state, to);
  WEIR_ASSERT(is_ended(to) && !change.after.lease, to_string(to));
  Job& job = change.after;
  job.state = to;
  job.completed_at = d.now().wall;
  job.ended_at = d.now().store;
  if (to == JobState::dead) job.dead_at = d.now().wall;
  job.due_at = StoreTime::none();
  job.expires_at = StoreTime::none();
  free_keys(d, job);
  note(d, before, verb, to);
}

void complete_and_remove(Deciding& d, const Job& before) {
  check_edge(Verb::ack, before.state, JobState::completed);
  JobChange& change = start_held_change(d, before);
  change.erase = true;
  free_keys(d, before);
  note(d, before, Verb::ack, JobState::completed);
}

void remove_job(Deciding& d, const Job& before, Verb verb) {
  check_edge(verb, before.state, std::nullopt);
  JobChange& change = start_change(d, before);
  change.erase = true;
  free_keys(d, before);
  note(d, before, verb, std::nullopt);
}

Result<void> revive(Deciding& d, Job& job) {
  WEIR_TRY(take_key_again(d, job));
  job.budget_start = job.attempt;
  job.excused_since = 0;
  job.completed_at = WallTime::none();
  job.dead_at = WallTime::none();
  job.ended_at = StoreTime::none();
  job.dead_reason.clear();
  job.expires_at = job.ttl_ms > 0 ? d.now().store.plus(job.ttl_ms) : StoreTime::none();
  return {};
}

void end_attempt(Deciding& d, JobChange& change, const Job& before, AttemptEnd end) {
  WEIR_ASSERT(before.lease.has_value(), before.id.value);
  change.attempt = AttemptRecord{.attempt = before.attempt,
                                 .worker_id = before.lease->worker_id,
                                 .started_at = before.claimed_at,
                                 .ended_at = d.now().wall,
                                 .outcome = end.outcome,
                                 .error = std::move(end.error),
                                 .reason = std::move(end.reason)};
  change.after.has_history = true;
  change.after.lease.reset();
}

Outcome fail_attempt(Deciding& d, JobChange& change, const FoundJob& found, FailedAttempt failed) {
  const Job& before = *found.job;
  Job& job = change.after;
  const std::uint32_t charged = job.charged();
  const RetryPolicy& policy = effective_retry(before, *found.queue);
  const ErrorRule& rule = classify(d.context.policy.rules, failed.error);
  const bool is_buried = failed.verb == Verb::bury;
  const bool is_refused = !is_buried && rule.then == ErrorVerdict::dead;
  const bool is_last = is_used_up(charged, effective_max_attempts(before, *found.queue));
  const std::string what = describe_error(failed.error);

  AttemptEnd end{.outcome = failed.outcome, .error = std::move(failed.error), .reason = rule.name};
  if (is_buried) {
    end.outcome = AttemptOutcome::dead;
    end.reason = "buried";
    job.dead_reason = what.empty() ? "buried" : what;
  } else if (is_refused) {
    end.outcome = AttemptOutcome::dead;
    job.dead_reason = what.empty() ? rule.name : what;
  } else if (is_last) {
    const bool is_lost = failed.verb == Verb::expire_lease;
    end.reason = is_lost ? "attempts used up, worker lost" : "attempts used up";
    job.dead_reason =
        fmt::format("attempts used up ({}): {}{}", charged, is_lost ? "worker lost: " : "", what);
  }
  end_attempt(d, change, before, std::move(end));
  job.last_verb = failed.verb;
  commit_by(d, *found.queue);
  if (is_buried || is_refused || is_last) {
    end_job(d, change, before, failed.verb, JobState::dead);
    return moved(job);
  }
  const std::int64_t delay_ms =
      failed.retry_after_ms ? asked_retry_delay_ms(policy, *failed.retry_after_ms, d.context.prng)
                            : retry_delay_ms(policy, std::max(charged, 1U), d.context.prng);
  job.due_at = d.now().store.plus(delay_ms);
  move_to(d, change, before, failed.verb, JobState::failed);
  Moved answer = moved(job);
  answer.retry_after_ms = delay_ms;
  return answer;
}

Outcome give_back(Deciding& d, JobChange& change, const FoundJob& found, Verb verb,
                  AttemptOutcome outcome, std::string_view reason) {
  Job& job = change.after;
  ++job.excused_count;
  ++job.excused_since;
  end_attempt(d, change, *found.job, {.outcome = outcome, .reason = std::string(reason)});
  job.last_verb = verb;
  move_to(d, change, *found.job, verb, JobState::pending);
  return moved(job);
}

bool excuse_attempt(Job& job, const Queue& queue) {
  if (job.excused_count >= kExcusedMax && effective_max_attempts(job, queue) != kUnbounded) {
    return false;
  }
  ++job.excused_count;
  ++job.excused_since;
  return true;
}

bool die_if_used_up(Deciding& d, JobChange& change, const FoundJob& found, Verb verb) {
  Job& job = change.after;
  if (!is_used_up(job.charged(), effective_max_attempts(*found.job, *found.queue))) return false;
  job.dead_reason = fmt::format("attempts used up ({}): {} after {} excuses", job.charged(),
                                to_string(verb), job.excused_count);
  end_job(d, change, *found.job, verb, JobState::dead);
  return true;
}

Result<StartAt> start_after_delay(Now now, std::string_view what, std::int64_t delay_ms) {
  if (delay_ms < 0) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} is negative; it must be 0 or more", what));
  }
  const WallTime run_at = now.wall.plus(delay_ms);
  if (run_at > kWallTimeMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} of {} ms goes beyond {}, the last instant that can be kept",
                               what, delay_ms, format_rfc3339(kWallTimeMax)));
  }
  if (delay_ms == 0) return StartAt{.run_at = now.wall};
  return StartAt{
      .state = JobState::scheduled, .run_at = run_at, .due_at = now.store.plus(delay_ms)};
}

Result<StartAt> start_at_instant(Now now, std::string_view what, WallTime at) {
  if (at > kWallTimeMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} is beyond {}, the last instant that can be kept", what,
                               format_rfc3339(kWallTimeMax)));
  }
  if (at <= now.wall) return StartAt{.run_at = now.wall};
  return StartAt{.state = JobState::scheduled, .run_at = at};
}

void set_start(Job& job, const StartAt& start) {
  job.run_at = start.run_at;
  job.due_at = start.due_at;
}

void set_placement(Job& job, const Queue& queue, const std::optional<Placement>& placement) {
  if (!placement || queue.settings.order == QueueOrder::fifo) return;
  job.priority = placement->priority;
  job.rank = placement->rank.value_or(static_cast<std::int64_t>(job.id.value));
}

Moved moved(const Job& job) {
  return Moved{.job = job.id,
               .state = job.state,
               .run_at = job.state == JobState::scheduled ? job.run_at : WallTime::none(),
               .reason = job.dead_reason,
               .version = job.version};
}

void commit_by(Deciding& d, const Queue& queue) {
  const bool is_interval = queue.settings.durability == Durability::interval;
  d.out.commit_class = is_interval ? CommitClass::interval : CommitClass::sync;
  d.out.answer.durable = !is_interval;
}

void commit_riding(Deciding& d) { d.out.commit_class = CommitClass::ride; }
void commit_synced(Deciding& d) { d.out.commit_class = CommitClass::sync; }

void audit(Deciding& d, std::string_view action, std::string subject, std::string_view reason) {
  d.out.audit.push_back(AuditRecord{.at = d.now().wall,
                                    .principal = d.principal.id,
                                    .action = std::string(action),
                                    .subject = std::move(subject),
                                    .reason = std::string(cut_utf8(reason, kReasonBytesMax))});
}

std::string job_subject(JobId id) { return fmt::format("job {}", id.value); }

Error conflict(std::string detail) {
  return Error{.code = ErrorCode::conflict, .detail = std::move(detail)};
}

std::string describe_error(const JobError& error) {
  std::string text = error.error_class;
  if (text.empty() && error.http_status != 0) text = fmt::format("http {}", error.http_status);
  if (text.empty()) text = error.code;
  if (!error.message.empty()) {
    if (!text.empty()) text += ": ";
    text += cut_utf8(error.message, kReasonBytesMax);
  }
  return text;
}

}  // namespace weir::core
