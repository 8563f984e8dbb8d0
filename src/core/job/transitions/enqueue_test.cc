// SPDX-License-Identifier: Apache-2.0
// Enqueue: what is kept, what is refused and in which words, batches, unique keys, depth.
#include "core/test_world.h"

namespace weir::core {
namespace {

Enqueue batch(std::vector<NewJob> jobs) {
  return Enqueue{.queue = "q", .jobs = std::move(jobs), .is_batch = true};
}

Error refusal_of(NewJob job) {
  World world;
  Enqueue command{.queue = "q"};
  command.jobs.push_back(std::move(job));
  const Error error = world.refusal(command);
  EXPECT_TRUE(world.jobs.empty() && world.queues.empty());
  EXPECT_EQ(world.ids.jobs, 0U);  // a refusal takes no id
  return error;
}

TEST(EnqueueTest, the_first_job_creates_its_queue_and_every_option_is_kept) {
  World world;
  const JobId id = world.enqueue({.body = {.payload = "[1]", .headers = {{"traceparent", "00-1"}}},
                                  .kind = "mail",
                                  .priority_class = PriorityClass::P1,
                                  .priority = -4,
                                  .options = {.max_attempts = 2, .lease_ms = 5'000},
                                  .ttl_ms = 60'000,
                                  .group = "g",
                                  .limit_key = "l",
                                  .unique_key = "u",
                                  .tags = {"a", "b"},
                                  .external_id = "x"});
  const Job& job = world.job(id);
  EXPECT_EQ(job.state, JobState::pending);
  EXPECT_EQ(job.kind, "mail");
  EXPECT_EQ(job.priority_class, PriorityClass::P1);
  EXPECT_EQ(job.priority, -4);
  EXPECT_EQ(job.rank, static_cast<std::int64_t>(id.value));
  EXPECT_EQ(job.options->max_attempts, 2U);
  EXPECT_EQ(job.expires_at, world.now.store.plus(60'000));
  EXPECT_EQ(job.group, "g");
  EXPECT_EQ(job.limit_key, "l");
  EXPECT_EQ(job.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job.external_id, "x");
  EXPECT_EQ(job.created_by, "local");
  EXPECT_EQ(job.payload_bytes, 3U);
  EXPECT_EQ(job.run_at, world.now.wall);
  EXPECT_EQ(world.bodies[id].headers.size(), 1U);
  EXPECT_EQ(world.queue().settings, QueueSettings{});
  EXPECT_EQ(world.unique_keys.size(), 1U);
}

TEST(EnqueueTest, auto_create_can_be_forbidden) {
  World world;
  world.policy.auto_create = false;
  EXPECT_EQ(world.refusal(batch({NewJob{}})).code, ErrorCode::not_found);
  EXPECT_TRUE(world.queues.empty());
}

// B45: a delay is kept to the millisecond or refused with the limit named.
TEST(EnqueueTest, long_delays_are_kept_exactly) {
  for (const std::int64_t delay : {2'592'000'000LL, 2'147'483'647LL, 2'147'483'648LL,
                                   4'294'967'295LL, 4'294'967'296LL, 251'602'300'799'999LL}) {
    World world;
    const JobId id = world.enqueue({.delay_ms = delay});
    ASSERT_EQ(world.job(id).state, JobState::scheduled);
    EXPECT_EQ(world.job(id).due_at, world.now.store.plus(delay));
    EXPECT_EQ(world.job(id).run_at, world.now.wall.plus(delay));
    world.advance(delay - 1);
    world.outcome<Nothing>(BecomeDue{id});
    EXPECT_EQ(world.job(id).state, JobState::scheduled);
    world.advance(1);
    world.outcome<Moved>(BecomeDue{id});
    EXPECT_EQ(world.job(id).state, JobState::pending);
  }
}

TEST(EnqueueTest, impossible_delays_are_refused_with_the_limit_named) {
  for (const std::int64_t delay :
       {std::int64_t{251'602'300'800'000}, std::int64_t{1} << 53, INT64_MAX}) {
    const Error error = refusal_of({.delay_ms = delay});
    EXPECT_EQ(error.code, ErrorCode::invalid_argument);
    EXPECT_NE(error.detail.find("9999"), std::string::npos) << error.detail;
  }
  EXPECT_EQ(refusal_of({.delay_ms = -1}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of({.delay_ms = INT64_MIN}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of({.run_at = kWallTimeMax.plus(1)}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(refusal_of({.delay_ms = 1, .run_at = WallTime{1}}).code, ErrorCode::invalid_argument);
}

TEST(EnqueueTest, run_at_follows_the_wall_clock_and_the_past_means_now) {
  World world;
  const JobId last = world.enqueue({.run_at = kWallTimeMax});
  EXPECT_EQ(world.job(last).run_at, kWallTimeMax);
  EXPECT_FALSE(world.job(last).due_at.is_set());
  const JobId past = world.enqueue({.run_at = WallTime{5}});
  EXPECT_EQ(world.job(past).state, JobState::pending);
  EXPECT_EQ(world.job(past).run_at, world.now.wall);
  const JobId soon = world.enqueue({.run_at = world.now.wall.plus(1'000)});
  world.now.store = world.now.store.plus(50'000);
  world.outcome<Nothing>(BecomeDue{soon});
  world.now.wall = world.now.wall.plus(1'000);
  world.outcome<Moved>(BecomeDue{soon});
}

TEST(EnqueueTest, bad_fields_are_refused) {
  const std::string long_name(256, 'x');
  for (NewJob bad :
       {NewJob{.kind = long_name},
        NewJob{.group = "a\nb"},
        NewJob{.limit_key = "\x01"},
        NewJob{.unique_key = long_name},
        NewJob{.tags = {""}},
        NewJob{.tags = {"\xff"}},
        NewJob{.tags = std::vector<std::string>(kTagsMax + 1, "t")},
        NewJob{.external_id = long_name},
        NewJob{.options = {.max_attempts = 0}},
        NewJob{.options = {.max_attempts = kMaxAttemptsMax + 1}},
        NewJob{.options = {.lease_ms = 0}},
        NewJob{.options = {.lease_ms = kLeaseMsMax + 1}},
        NewJob{.options = {.timeout_ms = -1}},
        NewJob{.ttl_ms = 0},
        NewJob{.ttl_ms = -1},
        NewJob{.unique_key = "k", .unique_window_ms = 0},
        NewJob{.unique_window_ms = 5},
        NewJob{.body = {.content_type = "a\nb"}},
        NewJob{.body = {.headers = std::vector<TypedHeader>(kHeadersMax + 1, {"a", "b"})}},
        NewJob{.body = {.headers = {{"a", std::string(kHeaderBytesMax, 'x')}}}}}) {
    const Error error = refusal_of(std::move(bad));
    EXPECT_EQ(error.code, ErrorCode::invalid_argument) << error.detail;
    EXPECT_FALSE(error.detail.empty());
  }
  NewJob bad_retry;
  bad_retry.options.retry = RetryPolicy{.base_ms = 1, .factor = 0, .cap_ms = 1, .max_attempts = 1};
  EXPECT_EQ(refusal_of(bad_retry).code, ErrorCode::invalid_argument);
}

TEST(EnqueueTest, a_large_payload_is_refused_with_the_way_out) {
  const Error error = refusal_of({.body = {.payload = std::string(kPayloadBytesMax + 1, 'x')}});
  EXPECT_EQ(error.code, ErrorCode::too_large);
  EXPECT_NE(error.detail.find("reference"), std::string::npos);
  World world;
  world.enqueue({.body = {.payload = std::string(kPayloadBytesMax, 'x')}});
  world.run(PutQueue{.queue = "q", .patch = {.payload_bytes_max = 3}});
  EXPECT_EQ(world.refusal(batch({NewJob{.body = {.payload = "1234"}}})).code, ErrorCode::too_large);
}

TEST(EnqueueTest, one_bad_item_refuses_the_batch_and_is_named) {
  World world;
  const Error error = world.refusal(batch({NewJob{}, NewJob{}, NewJob{}, NewJob{.delay_ms = -1}}));
  EXPECT_EQ(error.detail.substr(0, 9), "jobs[3]: ");
  EXPECT_TRUE(world.jobs.empty());
  EXPECT_EQ(world.refusal(batch({})).code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(batch(std::vector<NewJob>(kBatchJobsMax + 1))).code,
            ErrorCode::invalid_argument);
}

TEST(EnqueueTest, a_batch_is_one_change_and_shares_equal_options) {
  World world;
  const NewJob a{.options = {.max_attempts = 2}};
  const NewJob b{.options = {.max_attempts = 3}};
  const ChangeSet change_set = world.run(batch({a, b, NewJob{}, a}));
  ASSERT_EQ(change_set.jobs.size(), 4U);
  EXPECT_EQ(change_set.commit_class, CommitClass::sync);
  EXPECT_EQ(change_set.jobs[0].after.options.get(), change_set.jobs[3].after.options.get());
  EXPECT_NE(change_set.jobs[0].after.options.get(), change_set.jobs[1].after.options.get());
  EXPECT_EQ(change_set.jobs[2].after.options, nullptr);
  const auto& answer = std::get<Enqueued>(change_set.answer.outcome);
  EXPECT_EQ(answer.ids.size(), 4U);
  EXPECT_TRUE(answer.duplicates.empty());
}

TEST(EnqueueTest, a_taken_unique_key_answers_the_living_job) {
  World world;
  const JobId first = world.enqueue({.delay_ms = 5'000, .unique_key = "k"});
  const ChangeSet second = world.run(batch(
      {NewJob{}, NewJob{.unique_key = "k"}, NewJob{.unique_key = "n"}, NewJob{.unique_key = "n"}}));
  const auto& answer = std::get<Enqueued>(second.answer.outcome);
  EXPECT_EQ(answer.duplicates, (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(answer.ids[1], first);
  EXPECT_EQ(answer.ids[3], answer.ids[2]);
  EXPECT_EQ(second.jobs.size(), 2U);
  const Enqueued alone = world.outcome<Enqueued>(batch({NewJob{.unique_key = "k"}}));
  EXPECT_EQ(alone.first_state, JobState::scheduled);
  // Another queue is another scope.
  EXPECT_NE(world.enqueue({.unique_key = "k"}, "other"), first);
}

TEST(EnqueueTest, a_second_enqueue_of_the_turn_sees_the_first) {
  World world;
  const Request request{.command = batch({NewJob{.unique_key = "k"}}),
                        .principal = world.principal};
  const JobId first = std::get<Enqueued>(world.run(request).answer.outcome).ids[0];
  EXPECT_EQ(std::get<Enqueued>(world.run_in_turn(request).answer.outcome).ids[0], first);
  const Request other{.command = batch({NewJob{.unique_key = "j"}}), .principal = world.principal};
  world.run_in_turn(other);
  EXPECT_EQ(world.jobs.size(), 2U);
}

TEST(EnqueueTest, max_depth_refuses_with_both_numbers_and_counts_the_turn) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.max_depth = 3}});
  world.enqueue({.unique_key = "k"});
  world.enqueue({.delay_ms = 9'000});
  const Error error = world.refusal(batch({NewJob{}, NewJob{}}));
  EXPECT_EQ(error.code, ErrorCode::queue_saturated);
  EXPECT_EQ(error.depth, 2);
  EXPECT_EQ(error.max_depth, 3);
  EXPECT_GT(error.retry_after_ms, 0);
  const Request one{.command = batch({NewJob{}}), .principal = world.principal};
  world.run(one);
  const ChangeSet over = world.run_in_turn(one);
  EXPECT_TRUE(std::holds_alternative<Error>(over.answer.outcome));
  // A unique hit makes no job, so it is not refused.
  EXPECT_EQ(world.outcome<Enqueued>(batch({NewJob{.unique_key = "k"}})).duplicates.size(), 1U);
}

TEST(EnqueueTest, a_draining_queue_is_unavailable_for_now) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.draining = true}});
  const Error error = world.refusal(batch({NewJob{}}));
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_GT(error.retry_after_ms, 0);
  world.run(PutQueue{.queue = "q", .patch = {.paused = true, .draining = false}});
  world.enqueue();
}

TEST(EnqueueTest, an_interval_queue_answers_not_durable) {
  World world;
  world.run(PutQueue{.queue = "q",
                     .patch = {.durability = Durability::interval, .durability_interval_ms = 100}});
  const ChangeSet change_set = world.run(batch({NewJob{}}));
  EXPECT_EQ(change_set.commit_class, CommitClass::interval);
  EXPECT_FALSE(change_set.answer.durable);
  EXPECT_FALSE(change_set.may_use_reserve);
}

TEST(EnqueueTest, a_fifo_queue_ignores_priorities) {
  World world;
  world.run(PutQueue{.queue = "q", .patch = {.order = QueueOrder::fifo}});
  EXPECT_EQ(world.job(world.enqueue({.priority = -9})).priority, 0);
}

}  // namespace
}  // namespace weir::core
