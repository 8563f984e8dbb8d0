// SPDX-License-Identifier: Apache-2.0
// Claim and the verbs of the holder of a lease: counting of attempts, retries, deaths, excuses,
// repeats.
#include "core/test_world.h"

namespace weir::core {
namespace {

NewJob with_attempts(std::uint32_t max) { return {.options = {.max_attempts = max}}; }

TEST(ClaimTest, a_claim_counts_the_attempt_and_grants_what_the_job_asks) {
  World world;
  const JobId id = world.enqueue({.options = {.lease_ms = 5'000}, .ttl_ms = 60'000});
  world.advance(250);
  const ChangeSet change_set = world.run(Claim{.job = id, .worker_id = "w"});
  const auto& claimed = std::get<Claimed>(change_set.answer.outcome);
  const Job& job = world.job(id);
  EXPECT_EQ(claimed.job, id);
  EXPECT_EQ(change_set.jobs.at(0).after, job);
  EXPECT_EQ(job.attempt, 1U);
  EXPECT_EQ(claimed.fence, fence(world.epoch, 1));
  EXPECT_EQ(claimed.max_attempts, 6U);
  EXPECT_EQ(job.lease->deadline_at, world.now.store.plus(5'000));
  EXPECT_EQ(job.lease->boot, world.epoch);
  EXPECT_FALSE(job.expires_at.is_set());
  EXPECT_EQ(change_set.commit_class, CommitClass::ride);
  EXPECT_TRUE(change_set.may_use_reserve);
  EXPECT_EQ(change_set.events.at(0).waited_ms, 250);
  EXPECT_EQ(change_set.events.at(0).attempt, 1U);
}

TEST(ClaimTest, a_lease_is_at_most_the_timeout_and_within_bounds) {
  World world;
  const JobId id = world.enqueue({.options = {.timeout_ms = 20'000}});
  world.claim(id);
  EXPECT_EQ(world.job(id).lease->deadline_at, world.now.store.plus(20'000));
  const JobId other = world.enqueue();
  world.outcome<Claimed>(Claim{.job = other, .lease_ms = INT64_MAX});
  EXPECT_EQ(world.job(other).lease->deadline_at, world.now.store.plus(kLeaseMsMax));
}

TEST(ClaimTest, paused_queues_and_jobs_that_wait_or_ended_are_not_claimable) {
  World world;
  const JobId later = world.enqueue({.delay_ms = 5});
  world.outcome<NotClaimable>(Claim{.job = later});
  const JobId id = world.enqueue();
  world.run(PutQueue{.queue = "q", .patch = {.paused = true}});
  world.outcome<NotClaimable>(Claim{.job = id});
  world.outcome<NotClaimable>(Claim{.job = JobId{999}});
}

TEST(ClaimTest, claim_sync_waits_for_its_own_sync) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.claim = ClaimMode::sync}});
  EXPECT_EQ(world.run(Claim{.job = world.enqueue()}).commit_class, CommitClass::sync);
}

TEST(ClaimTest, at_most_once_is_over_with_the_claim) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.delivery = DeliveryMode::at_most_once}});
  const JobId id = world.enqueue({.group = "g", .unique_key = "k"});
  const ChangeSet change_set = world.run(Claim{.job = id, .worker_id = "w"});
  EXPECT_EQ(change_set.commit_class, CommitClass::sync);
  EXPECT_EQ(world.job(id).state, JobState::completed);
  EXPECT_EQ(world.history[id].at(0).outcome, AttemptOutcome::completed);
  EXPECT_EQ(world.history[id].at(0).worker_id, "w");
  EXPECT_TRUE(world.unique_keys.empty() && world.group_locks.empty());
  // A worker that knows nothing of the mode is answered kindly, but can't bring the job back.
  const LeaseToken token = std::get<Claimed>(change_set.answer.outcome).token;
  world.outcome<Extended>(Extend{.job = id, .token = token});
  EXPECT_EQ(world.outcome<Moved>(Ack{.job = id, .token = token}).state, JobState::completed);
  EXPECT_EQ(world.refusal(Fail{.job = id, .token = token}).code, ErrorCode::lease_lost);
}

TEST(AckTest, an_ack_completes_keeps_the_result_and_can_be_repeated) {
  World world;
  const JobId id = world.enqueue();
  const Claimed claimed = world.claim(id);
  world.advance(40);
  const Ack ack{.job = id, .token = claimed.token, .result = "{\"a\":1}"};
  const ChangeSet change_set = world.run(ack);
  EXPECT_EQ(change_set.commit_class, CommitClass::sync);
  EXPECT_EQ(change_set.events.at(0).ran_ms, 40);
  EXPECT_EQ(world.job(id).state, JobState::completed);
  EXPECT_EQ(world.job(id).completed_at, world.now.wall);
  EXPECT_EQ(world.results[id], "{\"a\":1}");
  EXPECT_TRUE(world.job(id).has_result && world.job(id).has_history);
  const Moved first = std::get<Moved>(change_set.answer.outcome);
  EXPECT_EQ(world.outcome<Moved>(ack), first);
  world.run(Retain{id});
  EXPECT_EQ(world.refusal(ack).code, ErrorCode::gone);
}

TEST(AckTest, too_large_a_result_is_refused_and_the_lease_stays) {
  World world;
  const JobId id = world.enqueue();
  const Claimed claimed = world.claim(id);
  const Error error = world.refusal(
      Ack{.job = id, .token = claimed.token, .result = std::string(kResultBytesMax + 1, 'x')});
  EXPECT_EQ(error.code, ErrorCode::too_large);
  EXPECT_EQ(world.job(id).state, JobState::processing);
}

TEST(FailTest, a_failure_waits_by_the_policy_and_keeps_its_place) {
  World world;
  const JobId id = world.enqueue({.priority_class = PriorityClass::P1, .priority = 25});
  const Job before = world.job(id);
  for (const std::int64_t step : {0, 1'000, 4'000, 16'000, 48'000}) {
    const Claimed claimed = world.claim(id);
    const auto moved =
        world.outcome<Moved>(Fail{.job = id, .token = claimed.token, .error = {.message = "no"}});
    EXPECT_EQ(moved.state, JobState::failed);
    EXPECT_GE(moved.retry_after_ms, step);
    EXPECT_LE(moved.retry_after_ms, std::max<std::int64_t>(250, step + step / 4));
    EXPECT_EQ(world.job(id).due_at, world.now.store.plus(moved.retry_after_ms));
    world.become_due(id);
    const Job& job = world.job(id);
    EXPECT_EQ(std::tie(job.priority_class, job.priority, job.rank),
              std::tie(before.priority_class, before.priority, before.rank));
  }
  const Claimed last = world.claim(id);
  const auto dead = world.outcome<Moved>(
      Fail{.job = id, .token = last.token, .error = {.error_class = "timeout", .message = "no"}});
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.reason, "attempts used up (6): timeout: no");
  EXPECT_EQ(world.job(id).dead_reason, dead.reason);
  EXPECT_EQ(world.history[id].size(), 6U);
  EXPECT_EQ(world.job(id).counters.failures, 6U);
}

TEST(FailTest, a_refusing_rule_kills_at_once_with_its_reason) {
  World world;
  const JobId id = world.enqueue();
  const Claimed claimed = world.claim(id);
  const auto moved = world.outcome<Moved>(
      Fail{.job = id,
           .token = claimed.token,
           .error = {.error_class = "deserialization", .message = "bad JSON"}});
  EXPECT_EQ(moved.state, JobState::dead);
  EXPECT_EQ(moved.reason, "deserialization: bad JSON");
  EXPECT_EQ(world.history[id].at(0).reason, "deserialization");
  const JobId other = world.enqueue();
  EXPECT_EQ(world
                .outcome<Moved>(Fail{
                    .job = other, .token = world.claim(other).token, .error = {.http_status = 404}})
                .reason,
            "http 404");
}

TEST(FailTest, configured_rules_decide_first) {
  World world;
  world.policy.rules = {{.name = "patience", .http_status_min = 404, .http_status_max = 404}};
  const JobId id = world.enqueue();
  const auto moved = world.outcome<Moved>(
      Fail{.job = id, .token = world.claim(id).token, .error = {.http_status = 404}});
  EXPECT_EQ(moved.state, JobState::failed);
  EXPECT_EQ(world.history[id].at(0).reason, "patience");
}

TEST(FailTest, bury_kills_without_a_rule) {
  World world;
  const JobId id = world.enqueue();
  const auto moved =
      world.outcome<Moved>(Fail{.job = id, .token = world.claim(id).token, .dead = true});
  EXPECT_EQ(moved.state, JobState::dead);
  EXPECT_EQ(moved.reason, "buried");
  EXPECT_EQ(world.history[id].at(0).outcome, AttemptOutcome::dead);
  EXPECT_EQ(world.job(id).counters.buries, 1U);
}

TEST(FailTest, retry_after_replaces_the_step_and_the_cap_but_not_the_bound) {
  World world;
  const JobId id = world.enqueue(with_attempts(2));
  const auto first = world.outcome<Moved>(
      Fail{.job = id, .token = world.claim(id).token, .retry_after_ms = 7'200'000});
  EXPECT_GE(first.retry_after_ms, 7'200'000);
  EXPECT_LE(first.retry_after_ms, 8'640'000);
  world.become_due(id);
  const auto second = world.outcome<Moved>(
      Fail{.job = id, .token = world.claim(id).token, .retry_after_ms = INT64_MAX});
  EXPECT_EQ(second.state, JobState::dead);
  const JobId other = world.enqueue();
  EXPECT_EQ(
      world.refusal(Fail{.job = other, .token = world.claim(other).token, .retry_after_ms = -1})
          .code,
      ErrorCode::invalid_argument);
}

TEST(FailTest, a_repeat_is_answered_as_the_first_time) {
  World world;
  const JobId id = world.enqueue(with_attempts(2));
  const Fail fail{.job = id, .token = world.claim(id).token, .retry_after_ms = 10'000};
  const auto first = world.outcome<Moved>(fail);
  EXPECT_EQ(world.outcome<Moved>(fail), first);
  world.become_due(id);
  EXPECT_EQ(world.outcome<Moved>(fail).state, JobState::failed);
  const Fail last{.job = id, .token = world.claim(id).token};
  EXPECT_EQ(world.refusal(fail).code, ErrorCode::lease_lost);  // superseded by the next attempt
  const auto dead = world.outcome<Moved>(last);
  EXPECT_EQ(world.outcome<Moved>(last), dead);
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = last.token}).code, ErrorCode::lease_lost);
}

TEST(FailTest, texts_are_cut_at_their_bounds) {
  World world;
  const JobId id = world.enqueue();
  const std::string huge =
      std::string(kErrorMessageBytesMax - 1, 'x') + "é" + std::string(100'000, 'y');
  world.run(Fail{.job = id,
                 .token = world.claim(id).token,
                 .error = {.error_class = std::string(9'000, 'c'), .message = huge},
                 .dead = true});
  EXPECT_EQ(world.history[id].at(0).error.message.size(), kErrorMessageBytesMax - 1);
  EXPECT_EQ(world.history[id].at(0).error.error_class.size(), kNameBytesMax);
  EXPECT_LT(world.job(id).dead_reason.size(), 2 * kKiB);
}

TEST(ReleaseTest, a_release_is_not_charged_and_keeps_front_or_back) {
  World world;
  const JobId id = world.enqueue(with_attempts(1));
  const std::int64_t rank = world.job(id).rank;
  for (int i = 0; i < 5; ++i) {
    const Release release{.job = id, .token = world.claim(id).token};
    EXPECT_EQ(world.outcome<Moved>(release).state, JobState::pending);
    EXPECT_EQ(world.outcome<Moved>(release).state, JobState::pending);
  }
  EXPECT_EQ(world.job(id).attempt, 5U);
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(world.job(id).counters.releases, 5U);
  EXPECT_EQ(world.job(id).rank, rank);
  const JobId other = world.enqueue();
  world.run(Release{.job = id, .token = world.claim(id).token, .place = ReleasePlace::back});
  EXPECT_GT(world.job(id).rank, world.job(other).rank);
  world.run(Release{.job = id, .token = world.claim(id).token, .place = ReleasePlace::front});
  EXPECT_LT(world.job(id).rank, 0);
  const std::int64_t front = world.job(id).rank;
  world.run(Release{.job = other, .token = world.claim(other).token, .place = ReleasePlace::front});
  EXPECT_LT(world.job(other).rank, front);
}

TEST(ReleaseTest, a_delayed_release_is_scheduled_in_store_time) {
  World world;
  const JobId id = world.enqueue();
  const auto moved =
      world.outcome<Moved>(Release{.job = id, .token = world.claim(id).token, .delay_ms = 9'000});
  EXPECT_EQ(moved.state, JobState::scheduled);
  EXPECT_EQ(moved.run_at, world.now.wall.plus(9'000));
  EXPECT_EQ(world.job(id).due_at, world.now.store.plus(9'000));
}

TEST(ReleaseTest, an_undelivered_claim_is_excused_and_says_so) {
  World world;
  const JobId id = world.enqueue(with_attempts(1));
  world.run(Release{.job = id, .token = world.claim(id).token, .undelivered = true});
  EXPECT_EQ(world.history[id].at(0).outcome, AttemptOutcome::undelivered);
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(world.job(id).counters.releases, 0U);
}

TEST(ReleaseTest, excuses_are_bounded_and_then_the_attempts_are_too) {
  World world;
  const JobId id = world.enqueue(with_attempts(3));
  std::uint32_t claims = 0;
  while (world.job(id).state == JobState::pending) {
    world.run(Release{.job = id, .token = world.claim(id).token});
    ASSERT_LE(++claims, kExcusedMax + 3);
  }
  EXPECT_EQ(claims, kExcusedMax + 3);
  EXPECT_EQ(world.job(id).state, JobState::dead);
  EXPECT_EQ(world.job(id).dead_reason.substr(0, 20), "attempts used up (3)");
}

TEST(SnoozeTest, a_snooze_is_scheduled_and_not_charged) {
  World world;
  const JobId id = world.enqueue(with_attempts(1));
  const WallTime until = world.now.wall.plus(50'000);
  const Snooze snooze{.job = id, .token = world.claim(id).token, .until = until};
  EXPECT_EQ(world.outcome<Moved>(snooze).run_at, until);
  EXPECT_EQ(world.outcome<Moved>(snooze).run_at, until);
  EXPECT_EQ(world.job(id).state, JobState::scheduled);
  world.become_due(id);
  world.run(Snooze{.job = id, .token = world.claim(id).token, .delay_ms = 7});
  EXPECT_EQ(world.job(id).due_at, world.now.store.plus(7));
  EXPECT_EQ(world.job(id).charged(), 0U);
}

TEST(SnoozeTest, exactly_one_time_within_year_9999) {
  World world;
  const JobId id = world.enqueue();
  const LeaseToken token = world.claim(id).token;
  EXPECT_EQ(world.refusal(Snooze{.job = id, .token = token}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(
      world.refusal(Snooze{.job = id, .token = token, .delay_ms = 1, .until = WallTime{1}}).code,
      ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(Snooze{.job = id, .token = token, .delay_ms = -1}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(Snooze{.job = id, .token = token, .until = kWallTimeMax.plus(1)}).code,
            ErrorCode::invalid_argument);
  // A time that has passed is due at once.
  world.run(Snooze{.job = id, .token = token, .until = WallTime{1}});
  world.outcome<Moved>(BecomeDue{id});
}

TEST(ExtendTest, an_extend_moves_the_deadline_later_but_not_past_the_timeout) {
  World world;
  const JobId id = world.enqueue({.options = {.lease_ms = 10'000, .timeout_ms = 25'000}});
  const StoreTime start = world.now.store;
  const LeaseToken token = world.claim(id).token;
  world.advance(9'000);
  const ChangeSet change_set = world.run(Extend{.job = id, .token = token});
  EXPECT_EQ(change_set.commit_class, CommitClass::ride);
  EXPECT_EQ(world.job(id).lease->deadline_at, start.plus(19'000));
  EXPECT_EQ(std::get<Extended>(change_set.answer.outcome).lease_expires_at,
            world.now.wall.plus(10'000));
  world.run(Extend{.job = id, .token = token, .lease_ms = 1'000});
  EXPECT_EQ(world.job(id).lease->deadline_at, start.plus(19'000));  // never earlier
  world.run(Extend{.job = id, .token = token, .lease_ms = 60'000});
  EXPECT_EQ(world.job(id).lease->deadline_at, start.plus(25'000));
  EXPECT_EQ(world.refusal(Extend{.job = id, .token = token, .lease_ms = 0}).code,
            ErrorCode::invalid_argument);
  world.advance(16'000);
  EXPECT_EQ(world.refusal(Extend{.job = id, .token = token}).code, ErrorCode::lease_lost);
}

TEST(ExtendTest, after_a_stall_a_heartbeat_is_judged_by_the_time_before_it) {
  World world;
  const JobId id = world.enqueue();
  const LeaseToken token = world.claim(id).token;
  const StoreTime before_stall = world.now.store.plus(50'000);
  world.advance(90'000);
  world.judged_at = before_stall;
  world.outcome<Extended>(Extend{.job = id, .token = token});
  EXPECT_EQ(world.job(id).lease->deadline_at, world.now.store.plus(kLeaseMsDefault));
}

TEST(ProgressTest, progress_is_shown_with_the_lease_and_goes_with_it) {
  World world;
  const JobId id = world.enqueue();
  const LeaseToken token = world.claim(id).token;
  world.run(Progress{.job = id, .token = token, .percent = 40, .message = std::string("half")});
  world.run(Progress{.job = id, .token = token, .percent = 60});
  EXPECT_EQ(world.job(id).lease->progress_percent, 60);
  EXPECT_EQ(world.job(id).lease->progress_message, "half");
  EXPECT_EQ(world.refusal(Progress{.job = id, .token = token, .percent = 101}).code,
            ErrorCode::invalid_argument);
  world.run(Progress{.job = id, .token = token, .message = std::string(5'000, 'x')});
  EXPECT_EQ(world.job(id).lease->progress_message.size(), kKiB);
}

TEST(NamespaceTest, jobs_of_another_namespace_are_not_found) {
  World world;
  const JobId id = world.enqueue();
  const LeaseToken token = world.claim(id).token;
  world.principal.namespace_id = 5;
  for (const Command& command :
       std::vector<Command>{Ack{.job = id, .token = token}, Fail{.job = id, .token = token},
                            Cancel{.job = id}, Promote{id}, Replay{.job = id}, Erase{id},
                            Edit{.job = id}, Extend{.job = id, .token = token}}) {
    EXPECT_EQ(world.refusal(command).code, ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace weir::core
