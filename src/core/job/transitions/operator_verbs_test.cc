// SPDX-License-Identifier: Apache-2.0
// Cancel, promote, replay, erase, edit: what they change, refuse and record.
#include "core/test_world.h"

namespace weir::core {
namespace {

JobId dead_job(World& world, NewJob job = {}) {
  const JobId id = world.enqueue(std::move(job));
  world.run(Fail{.job = id, .token = world.claim(id).token, .dead = true});
  return id;
}

TEST(CancelTest, a_running_job_ends_and_its_worker_loses_the_lease) {
  World world;
  const JobId id = world.enqueue({.group = "g", .unique_key = "k"});
  const LeaseToken token = world.claim(id).token;
  const auto moved = world.outcome<Moved>(Cancel{.job = id, .reason = "wrong"});
  EXPECT_EQ(moved.state, JobState::cancelled);
  EXPECT_EQ(world.history[id].at(0).outcome, AttemptOutcome::cancelled);
  EXPECT_EQ(world.history[id].at(0).reason, "wrong");
  EXPECT_TRUE(world.unique_keys.empty() && world.group_locks.empty());
  for (const Command& verb : std::vector<Command>{
           Ack{.job = id, .token = token}, Fail{.job = id, .token = token},
           Extend{.job = id, .token = token}, Release{.job = id, .token = token},
           Snooze{.job = id, .token = token, .delay_ms = 1}, Progress{.job = id, .token = token}}) {
    EXPECT_EQ(world.refusal(verb).code, ErrorCode::lease_lost);
  }
  EXPECT_EQ(world.audit.back(), (AuditRecord{.at = world.now.wall,
                                             .principal = "local",
                                             .action = "cancel",
                                             .subject = "job 1",
                                             .reason = "wrong"}));
  world.run(Cancel{.job = id});
  EXPECT_EQ(world.audit.size(), 1U);
}

TEST(CancelTest, the_worker_of_a_failed_job_may_still_repeat_its_fail) {
  World world;
  const JobId id = world.enqueue();
  const Fail fail{.job = id, .token = world.claim(id).token};
  world.run(fail);
  world.run(Cancel{.job = id});
  EXPECT_EQ(world.outcome<Moved>(fail).state, JobState::failed);
  EXPECT_EQ(world.job(id).state, JobState::cancelled);
}

TEST(PromoteTest, scheduled_and_failed_jobs_may_be_claimed_now) {
  World world;
  const JobId later = world.enqueue({.delay_ms = 900'000});
  EXPECT_EQ(world.outcome<Moved>(Promote{later}).state, JobState::pending);
  EXPECT_EQ(world.job(later).run_at, world.now.wall);
  EXPECT_EQ(world.job(later).counters.kicks, 1U);
  const LeaseToken token = world.claim(later).token;
  world.run(Fail{.job = later, .token = token, .retry_after_ms = 60'000});
  world.run(Promote{later});
  world.claim(later);
  EXPECT_EQ(world.job(later).attempt, 2U);
  EXPECT_EQ(world.audit.size(), 2U);
}

TEST(ReplayTest, a_dead_job_gets_its_attempts_anew_at_the_back) {
  World world;
  NewJob wanted{.ttl_ms = 60'000, .tags = {"t"}};
  wanted.options.max_attempts = 2;
  const JobId id = dead_job(world, wanted);
  const JobId other = world.enqueue();
  world.advance(5'000);
  EXPECT_EQ(world.outcome<Moved>(Replay{.job = id, .reason = "fixed"}).state, JobState::pending);
  const Job& job = world.job(id);
  EXPECT_EQ(job.attempt, 1U);
  EXPECT_EQ(job.budget_start, 1U);
  EXPECT_GT(job.rank, world.job(other).rank);
  EXPECT_EQ(job.expires_at, world.now.store.plus(60'000));
  EXPECT_EQ(job.tags.size(), 1U);
  EXPECT_EQ(world.history[id].size(), 1U);
  EXPECT_EQ(world.audit.back().reason, "fixed");
  world.claim(id);
  EXPECT_EQ(world.job(id).attempt, 2U);
  world.run(Fail{.job = id, .token = lease_token(world.secret, id, 2)});
  EXPECT_EQ(world.job(id).state, JobState::failed);
  world.become_due(id);
  const auto moved = world.outcome<Moved>(Fail{.job = id, .token = world.claim(id).token});
  EXPECT_EQ(moved.state, JobState::dead);
  EXPECT_EQ(moved.reason.substr(0, 20), "attempts used up (2)");
}

TEST(ReplayTest, a_taken_unique_key_is_a_conflict_until_it_is_free) {
  World world;
  const JobId id = dead_job(world, {.unique_key = "k"});
  const JobId other = world.enqueue({.unique_key = "k"});
  EXPECT_NE(id, other);
  EXPECT_EQ(world.refusal(Replay{.job = id}).code, ErrorCode::conflict);
  world.run(Erase{other});
  world.outcome<Moved>(Replay{.job = id});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);
}

TEST(ReplayTest, a_window_of_an_ended_job_gives_way_to_a_replay) {
  World world;
  const JobId id = dead_job(world, {.unique_key = "k"});
  const JobId other = dead_job(world, {.unique_key = "k", .unique_window_ms = 60'000});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), other);
  world.outcome<Moved>(Replay{.job = id});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);
}

TEST(EraseTest, an_erased_job_is_gone_with_what_it_held) {
  World world;
  const JobId id = world.enqueue({.group = "g", .unique_key = "k"});
  EXPECT_EQ(world.outcome<Removed>(Erase{id}).count, 1U);
  EXPECT_TRUE(world.jobs.empty() && world.unique_keys.empty());
  EXPECT_EQ(world.audit.back().action, "delete");
  EXPECT_EQ(world.refusal(Erase{id}).code, ErrorCode::not_found);
}

TEST(EditTest, an_edit_changes_what_is_named_and_keeps_the_rest_of_the_body) {
  World world;
  const JobId id = world.enqueue({.body = {.payload = "old", .headers = {{"h", "v"}}}});
  const std::int64_t rank = world.job(id).rank;
  const auto moved = world.outcome<Moved>(Edit{.job = id,
                                               .stored_body = world.bodies[id],
                                               .if_match = world.job(id).version,
                                               .payload = "longer",
                                               .priority_class = PriorityClass::P0,
                                               .priority = 3,
                                               .tags = std::vector<std::string>{"t"}});
  EXPECT_EQ(moved.version, world.job(id).version);
  EXPECT_EQ(world.bodies[id].payload, "longer");
  EXPECT_EQ(world.bodies[id].headers.size(), 1U);
  EXPECT_EQ(world.job(id).payload_bytes, 6U);
  EXPECT_EQ(world.job(id).priority_class, PriorityClass::P0);
  EXPECT_EQ(world.job(id).priority, 3);
  EXPECT_EQ(world.job(id).rank, rank);
}

TEST(EditTest, a_stale_version_and_a_job_that_runs_are_conflicts) {
  World world;
  const JobId id = world.enqueue();
  EXPECT_EQ(world.refusal(Edit{.job = id, .if_match = 99, .priority = 1}).code,
            ErrorCode::conflict);
  world.claim(id);
  EXPECT_EQ(world.refusal(Edit{.job = id, .priority = 1}).code, ErrorCode::conflict);
}

TEST(EditTest, run_at_moves_between_pending_and_scheduled) {
  World world;
  const JobId id = world.enqueue();
  const WallTime later = world.now.wall.plus(9'000);
  EXPECT_EQ(world.outcome<Moved>(Edit{.job = id, .run_at = later}).state, JobState::scheduled);
  EXPECT_EQ(world.job(id).run_at, later);
  EXPECT_EQ(world.outcome<Moved>(Edit{.job = id, .run_at = WallTime{1}}).state, JobState::pending);
  const JobId delayed = world.enqueue({.delay_ms = 500});
  world.run(Edit{.job = delayed, .run_at = later});
  EXPECT_FALSE(world.job(delayed).due_at.is_set());
  world.run(Fail{.job = id, .token = world.claim(id).token});
  EXPECT_EQ(world.refusal(Edit{.job = id, .run_at = later}).code, ErrorCode::conflict);
}

TEST(EditTest, the_bounds_of_enqueue_hold) {
  World world;
  const JobId id = world.enqueue();
  const JobBody body = world.bodies[id];
  EXPECT_EQ(world.refusal(Edit{.job = id, .tags = std::vector<std::string>{""}}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(Edit{.job = id, .run_at = kWallTimeMax.plus(1)}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(Edit{.job = id, .stored_body = body, .content_type = ""}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(
      world
          .refusal(Edit{
              .job = id, .stored_body = body, .payload = std::string(kPayloadBytesMax + 1, 'x')})
          .code,
      ErrorCode::too_large);
  EXPECT_EQ(world.refusal(Edit{.job = id, .payload = "no stored body"}).code,
            ErrorCode::unavailable);
}

TEST(EditTest, two_edits_of_one_turn_build_on_each_other) {
  World world;
  const JobId id = world.enqueue({.body = {.payload = "old"}});
  const JobBody stored = world.bodies[id];
  world.run(Request{.command = Edit{.job = id, .stored_body = stored, .payload = "new"},
                    .principal = world.principal});
  world.run_in_turn(
      Request{.command = Edit{.job = id, .stored_body = stored, .content_type = "text/plain"},
              .principal = world.principal});
  EXPECT_EQ(world.bodies[id].payload, "new");
  EXPECT_EQ(world.bodies[id].content_type, "text/plain");
}

TEST(ReserveTest, what_drains_may_use_the_reserve_and_what_fills_may_not) {
  World world;
  const JobId id = world.enqueue({.delay_ms = 5'000});
  EXPECT_FALSE(world.run(Edit{.job = id, .priority = 1}).may_use_reserve);
  EXPECT_FALSE(world.run(Promote{id}).may_use_reserve);
  EXPECT_FALSE(world.run(PutQueue{.queue = "q", .patch = {.max_depth = 9}}).may_use_reserve);
  EXPECT_TRUE(world.run(Claim{.job = id}).may_use_reserve);
  EXPECT_TRUE(world.run(Cancel{.job = id}).may_use_reserve);
  EXPECT_FALSE(world.run(Replay{.job = id}).may_use_reserve);
  EXPECT_TRUE(world.run(Erase{id}).may_use_reserve);
}

}  // namespace
}  // namespace weir::core
