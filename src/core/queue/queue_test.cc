// SPDX-License-Identifier: Apache-2.0
// Queue settings and the three commands on queues.
#include "core/queue/queue.h"

#include "core/test_world.h"

namespace weir::core {
namespace {

TEST(QueueTest, defaults_are_right_and_each_bound_is_kept) {
  EXPECT_TRUE(check_queue_settings({}));
  const auto refused = [](auto change) {
    QueueSettings bad;
    change(bad);
    const auto checked = check_queue_settings(bad);
    return !checked && checked.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](QueueSettings& s) { s.max_attempts = 0; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.max_attempts = kMaxAttemptsMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.lease_ms = 0; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.lease_ms = kLeaseMsMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.timeout_ms = -1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.ttl_ms = -1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.payload_bytes_max = 0; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.payload_bytes_max = kPayloadBytesMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.durability = Durability::interval; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.completed_retention_ms = kRetentionMsMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.completed_max = kEndedJobsMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.max_depth = kMaxDepthMax + 1; }));
  EXPECT_TRUE(refused([](QueueSettings& s) { s.retry.jitter = 0; }));
}

TEST(QueueTest, words_of_settings_parse_back_with_either_dash) {
  for (const DeliveryMode mode : {DeliveryMode::at_least_once, DeliveryMode::at_most_once}) {
    EXPECT_EQ(*parse_delivery_mode(to_string(mode)), mode);
  }
  for (const ClaimMode mode : {ClaimMode::ride, ClaimMode::sync}) {
    EXPECT_EQ(*parse_claim_mode(to_string(mode)), mode);
  }
  for (const QueueOrder order : {QueueOrder::priority, QueueOrder::deadline, QueueOrder::fifo}) {
    EXPECT_EQ(*parse_queue_order(to_string(order)), order);
  }
  EXPECT_EQ(*parse_delivery_mode("at-most-once"), DeliveryMode::at_most_once);
  EXPECT_EQ(parse_claim_mode("later").error().detail, "must be one of ride, sync");
  for (const std::string_view text : {"sync", "interval:100ms", "interval:2s"}) {
    QueuePatch patch;
    QueueSettings settings;
    EXPECT_TRUE(parse_durability(text, patch));
    apply_patch(patch, settings);
    EXPECT_EQ(durability_text(settings), text);
  }
  for (const std::string_view text : {"", "never", "interval:", "interval:0", "interval:soon"}) {
    QueuePatch patch;
    EXPECT_FALSE(parse_durability(text, patch)) << text;
  }
}

TEST(QueueTest, put_creates_then_changes_only_what_is_named) {
  World world;
  const auto created = world.outcome<QueueChanged>(
      PutQueue{.queue = "q", .patch = {.priority_class = PriorityClass::P0, .max_depth = 5}});
  EXPECT_TRUE(created.created);
  EXPECT_EQ(created.queue.version, 1U);
  const auto changed =
      world.outcome<QueueChanged>(PutQueue{.queue = "q", .patch = {.paused = true}});
  EXPECT_FALSE(changed.created);
  EXPECT_TRUE(world.queue().paused);
  EXPECT_EQ(world.queue().settings.max_depth, 5U);
  EXPECT_EQ(world.queue().version, 2U);
}

TEST(QueueTest, put_without_a_difference_writes_nothing) {
  World world;
  world.run(PutQueue{.queue = "q"});
  const ChangeSet again = world.run(PutQueue{.queue = "q"});
  EXPECT_TRUE(again.is_empty());
  EXPECT_EQ(again.commit_class, CommitClass::none);
}

TEST(QueueTest, replace_brings_defaults_back_but_does_not_resume) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.max_depth = 5, .paused = true}});
  world.run(PutQueue{.queue = "q", .patch = {.lease_ms = 5'000}, .replace = true});
  EXPECT_EQ(world.queue().settings.max_depth, 0U);
  EXPECT_EQ(world.queue().settings.lease_ms, 5'000);
  EXPECT_TRUE(world.queue().paused);
}

TEST(QueueTest, a_retry_policy_brings_its_attempts_unless_they_are_named) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.retry = exp2_policy()}});
  EXPECT_EQ(world.queue().settings.max_attempts, 5U);
  const auto changed = world.outcome<QueueChanged>(
      PutQueue{.queue = "q", .patch = {.retry = ladder_policy(), .max_attempts = 20}});
  EXPECT_EQ(world.queue().settings.max_attempts, 20U);
  EXPECT_EQ(changed.warnings.size(), 1U);
}

TEST(QueueTest, bad_settings_change_nothing) {
  World world;
  EXPECT_EQ(world.refusal(PutQueue{.queue = "q", .patch = {.lease_ms = 1}}).code,
            ErrorCode::invalid_argument);
  EXPECT_TRUE(world.queues.empty());
  EXPECT_EQ(world.refusal(PutQueue{.queue = std::string("a\0b", 3)}).code,
            ErrorCode::invalid_argument);
}

TEST(QueueTest, an_empty_queue_is_deleted_at_once_a_full_one_needs_force) {
  World world;
  world.run(PutQueue{.queue = "empty"});
  world.outcome<Removed>(DeleteQueue{.queue = "empty"});
  EXPECT_TRUE(world.queues.empty());

  const JobId id = world.enqueue();
  EXPECT_EQ(world.refusal(DeleteQueue{.queue = "q"}).code, ErrorCode::conflict);
  world.outcome<QueueChanged>(DeleteQueue{.queue = "q", .force = true});
  EXPECT_TRUE(world.queue().is_deleted);
  EXPECT_EQ(world.refusal(PutQueue{.queue = "q"}).code, ErrorCode::conflict);
  Enqueue late{.queue = "q"};
  late.jobs.emplace_back();
  EXPECT_EQ(world.refusal(late).code, ErrorCode::conflict);
  world.outcome<NotClaimable>(Claim{.job = id});
  world.outcome<QueueChanged>(DeleteQueue{.queue = "q"});  // marked already: not refused, not gone
  EXPECT_EQ(world.outcome<Removed>(Purge{.queue = "q", .slice = {id}}).count, 1U);
  world.outcome<Removed>(DeleteQueue{.queue = "q"});
  EXPECT_TRUE(world.queues.empty());
  EXPECT_EQ(world.audit.size(), 2U);
}

TEST(QueueTest, purge_takes_waiting_jobs_of_this_queue_once) {
  World world;
  const JobId waiting = world.enqueue();
  const JobId running = world.enqueue();
  const JobId elsewhere = world.enqueue({}, "other");
  world.claim(running);
  const Purge purge{.queue = "q", .slice = {waiting, running, elsewhere, waiting, JobId{999}}};
  EXPECT_EQ(world.outcome<Removed>(purge).count, 1U);
  EXPECT_FALSE(world.has(waiting));
  EXPECT_TRUE(world.has(running));
  EXPECT_TRUE(world.has(elsewhere));
  EXPECT_EQ(world.audit.back().action, "purge");
  EXPECT_EQ(world.outcome<Removed>(purge).count, 0U);
}

TEST(QueueTest, a_deleted_queue_loses_running_and_ended_jobs_too) {
  World world;
  const JobId running = world.enqueue({.group = "g", .unique_key = "k"});
  const JobId dead = world.enqueue();
  world.claim(running);
  const Claimed claimed = world.claim(dead);
  world.run(Fail{.job = dead, .token = claimed.token, .dead = true});
  world.run(DeleteQueue{.queue = "q", .force = true});
  EXPECT_EQ(world.outcome<Removed>(Purge{.queue = "q", .slice = {running, dead}}).count, 2U);
  EXPECT_TRUE(world.jobs.empty());
  EXPECT_TRUE(world.unique_keys.empty());
  EXPECT_TRUE(world.group_locks.empty());
}

TEST(QueueTest, another_namespace_finds_nothing) {
  World world;
  world.run(PutQueue{.queue = "q"});
  world.principal.namespace_id = 2;
  EXPECT_EQ(world.refusal(DeleteQueue{.queue = "q"}).code, ErrorCode::not_found);
  EXPECT_EQ(world.refusal(Purge{.queue = "q"}).code, ErrorCode::not_found);
  EXPECT_TRUE(world.outcome<QueueChanged>(PutQueue{.queue = "q"}).created);
  EXPECT_EQ(world.queues.size(), 2U);
}

}  // namespace
}  // namespace weir::core
