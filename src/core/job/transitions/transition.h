// SPDX-License-Identifier: Apache-2.0
// The pieces that the verbs share, and the list of the verbs. Internal to core: others call
// decide().
//
// A verb is a function of (Deciding, command) that fills Deciding::out and returns its outcome, or
// an error. decide() throws the changes away when there is an error, so a verb may stop at any
// point. All changes of a job go through start_change() and then move_to(), end_job() or
// remove_job(), which check the edge, keep the invariants and note the event:
//   * version grows with every change; counters and attempt never decrease;
//   * a lease exists exactly while processing;
//   * a unique key and a group lock go with the end (or removal) of the job that holds them, in the
//   same change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/change.h"
#include "core/command.h"
#include "core/decide.h"
#include "core/view.h"

namespace weir::core {

// One decision in the making.
struct Deciding {
  const View& view;
  const Principal& principal;
  Context& context;
  ChangeSet& out;

  Now now() const { return context.now; }
};

using Decided = Result<Outcome>;

// --- finding ---

struct FoundJob {
  const Job* job = nullptr;
  const Queue* queue = nullptr;
};
// The job, if the asker's namespace has it. Errors: not_found.
Result<FoundJob> find_job(const Deciding& d, JobId id);
// The same for timed commands, which ask for no one: nothing when the job is gone.
FoundJob find_timed_job(const Deciding& d, JobId id);
// The queue of that name in the asker's namespace. Errors: invalid_argument (no name), not_found.
Result<const Queue*> find_queue(const Deciding& d, std::string_view name);

// A queue of that name as it is when nobody has set anything: version 0, no id yet.
Queue default_queue(const Deciding& d, const std::string& name);

// A job under the lease that the asker shows.
struct Held {
  FoundJob found;
  bool is_repeated = false;  // the verb was done before: answer as then, change nothing
};
// `verb` is what the asker wants to do; a lease that ended by another verb is lost. Fail and bury
// count as one. Errors: not_found, gone, lease_lost.
Result<Held> find_held(const Deciding& d, JobId id, const LeaseToken& token, Verb verb);

// --- changing a job ---

// A change of `before` with guard and next version. The reference lives until the next start_change
// of this decision.
JobChange& start_change(Deciding& d, const Job& before);
// The same for a verb with a token: the lease must still run when the change is applied.
JobChange& start_held_change(Deciding& d, const Job& before);

// Moves the job within its life. Requires: to is not an ended state.
void move_to(Deciding& d, JobChange& change, const Job& before, Verb verb, JobState to);
// Ends the job: end times, no timers, no lease; frees its unique key (unless a window runs on) and
// its group.
void end_job(Deciding& d, JobChange& change, const Job& before, Verb verb, JobState to);
// Ends the job well and removes it in the same change: its queue keeps no completed jobs.
void complete_and_remove(Deciding& d, const Job& before);
// Removes the job with all that hangs on it.
void remove_job(Deciding& d, const Job& before, Verb verb);

// Makes a job that ended one that lives: with its attempts anew and its unique key again. The
// caller moves it. Errors: conflict when another living job has the key.
Result<void> revive(Deciding& d, Job& job);

// What an attempt ended with.
struct AttemptEnd {
  AttemptOutcome outcome = AttemptOutcome::failed;
  JobError error;
  std::string reason;
};
// Appends the record of the running attempt and takes the lease away. Requires: before has a lease.
void end_attempt(Deciding& d, JobChange& change, const Job& before, AttemptEnd end);

// A failed attempt (verbs fail, bury and expire_lease): retry by the policy, or dead.
struct FailedAttempt {
  Verb verb = Verb::fail;
  AttemptOutcome outcome = AttemptOutcome::failed;
  JobError error;
  std::optional<std::int64_t> retry_after_ms;
};
Outcome fail_attempt(Deciding& d, JobChange& change, const FoundJob& found, FailedAttempt failure);

// The end of a lease that is nobody's failure: the job is pending again at its place, uncharged
// without a limit.
Outcome give_back(Deciding& d, JobChange& change, const FoundJob& found, Verb verb,
                  AttemptOutcome outcome, std::string_view reason);

// Takes the running attempt back (verbs release and snooze). False when the excuses are used up and
// it is charged after all; where attempts have no bound, excuses have none.
bool excuse_attempt(Job& job, const Queue& queue);
// When that charged attempt was the last one: ends the job dead and says so. Requires: end_attempt
// was called.
bool die_if_used_up(Deciding& d, JobChange& change, const FoundJob& found, Verb verb);

// Lets the job be claimed at an instant that the asker named. Past instants mean now.
struct StartAt {
  JobState state = JobState::pending;  // or scheduled
  WallTime run_at;
  StoreTime due_at;
};
// Errors: invalid_argument (negative, or beyond year 9999).
Result<StartAt> start_after_delay(Now now, std::string_view what, std::int64_t delay_ms);
Result<StartAt> start_at_instant(Now now, std::string_view what, WallTime at);
void set_start(Job& job, const StartAt& start);
// Another place in the lane. In a fifo queue it has no say.
void set_placement(Job& job, const Queue& queue, const std::optional<Placement>& placement);

// --- answers and records ---

Moved moved(const Job& job);
// Sets when the answer may leave: by the queue's durability.
void commit_by(Deciding& d, const Queue& queue);
// For claims, extends, progress and what time drives: written now, synced with the next sync.
void commit_riding(Deciding& d);
void commit_synced(Deciding& d);
void audit(Deciding& d, std::string_view action, std::string subject, std::string_view reason = {});
std::string job_subject(JobId id);
Error conflict(std::string detail);

// The reason kept with a dead job: "<class>: <message>", shortened.
std::string describe_error(const JobError& error);

// --- the verbs, one file each ---

Decided decide_enqueue(Deciding& d, const Enqueue& command);
Decided decide_claim(Deciding& d, const Claim& command);
Decided decide_ack(Deciding& d, const Ack& command);
Decided decide_fail(Deciding& d, const Fail& command);
Decided decide_release(Deciding& d, const Release& command);
Decided decide_abandon(Deciding& d, const Abandon& command);
Decided decide_snooze(Deciding& d, const Snooze& command);
Decided decide_extend(Deciding& d, const Extend& command);
Decided decide_progress(Deciding& d, const Progress& command);
Decided decide_cancel(Deciding& d, const Cancel& command);
Decided decide_promote(Deciding& d, const Promote& command);
Decided decide_replay(Deciding& d, const Replay& command);
Decided decide_kick(Deciding& d, const Kick& command);
Decided decide_erase(Deciding& d, const Erase& command);
Decided decide_edit(Deciding& d, const Edit& command);
Decided decide_become_due(Deciding& d, const BecomeDue& command);
Decided decide_expire_lease(Deciding& d, const ExpireLease& command);
Decided decide_expire_ttl(Deciding& d, const ExpireTtl& command);
Decided decide_retain(Deciding& d, const Retain& command);
Decided decide_forget_idempotency(Deciding& d, const ForgetIdempotency& command);
Decided decide_forget_unique(Deciding& d, const ForgetUnique& command);
Decided decide_put_queue(Deciding& d, const PutQueue& command);
Decided decide_delete_queue(Deciding& d, const DeleteQueue& command);
Decided decide_purge(Deciding& d, const Purge& command);
Decided decide_put_token(Deciding& d, const PutToken& command);
Decided decide_revoke_token(Deciding& d, const RevokeToken& command);

}  // namespace weir::core
