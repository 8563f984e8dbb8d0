// SPDX-License-Identifier: Apache-2.0
// What time drives: leases, TTLs, retention, windows of unique keys; and groups, which outlast
// failures.
#include "core/test_world.h"

namespace weir::core {
namespace {

void expire(World& world, JobId id) {
  world.advance(world.job(id).lease->deadline_at.since(world.now.store));
  world.run(ExpireLease{id});
}

TEST(LeaseExpiryTest, an_expired_lease_is_a_timeout_under_the_policy) {
  World world;
  const JobId id = world.enqueue();
  const LeaseToken token = world.claim(id).token;
  world.advance(kLeaseMsDefault - 1);
  world.outcome<Nothing>(ExpireLease{id});
  world.advance(1);
  const ChangeSet change_set = world.run(ExpireLease{id});
  EXPECT_EQ(change_set.commit_class, CommitClass::ride);
  EXPECT_EQ(world.job(id).state, JobState::failed);
  EXPECT_EQ(world.job(id).counters.timeouts, 1U);
  EXPECT_EQ(world.job(id).counters.failures, 0U);
  const AttemptRecord& attempt = world.history[id].at(0);
  EXPECT_EQ(attempt.outcome, AttemptOutcome::timeout);
  EXPECT_EQ(attempt.error, (JobError{.error_class = "timeout", .message = "lease expired"}));
  EXPECT_EQ(attempt.worker_id, "w1");
  EXPECT_EQ(world.refusal(Ack{.job = id, .token = token}).code, ErrorCode::lease_lost);
}

// B49: a job that kills its worker every time is delivered exactly max_attempts times.
TEST(LeaseExpiryTest, a_crash_loop_ends_at_the_bound_with_the_worker_named_lost) {
  for (const std::uint32_t max : {1U, 3U}) {
    World world;
    const JobId id = world.enqueue({.options = {.max_attempts = max}});
    std::uint32_t deliveries = 0;
    for (int i = 0; i < 100 && !is_ended(world.job(id).state); ++i) {
      world.claim(id);
      ++deliveries;
      expire(world, id);
      if (world.job(id).state == JobState::failed) world.become_due(id);
    }
    EXPECT_EQ(deliveries, max);
    EXPECT_EQ(world.job(id).state, JobState::dead);
    EXPECT_NE(world.job(id).dead_reason.find("worker lost"), std::string::npos);
    EXPECT_EQ(world.history[id].size(), max);
    world.outcome<NotClaimable>(Claim{.job = id});
  }
}

// B43 at the level of the rules: place in the lane survives failure and expiry.
TEST(LeaseExpiryTest, a_stalled_job_keeps_class_priority_and_rank) {
  World world;
  const JobId a = world.enqueue({.priority_class = PriorityClass::P1, .priority = 25});
  const Job before = world.job(a);
  world.claim(a);
  expire(world, a);
  world.become_due(a);
  world.run(Fail{.job = a, .token = world.claim(a).token, .retry_after_ms = 1'000});
  world.become_due(a);
  EXPECT_EQ(world.job(a).priority, before.priority);
  EXPECT_EQ(world.job(a).rank, before.rank);
  EXPECT_EQ(world.job(a).priority_class, before.priority_class);
  EXPECT_EQ(world.job(a).state, JobState::pending);
}

TEST(TtlTest, a_job_that_was_not_started_in_time_expires) {
  World world;
  const JobId id = world.enqueue({.ttl_ms = 1'000, .unique_key = "k"});
  world.advance(999);
  world.outcome<Nothing>(ExpireTtl{id});
  world.advance(1);
  world.outcome<NotClaimable>(Claim{.job = id});
  world.run(ExpireTtl{id});
  EXPECT_EQ(world.job(id).state, JobState::expired);
  EXPECT_TRUE(world.unique_keys.empty());
}

TEST(TtlTest, after_the_first_claim_it_has_no_effect) {
  World world;
  const JobId id = world.enqueue({.ttl_ms = 1'000});
  world.run(Release{.job = id, .token = world.claim(id).token});
  world.advance(50'000);
  world.outcome<Nothing>(ExpireTtl{id});
  world.claim(id);
}

TEST(TtlTest, a_queue_gives_its_jobs_a_ttl) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.ttl_ms = 700}});
  EXPECT_EQ(world.job(world.enqueue()).expires_at, world.now.store.plus(700));
  EXPECT_EQ(world.job(world.enqueue({.ttl_ms = 5})).expires_at, world.now.store.plus(5));
}

TEST(RetentionTest, only_ended_jobs_are_taken) {
  World world;
  const JobId id = world.enqueue();
  world.outcome<Nothing>(Retain{id});
  world.run(Ack{.job = id, .token = world.claim(id).token});
  EXPECT_EQ(world.outcome<Removed>(Retain{id}).count, 1U);
  world.outcome<Nothing>(Retain{id});
  EXPECT_TRUE(world.audit.empty());
}

TEST(UniqueWindowTest, the_window_outlives_its_job) {
  World world;
  const JobId id = world.enqueue({.unique_key = "k", .unique_window_ms = 10'000});
  world.run(Ack{.job = id, .token = world.claim(id).token});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);
  world.run(Retain{id});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);
  world.outcome<Nothing>(ForgetUnique{.queue = QueueId{1}, .key = "k"});
  world.advance(10'000);
  world.outcome<Removed>(ForgetUnique{.queue = QueueId{1}, .key = "k"});
  EXPECT_TRUE(world.unique_keys.empty());
  EXPECT_NE(world.enqueue({.unique_key = "k"}), id);
}

TEST(UniqueWindowTest, a_living_job_outlives_its_window) {
  World world;
  const JobId id = world.enqueue({.unique_key = "k", .unique_window_ms = 10'000});
  world.advance(10'000);
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);  // before the ticker came by
  world.run(ForgetUnique{.queue = QueueId{1}, .key = "k"});
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), id);  // and after
  world.run(Ack{.job = id, .token = world.claim(id).token});
  EXPECT_TRUE(world.unique_keys.empty());
}

TEST(UniqueWindowTest, an_entry_past_its_window_gives_way_before_the_ticker_came) {
  World world;
  const JobId id = world.enqueue({.unique_key = "k", .unique_window_ms = 10'000});
  world.run(Ack{.job = id, .token = world.claim(id).token});
  world.advance(10'000);
  const JobId next = world.enqueue({.unique_key = "k"});
  EXPECT_NE(next, id);
  EXPECT_EQ(world.enqueue({.unique_key = "k"}), next);
}

TEST(GroupTest, a_group_is_closed_from_the_first_claim_to_the_end_of_its_head) {
  World world;
  const JobId head = world.enqueue({.group = "g"});
  const JobId next = world.enqueue({.group = "g"});
  const JobId other = world.enqueue({.group = "h"});
  const auto next_is_closed = [&] { world.outcome<NotClaimable>(Claim{.job = next}); };
  const LeaseToken token = world.claim(head).token;
  next_is_closed();
  world.claim(other);  // other groups go on
  world.run(Fail{.job = head, .token = token});
  next_is_closed();
  world.become_due(head);
  next_is_closed();
  world.run(Snooze{.job = head, .token = world.claim(head).token, .delay_ms = 500});
  next_is_closed();
  world.become_due(head);
  world.run(Release{.job = head, .token = world.claim(head).token});
  next_is_closed();
  world.run(Ack{.job = head, .token = world.claim(head).token});
  world.claim(next);
}

TEST(GroupTest, every_end_of_the_head_opens_the_group) {
  const auto opens = [](auto end) {
    World world;
    const JobId head = world.enqueue({.options = {.max_attempts = 1}, .group = "g"});
    const JobId next = world.enqueue({.group = "g"});
    const LeaseToken token = world.claim(head).token;
    end(world, head, token);
    world.claim(next);
  };
  opens([](World& w, JobId id, LeaseToken token) { w.run(Ack{.job = id, .token = token}); });
  opens([](World& w, JobId id, LeaseToken token) { w.run(Fail{.job = id, .token = token}); });
  opens([](World& w, JobId id, LeaseToken token) {
    w.run(Fail{.job = id, .token = token, .dead = true});
  });
  opens([](World& w, JobId id, LeaseToken) { w.run(Cancel{.job = id}); });
  opens([](World& w, JobId id, LeaseToken) { expire(w, id); });
  opens([](World& w, JobId id, LeaseToken token) {
    w.run(Release{.job = id, .token = token});
    w.run(Erase{id});
  });
  opens([](World& w, JobId id, LeaseToken token) {
    w.run(Release{.job = id, .token = token});
    w.run(Purge{.queue = "q", .slice = {id}});
  });
}

TEST(GroupTest, a_stale_token_does_not_open_the_group) {
  World world;
  const JobId head = world.enqueue({.group = "g"});
  const JobId next = world.enqueue({.group = "g"});
  const LeaseToken stale = world.claim(head).token;
  expire(world, head);
  world.become_due(head);
  world.claim(head);
  EXPECT_EQ(world.refusal(Ack{.job = head, .token = stale}).code, ErrorCode::lease_lost);
  world.outcome<NotClaimable>(Claim{.job = next});
}

}  // namespace
}  // namespace weir::core
