// SPDX-License-Identifier: Apache-2.0
// Queues without a bound on attempts, and leases that are bound to a connection: what the
// beanstalkd door needs of the rules.
#include "core/test_world.h"

namespace weir::core {
namespace {

JobId put(World& world, NewJob job = {}, const std::string& queue = "tube") {
  Enqueue command{.queue = queue, .door = Door::beanstalk};
  command.jobs.push_back(std::move(job));
  const auto answer = world.outcome<Enqueued>(std::move(command));
  return answer.ids.empty() ? JobId{} : answer.ids.front();
}

Claimed reserve(World& world, JobId id) {
  return world.outcome<Claimed>(
      Claim{.job = id, .worker_id = "c", .owner = OwnerKind::connection, .connection = 4});
}

TEST(UnboundedTest, a_queue_made_by_the_beanstalk_door_has_no_bound_and_keeps_nothing_done) {
  World world;
  put(world, {.options = {.lease_ms = 9'000}});
  const QueueSettings& settings = world.queues.begin()->second.settings;
  EXPECT_EQ(settings.max_attempts, kUnbounded);
  EXPECT_EQ(settings.lease_ms, 9'000);
  EXPECT_FALSE(keeps_completed(settings));
  EXPECT_EQ(settings.priority_class, PriorityClass::P2);
  // A queue that is there already stays as it is.
  world.enqueue({}, "mail");
  put(world, {}, "mail");
  EXPECT_EQ(world.queue("mail").settings.max_attempts, 6U);
}

TEST(UnboundedTest, only_what_is_unbounded_may_stay_so) {
  World world;
  put(world);
  world.outcome<QueueChanged>(PutQueue{.queue = "tube", .patch = {.max_depth = 5}});
  EXPECT_EQ(world.queue("tube").settings.max_attempts, kUnbounded);
  world.outcome<QueueChanged>(PutQueue{.queue = "tube", .patch = {.max_attempts = 3}});
  EXPECT_EQ(world.refusal(PutQueue{.queue = "tube", .patch = {.max_attempts = 0}}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(PutQueue{.queue = "q", .patch = {.max_attempts = 0}}).code,
            ErrorCode::invalid_argument);
}

TEST(UnboundedTest, an_expired_lease_gives_the_job_back_at_once_to_its_place_uncharged) {
  World world;
  const JobId id = put(world, {.priority = 7});
  for (std::uint32_t round = 1; round <= kExcusedMax + 5; ++round) {
    reserve(world, id);
    world.advance(60'000);
    EXPECT_EQ(world.outcome<Moved>(ExpireLease{id}).state, JobState::pending);
    const Job& job = world.job(id);
    ASSERT_EQ(job.counters.timeouts, round);
    ASSERT_EQ(job.attempt, round);
    ASSERT_EQ(job.charged(), 0U);
    ASSERT_EQ(job.priority, 7);
    ASSERT_EQ(job.rank, static_cast<std::int64_t>(id.value));
  }
  EXPECT_EQ(world.history[id].back().outcome, AttemptOutcome::timeout);
}

TEST(UnboundedTest, releases_and_failures_never_end_the_job) {
  World world;
  const JobId id = put(world);
  for (std::uint32_t round = 1; round <= kExcusedMax + 5; ++round) {
    const Claimed claimed = reserve(world, id);
    ASSERT_EQ(world.outcome<Moved>(Release{.job = id, .token = claimed.token}).state,
              JobState::pending);
  }
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(world.job(id).counters.releases, kExcusedMax + 5);
  for (int round = 0; round < 20; ++round) {
    const Claimed claimed = reserve(world, id);
    ASSERT_EQ(world.outcome<Moved>(Fail{.job = id, .token = claimed.token}).state,
              JobState::failed);
    world.outcome<Moved>(Promote{.job = id});
  }
}

TEST(UnboundedTest, a_done_job_goes_in_the_change_that_ends_it) {
  World world;
  const JobId id = put(world, {.group = "g", .unique_key = "k"});
  const Claimed claimed = reserve(world, id);
  const ChangeSet change = world.run(Ack{.job = id, .token = claimed.token});
  EXPECT_EQ(std::get<Moved>(change.answer.outcome).state, JobState::completed);
  EXPECT_EQ(change.commit_class, CommitClass::sync);
  EXPECT_EQ(change.events.at(0).to, JobState::completed);
  EXPECT_FALSE(world.has(id));
  EXPECT_TRUE(world.unique_keys.empty());
  EXPECT_TRUE(world.group_locks.empty());
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = claimed.token}).code, ErrorCode::gone);
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = {.attempt = 1}}).code, ErrorCode::not_found);
}

TEST(UnboundedTest, an_ack_needs_its_lease_also_where_nothing_is_kept) {
  World world;
  const JobId id = put(world);
  const Claimed claimed = reserve(world, id);
  world.advance(60'000);
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = claimed.token}).code, ErrorCode::lease_lost);
  EXPECT_TRUE(world.has(id));
}

TEST(AbandonTest, where_leases_are_given_back_the_job_is_pending_at_once) {
  World world;
  const JobId id = put(world);
  const Claimed claimed = reserve(world, id);
  const ChangeSet change = world.run(Abandon{.job = id, .token = claimed.token});
  EXPECT_EQ(world.job(id).state, JobState::pending);
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(world.job(id).counters, JobCounters{});
  EXPECT_EQ(change.commit_class, CommitClass::ride);
  EXPECT_TRUE(change.may_use_reserve);
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = claimed.token}).code, ErrorCode::lease_lost);
}

TEST(AbandonTest, where_attempts_are_bounded_it_is_a_crash_under_the_policy) {
  World world;
  const JobId id = world.enqueue({.options = {.max_attempts = 2}});
  Claimed claimed = reserve(world, id);
  EXPECT_EQ(world.outcome<Moved>(Abandon{.job = id, .token = claimed.token}).state,
            JobState::failed);
  EXPECT_EQ(world.history[id].back().outcome, AttemptOutcome::crash);
  EXPECT_EQ(world.job(id).charged(), 1U);
  world.outcome<Moved>(Promote{.job = id});
  claimed = reserve(world, id);
  const auto moved = world.outcome<Moved>(Abandon{.job = id, .token = claimed.token});
  EXPECT_EQ(moved.state, JobState::dead);
  EXPECT_EQ(moved.reason, "attempts used up (2): worker lost: crash: connection closed");
}

TEST(AbandonTest, a_stop_of_the_server_charges_nobody) {
  World world;
  const JobId id = world.enqueue();
  const Claimed claimed = reserve(world, id);
  const ChangeSet change =
      world.run(Abandon{.job = id, .token = claimed.token, .is_server_stop = true});
  EXPECT_EQ(world.job(id).state, JobState::pending);
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(change.commit_class, CommitClass::sync);
}

TEST(AbandonTest, a_lease_that_is_over_is_passed_over) {
  World world;
  const JobId id = world.enqueue();
  const Claimed first = reserve(world, id);
  world.run(Release{.job = id, .token = first.token});
  world.outcome<Moved>(Abandon{.job = id, .token = first.token});  // a repeat of the release
  reserve(world, id);
  EXPECT_EQ(world.refusal(Abandon{.job = id, .token = first.token}).code, ErrorCode::lease_lost);
  EXPECT_EQ(world.job(id).state, JobState::processing);
}

TEST(AbandonTest, a_lease_of_a_connection_of_an_earlier_server_is_given_back_uncharged) {
  World world;
  const JobId id = world.enqueue();
  reserve(world, id);
  const JobId other = world.enqueue();
  world.claim(other);
  ++world.epoch;
  world.advance(60'000);
  EXPECT_EQ(world.outcome<Moved>(ExpireLease{id}).state, JobState::pending);
  EXPECT_EQ(world.job(id).charged(), 0U);
  EXPECT_EQ(world.job(id).counters.timeouts, 0U);
  // A worker's lease has run out like any other.
  EXPECT_EQ(world.outcome<Moved>(ExpireLease{other}).state, JobState::failed);
}

TEST(PlacementTest, release_and_bury_may_give_another_place) {
  World world;
  const JobId id = put(world, {.priority = 3, .rank = 9});
  EXPECT_EQ(world.job(id).rank, 9);
  Claimed claimed = reserve(world, id);
  world.run(Release{.job = id, .token = claimed.token, .placement = Placement{.priority = 5}});
  EXPECT_EQ(world.job(id).priority, 5);
  EXPECT_EQ(world.job(id).rank, static_cast<std::int64_t>(id.value));
  claimed = reserve(world, id);
  world.run(Fail{.job = id,
                 .token = claimed.token,
                 .dead = true,
                 .placement = Placement{.priority = 6, .rank = 1}});
  EXPECT_EQ(world.job(id).priority, 6);
  EXPECT_EQ(world.job(id).rank, 1);
  EXPECT_EQ(world.job(id).state, JobState::dead);
}

TEST(KickTest, dead_and_waiting_jobs_are_pending_at_their_places_and_told_once) {
  World world;
  const JobId delayed = put(world, {.priority = 2, .delay_ms = 60'000});
  const JobId dead = put(world, {.priority = 3, .unique_key = "k"});
  const JobId running = put(world);
  const JobId pending = put(world);
  world.run(Fail{.job = dead, .token = reserve(world, dead).token, .dead = true});
  reserve(world, running);
  const Kick kick{.jobs = {delayed, dead, running, pending, dead, JobId{999}},
                  .subject = "queue tube"};
  EXPECT_EQ(world.outcome<Kicked>(kick).count, 2U);
  for (const JobId id : {delayed, dead}) {
    const Job& job = world.job(id);
    EXPECT_EQ(job.state, JobState::pending);
    EXPECT_EQ(job.rank, static_cast<std::int64_t>(id.value));
    EXPECT_EQ(job.counters.kicks, 1U);
    EXPECT_FALSE(job.due_at.is_set());
  }
  EXPECT_EQ(world.job(dead).charged(), 0U);
  EXPECT_EQ(world.unique_keys.size(), 1U);
  ASSERT_EQ(world.audit.size(), 1U);
  EXPECT_EQ(world.audit[0].action, "kick");
  EXPECT_EQ(world.audit[0].subject, "queue tube");
  EXPECT_EQ(world.outcome<Kicked>(kick).count, 0U);
  EXPECT_EQ(world.audit.size(), 1U);
}

TEST(KickTest, a_dead_job_whose_unique_key_is_taken_is_passed_over) {
  World world;
  const JobId dead = put(world, {.unique_key = "k"});
  world.run(Fail{.job = dead, .token = reserve(world, dead).token, .dead = true});
  put(world, {.unique_key = "k"});
  const JobId other = put(world, {.delay_ms = 5});
  EXPECT_EQ(world.outcome<Kicked>(Kick{.jobs = {dead, other}}).count, 1U);
  EXPECT_EQ(world.job(dead).state, JobState::dead);
  EXPECT_EQ(world.job(other).state, JobState::pending);
}

TEST(KickTest, another_namespace_kicks_nothing) {
  World world;
  const JobId delayed = put(world, {.delay_ms = 60'000});
  world.principal.namespace_id = 2;
  EXPECT_EQ(world.outcome<Kicked>(Kick{.jobs = {delayed}}).count, 0U);
}

TEST(ClaimByIdTest, takes_what_waits_or_is_dead_and_nothing_else) {
  World world;
  const JobId delayed = put(world, {.delay_ms = 60'000});
  const JobId dead = put(world);
  const Claimed first = reserve(world, dead);
  world.run(Fail{.job = dead, .token = first.token, .dead = true});
  const JobId pending = put(world);
  world.run(PutQueue{.queue = "tube", .patch = {.paused = true}});
  for (const JobId id : {delayed, dead, pending}) {
    const Claim claim{.job = id, .owner = OwnerKind::connection, .is_by_id = true};
    EXPECT_EQ(world.outcome<Claimed>(claim).job, id);
    EXPECT_EQ(world.job(id).state, JobState::processing);
    EXPECT_FALSE(world.job(id).due_at.is_set());
    world.outcome<NotClaimable>(claim);
  }
  EXPECT_EQ(world.job(dead).attempt, 2U);
  EXPECT_EQ(world.job(dead).charged(), 1U);
  EXPECT_EQ(world.job(dead).counters.kicks, 0U);
  world.principal.namespace_id = 2;
  const JobId theirs = put(world);
  world.principal.namespace_id = 0;
  world.outcome<NotClaimable>(Claim{.job = theirs, .is_by_id = true});
  world.outcome<NotClaimable>(Claim{.job = JobId{999}, .is_by_id = true});
}

TEST(ClaimByIdTest, where_the_claim_is_the_ack_only_what_is_pending_can_be_taken) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.delivery = DeliveryMode::at_most_once}});
  const JobId delayed = world.enqueue({.delay_ms = 60'000});
  world.outcome<NotClaimable>(Claim{.job = delayed, .is_by_id = true});
}

TEST(EraseByClientTest, waiting_and_dead_jobs_go_without_an_operators_act) {
  World world;
  const JobId pending = world.enqueue();
  const JobId dead = world.enqueue();
  const JobId done = world.enqueue();
  const JobId running = world.enqueue();
  world.run(Fail{.job = dead, .token = world.claim(dead).token, .dead = true});
  world.run(Ack{.job = done, .token = world.claim(done).token});
  world.claim(running);
  world.outcome<Removed>(Erase{.job = pending, .is_by_client = true});
  world.outcome<Removed>(Erase{.job = dead, .is_by_client = true});
  EXPECT_EQ(world.refusal(Erase{.job = done, .is_by_client = true}).code, ErrorCode::not_found);
  EXPECT_EQ(world.refusal(Erase{.job = running, .is_by_client = true}).code, ErrorCode::conflict);
  EXPECT_TRUE(world.audit.empty());
  EXPECT_TRUE(world.has(done));
}

TEST(LongLeaseTest, a_job_may_ask_for_136_years_which_only_a_connection_gets) {
  World world;
  const JobId id = put(world, {.options = {.lease_ms = kJobLeaseMsMax}});
  reserve(world, id);
  EXPECT_EQ(world.job(id).lease->deadline_at, world.now.store.plus(kJobLeaseMsMax));
  const JobId other = put(world, {.options = {.lease_ms = kJobLeaseMsMax}});
  world.claim(other);
  EXPECT_EQ(world.job(other).lease->deadline_at, world.now.store.plus(kLeaseMsMax));
  Enqueue http{.queue = "tube"};
  http.jobs.push_back({.options = {.lease_ms = kLeaseMsMax + 1}});
  EXPECT_EQ(world.refusal(http).code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace weir::core
