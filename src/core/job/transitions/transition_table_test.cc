// SPDX-License-Identifier: Apache-2.0
// The exhaustive walk: every state × verb × shown lease × time around the deadline × first or last
// attempt, against expectations written down here once more, by hand. What must hold after every
// command is checked by World.
#include <array>

#include "core/test_world.h"

namespace weir::core {
namespace {

enum class Shown { current, stale, forged };
enum class When { before, at, after };

struct Case {
  JobState state;
  std::string_view verb;
  Shown shown;
  When when;
  bool is_last;
};

constexpr std::array<std::string_view, 18> kVerbs = {
    "claim",  "ack",        "fail",         "bury",       "release", "snooze",
    "extend", "progress",   "cancel",       "promote",    "replay",  "erase",
    "edit",   "become_due", "expire_lease", "expire_ttl", "retain",  "purge"};

constexpr std::int64_t kDeadline = 9'000'000;

// What a job looked like when it came into `state`, every timer set to the same instant.
Job job_in(const World& world, const Case& c, QueueId queue) {
  const StoreTime deadline{kDeadline};
  const bool had_attempt = c.is_last || c.state == JobState::processing ||
                           c.state == JobState::failed || c.state == JobState::completed ||
                           c.state == JobState::dead;
  Job job;
  job.id = JobId{77};
  job.queue = queue;
  job.state = c.state;
  job.rank = 77;
  job.version = 5;
  job.group = "g";
  job.unique_key = "k";
  job.created_at = job.run_at = WallTime{1'700'000'000'000};
  job.options = std::make_shared<const JobOptions>(JobOptions{.max_attempts = 3});
  // A last attempt is running, or the next claim will be the last.
  job.attempt = !had_attempt ? 0 : !c.is_last ? 1 : c.state == JobState::pending ? 2 : 3;
  if (had_attempt) job.claimed_at = WallTime{1'700'000'000'500};
  switch (c.state) {
    case JobState::scheduled:
      job.last_verb = had_attempt ? Verb::snooze : Verb::enqueue;
      job.due_at = deadline;
      break;
    case JobState::pending:
      job.last_verb = had_attempt ? Verb::release : Verb::enqueue;
      break;
    case JobState::processing:
      job.last_verb = Verb::claim;
      job.lease = Lease{.started_at = StoreTime{kDeadline - 60'000}, .deadline_at = deadline};
      break;
    case JobState::failed:
      job.last_verb = Verb::fail;
      job.due_at = deadline;
      break;
    case JobState::blocked:
      break;
    case JobState::completed:
      job.last_verb = Verb::ack;
      break;
    case JobState::dead:
      job.last_verb = Verb::fail;
      job.dead_reason = "because";
      job.dead_at = world.now.wall;
      break;
    case JobState::cancelled:
      job.last_verb = Verb::cancel;
      break;
    case JobState::expired:
      job.last_verb = Verb::expire_ttl;
      break;
  }
  if (is_ended(c.state)) {
    job.completed_at = world.now.wall;
    job.ended_at = world.now.store;
  } else if (!had_attempt) {
    job.expires_at = deadline;
    job.ttl_ms = 1000;
  }
  return job;
}

Command command_of(const Case& c, const Job& job, const LeaseToken& token) {
  const JobId id = job.id;
  if (c.verb == "claim") return Claim{.job = id, .worker_id = "w"};
  if (c.verb == "ack") return Ack{.job = id, .token = token};
  if (c.verb == "fail") return Fail{.job = id, .token = token, .error = {.message = "no"}};
  if (c.verb == "bury") return Fail{.job = id, .token = token, .dead = true};
  if (c.verb == "release") return Release{.job = id, .token = token};
  if (c.verb == "snooze") return Snooze{.job = id, .token = token, .delay_ms = 5};
  if (c.verb == "extend") return Extend{.job = id, .token = token};
  if (c.verb == "progress") return Progress{.job = id, .token = token, .percent = 5};
  if (c.verb == "cancel") return Cancel{.job = id};
  if (c.verb == "promote") return Promote{.job = id};
  if (c.verb == "replay") return Replay{.job = id};
  if (c.verb == "erase") return Erase{.job = id};
  if (c.verb == "edit") return Edit{.job = id, .priority = 4};
  if (c.verb == "become_due") return BecomeDue{id};
  if (c.verb == "expire_lease") return ExpireLease{id};
  if (c.verb == "expire_ttl") return ExpireTtl{id};
  if (c.verb == "retain") return Retain{id};
  return Purge{.queue = "q", .slice = {id}};
}

// The expectation: a state's name, "gone", "same" (accepted, changes nothing), "nothing",
// "lease_lost" or "conflict".
std::string expected_held(const Case& c, bool had_attempt) {
  if (c.shown != Shown::current) return "lease_lost";
  const bool is_fail = c.verb == "fail" || c.verb == "bury";
  switch (c.state) {
    case JobState::processing:
      break;
    case JobState::completed:
      return c.verb == "ack" ? "same" : "lease_lost";
    case JobState::dead:
    case JobState::failed:
      return is_fail ? "same" : "lease_lost";
    case JobState::pending:
      return had_attempt && c.verb == "release" ? "same" : "lease_lost";
    case JobState::scheduled:
      return had_attempt && c.verb == "snooze" ? "same" : "lease_lost";
    default:
      return "lease_lost";
  }
  if (c.when != When::before) return "lease_lost";
  if (c.verb == "ack") return "completed";
  if (c.verb == "fail") return c.is_last ? "dead" : "failed";
  if (c.verb == "bury") return "dead";
  if (c.verb == "release") return "pending";
  if (c.verb == "snooze") return "scheduled";
  return "processing";
}

std::string expected_of(const Case& c) {
  const std::string same_state(to_string(c.state));
  const bool ended = c.state == JobState::completed || c.state == JobState::dead ||
                     c.state == JobState::cancelled || c.state == JobState::expired;
  const bool running = c.state == JobState::processing;
  const bool waiting = !ended && !running;
  const bool has_come = c.when != When::before;
  if (c.verb == "claim") {
    const bool too_late = !c.is_last && has_come;  // only a job that never started has a TTL
    return c.state == JobState::pending && !too_late ? "processing" : "nothing";
  }
  if (c.verb == "cancel") {
    if (c.state == JobState::cancelled) return "same";
    return ended ? "conflict" : "cancelled";
  }
  if (c.verb == "promote") {
    return c.state == JobState::scheduled || c.state == JobState::failed ? "pending" : "conflict";
  }
  if (c.verb == "replay") return ended && c.state != JobState::completed ? "pending" : "conflict";
  if (c.verb == "erase") return running ? "conflict" : "gone";
  if (c.verb == "edit") return waiting ? same_state : "conflict";
  if (c.verb == "become_due") {
    const bool waits = c.state == JobState::scheduled || c.state == JobState::failed;
    return waits && has_come ? "pending" : "nothing";
  }
  if (c.verb == "expire_lease") {
    return running && has_come ? (c.is_last ? "dead" : "failed") : "nothing";
  }
  if (c.verb == "expire_ttl") {
    const bool unstarted = waiting && c.state != JobState::failed && !c.is_last;
    return unstarted && has_come ? "expired" : "nothing";
  }
  if (c.verb == "retain") return ended ? "gone" : "nothing";
  if (c.verb == "purge") return waiting ? "gone" : "same";
  const bool had_attempt = c.is_last || running || c.state == JobState::failed;
  return expected_held(c, had_attempt);
}

std::string happened(const World& world, const Job& before, const ChangeSet& change_set) {
  if (const Error* error = std::get_if<Error>(&change_set.answer.outcome)) {
    return std::string(to_string(error->code));
  }
  if (!world.has(before.id)) return "gone";
  const bool is_nothing = std::holds_alternative<Nothing>(change_set.answer.outcome) ||
                          std::holds_alternative<NotClaimable>(change_set.answer.outcome);
  if (world.job(before.id) == before) return is_nothing ? "nothing" : "same";
  return std::string(to_string(world.job(before.id).state));
}

void play(const Case& c) {
  World world;
  Queue queue{.id = QueueId{1}, .name = "q", .version = 1};
  world.queues[queue.id] = queue;
  world.ids.jobs = 100;
  const Job before = job_in(world, c, queue.id);
  world.jobs[before.id] = before;
  const bool is_living = !is_ended(c.state);
  if (is_living) {
    world.unique_keys[{queue.id, "k"}] = {.queue = queue.id, .key = "k", .job = before.id};
    if (before.attempt > 0) {
      world.group_locks[{queue.id, "g"}] = {.queue = queue.id, .group = "g", .holder = before.id};
    }
  }
  const std::int64_t offset = c.when == When::before ? -1 : c.when == When::at ? 0 : 1;
  world.now.store = StoreTime{kDeadline + offset};

  const std::uint32_t shown_attempt =
      c.shown == Shown::stale ? before.attempt - (before.attempt > 0 ? 1 : 0) : before.attempt;
  LeaseToken token = lease_token(world.secret, before.id, shown_attempt);
  if (c.shown == Shown::forged) token.proof.low ^= 1;
  if (c.shown == Shown::stale && before.attempt == 0) token.attempt = 9;

  const ChangeSet change_set = world.run(command_of(c, before, token));
  const std::string result = happened(world, before, change_set);
  ASSERT_EQ(result, expected_of(c));

  const bool is_error = std::holds_alternative<Error>(change_set.answer.outcome);
  if (is_error || result == "nothing" || result == "same") {
    ASSERT_TRUE(change_set.jobs.empty() && change_set.unique_keys.empty() &&
                change_set.group_locks.empty());
    return;
  }
  // Key and group are free exactly when the job is not there or has ended.
  const bool lives_on = world.has(before.id) && !is_ended(world.job(before.id).state);
  ASSERT_EQ((world.unique_keys.contains({queue.id, "k"})), lives_on);
  const bool was_started = (is_living && before.attempt > 0) || c.verb == "claim";
  ASSERT_EQ((world.group_locks.contains({queue.id, "g"})), lives_on && was_started);
  // Attempts are counted at the claim and nowhere else.
  if (world.has(before.id)) {
    ASSERT_EQ(world.job(before.id).attempt, before.attempt + (c.verb == "claim" ? 1 : 0));
  }
}

TEST(TransitionTableTest, every_state_verb_lease_time_and_attempt_is_as_written_down) {
  int cases = 0;
  for (const JobState state : kJobStates) {
    for (const std::string_view verb : kVerbs) {
      for (const Shown shown : {Shown::current, Shown::stale, Shown::forged}) {
        for (const When when : {When::before, When::at, When::after}) {
          for (const bool is_last : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << to_string(state) << " × " << verb << " shown "
                         << static_cast<int>(shown) << " when " << static_cast<int>(when)
                         << (is_last ? " last" : " first"));
            play({state, verb, shown, when, is_last});
            if (testing::Test::HasFailure()) return;
            ++cases;
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 9 * 18 * 3 * 3 * 2);
}

TEST(TransitionTableTest, a_token_for_a_job_that_is_gone_is_told_apart_from_a_guess) {
  World world;
  const LeaseToken token = lease_token(world.secret, JobId{5}, 2);
  EXPECT_EQ(world.refusal(Ack{.job = JobId{5}, .token = token}).code, ErrorCode::gone);
  LeaseToken guess = token;
  guess.proof.high ^= 1;
  EXPECT_EQ(world.refusal(Ack{.job = JobId{5}, .token = guess}).code, ErrorCode::not_found);
}

}  // namespace
}  // namespace weir::core
