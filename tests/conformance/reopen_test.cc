// SPDX-License-Identifier: Apache-2.0
// What was durable is there again after every kind of end; format 1 comes back whole, also out of a
// backup.
#include <gmock/gmock.h>

#include "conformance/store_test.h"
#include "core/view.h"
#include "support/random_entity.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;

constexpr StopKind kEveryStop[] = {StopKind::clean, StopKind::killed, StopKind::power_cut};

class ReopenTest : public StoreTest {
 protected:
  void SetUp() override {
    if (!survives_reopen()) GTEST_SKIP() << "this store does not survive";
  }
  void make_durable() { ASSERT_TRUE(store().sync()); }
};

TEST_F(ReopenTest, synced_jobs_are_there_after_every_end) {
  const core::Queue queue = make_queue("mail");
  std::vector<core::Job> jobs;
  for (const StopKind how : kEveryStop) {
    for (int i = 0; i < 20; ++i) jobs.push_back(add(JobBuilder(queue.id).kind("k")));
    jobs[jobs.size() - 2] = claim(jobs[jobs.size() - 2], kMsPerDay);
    jobs.back() = end(jobs.back());
    make_durable();
    reopen(how);
    EXPECT_EQ(walk({}), jobs);
    EXPECT_EQ(counts(queue.id).total(), jobs.size());
    EXPECT_EQ(store().read_body(jobs[0].id)->payload, "{}");
  }
}

TEST_F(ReopenTest, a_clean_stop_makes_everything_durable) {
  const core::Queue queue = make_queue("mail");
  const core::Job job = add(JobBuilder(queue.id));
  const core::Job held = claim(job, kMsPerDay);
  reopen(StopKind::clean);
  EXPECT_EQ(*store().read_job(job.id), held);
}

TEST_F(ReopenTest, what_was_written_survives_a_kill) {
  const core::Queue queue = make_queue("mail");
  const core::Job job = add(JobBuilder(queue.id));
  const core::Job held = claim(job, kMsPerDay);
  reopen(StopKind::killed);
  EXPECT_EQ(*store().read_job(job.id), held);
}

TEST_F(ReopenTest, a_lease_of_a_connection_is_due_at_once_for_the_connection_ended_too) {
  const core::Queue queue = make_queue("mail");
  core::Job held = test::claimed(add(JobBuilder(queue.id)), now_, kMsPerDay);
  held.lease->owner = core::OwnerKind::connection;
  held.lease->connection = 7;
  const core::Job job = put(*store().read_job(held.id), held);
  for (const StopKind how : {StopKind::clean, StopKind::killed}) {
    reopen(how);
    const core::Lease lease = *store().read_job(job.id)->lease;
    EXPECT_LE(lease.deadline_at, store().identity().store_time);
    EXPECT_EQ(lease.owner, core::OwnerKind::connection);
    EXPECT_EQ(lease.connection, 7U);
    EXPECT_THAT(due_jobs(Due::Kind::lease), ElementsAre(job.id));
  }
}

TEST_F(ReopenTest, after_a_power_cut_the_end_is_missing_but_no_part_of_a_commit) {
  const core::Queue queue = make_queue("mail");
  const core::Job durable = add(JobBuilder(queue.id));
  make_durable();
  core::ChangeSet bulk;
  bulk.commit_class = core::CommitClass::sync;
  for (int i = 0; i < 50; ++i) {
    bulk.jobs.push_back(test::enqueue_of(JobBuilder(queue.id).build(new_id(), now_),
                                         {.payload = std::string(5000, 'x')}));
  }
  apply(bulk);
  reopen(StopKind::power_cut);
  const auto found = ids_of(walk({}));
  EXPECT_TRUE(found.size() == 1 || found.size() == 51) << found.size();
  EXPECT_EQ(found.front(), durable.id);
}

TEST_F(ReopenTest, order_groups_keys_and_times_are_built_again) {
  for (const StopKind how : kEveryStop) {
    const core::Queue queue = make_queue("mail-" + std::to_string(static_cast<int>(how)));
    const core::Job first = add(JobBuilder(queue.id).priority(2));
    const core::Job urgent = add(JobBuilder(queue.id).priority(1));
    const core::Job holder = add(JobBuilder(queue.id).group("g").priority(3));
    add(JobBuilder(queue.id).group("g"));
    lock_group(holder);
    const core::Job planned = add(JobBuilder(queue.id).due_at(now_.store.plus(5000)));
    apply(test::only(core::UniqueKeyChange{
        .after = {
            .queue = queue.id, .key = "k", .job = first.id, .until = now_.store.plus(kMsPerDay)}}));
    make_durable();
    reopen(how);
    EXPECT_THAT(claimable({.queues = {queue.id}}), ElementsAre(urgent.id, first.id, holder.id));
    advance(5000);
    EXPECT_THAT(due_jobs(Due::Kind::run_at), ElementsAre(planned.id));
    remove(planned);
    core::View view;
    core::ReadSet wanted;
    wanted.unique_keys_by_id = {{queue.id, "k"}};
    ASSERT_TRUE(store().prefetch(wanted, view));
    ASSERT_NE(view.unique_key(queue.id, "k"), nullptr);
    EXPECT_EQ(view.unique_key(queue.id, "k")->job, first.id);
  }
}

TEST_F(ReopenTest, removed_things_stay_removed) {
  for (const StopKind how : kEveryStop) {
    const core::Queue queue = make_queue("mail-" + std::to_string(static_cast<int>(how)));
    const core::Job job = add(JobBuilder(queue.id));
    remove(job);
    apply(test::only(
        core::QueueChange{.after = queue, .erase = true, .expected_version = queue.version}));
    make_durable();
    reopen(how);
    EXPECT_EQ(store().read_job(job.id).error().code, ErrorCode::not_found);
    EXPECT_TRUE(store().read_queues()->empty());
  }
}

TEST_F(ReopenTest, the_epoch_grows_and_the_identity_stays) {
  for (const StopKind how : kEveryStop) {
    const store::Identity before = store().identity();
    reopen(how);
    EXPECT_GT(store().identity().epoch, before.epoch);
    EXPECT_EQ(store().identity().store_key, before.store_key);
    EXPECT_EQ(store().identity().lease_secret, before.lease_secret);
    EXPECT_GE(store().identity().store_time, before.store_time);
  }
}

TEST_F(ReopenTest, the_stores_clock_never_goes_back) {
  const core::Queue queue = make_queue("mail");
  for (const StopKind how : kEveryStop) {
    advance(kMsPerHour);
    add(JobBuilder(queue.id));
    make_durable();
    const StoreTime last = now_.store;
    now_.wall = now_.wall.plus(-kMsPerDay);  // the wall clock steps back while the server is off
    reopen(how);
    EXPECT_GE(store().identity().store_time, last);
  }
}

// One of every entity, no field at its default: what a store drops shows here.
class Format1Test : public ReopenTest {
 protected:
  void fill() {
    queue_ = test::full_queue(*store().allocate_queue_id(), "every field");
    apply(test::only(core::QueueChange{.after = queue_}));
    for (const JobState state : core::kJobStates) {
      core::Job job = test::full_job(new_id(), queue_.id, state);
      job.has_history = true;
      job.has_result = true;
      if (state == JobState::processing) {
        job.lease = core::Lease{.started_at = now_.store,
                                .deadline_at = now_.store.plus(kMsPerDay),
                                .worker_id = "worker-9",
                                .owner = core::OwnerKind::worker,
                                .connection = 0xFFFF'FFFF'FFFFULL,
                                .boot = 3,
                                .progress_percent = 42,
                                .progress_message = "half way"};
      }
      core::JobChange change = test::enqueue_of(job, test::full_body());
      change.attempt = attempt_;
      change.result = "[1, 2.50]";
      apply(test::only(std::move(change)));
      jobs_.push_back(job);
    }
    token_.id = "wt_0123456789ab";
    token_.name = "all";
    token_.secret_sha256.fill(0x5A);
    token_.scopes = 31;
    token_.queues = {"a*", "b"};
    token_.namespace_id = 4;
    token_.created_at = WallTime{1'800'000'000'000};
    token_.expires_at = WallTime{1'900'000'000'000};
    token_.is_revoked = true;
    token_.created_by = "local";
    core::ChangeSet rest;
    rest.commit_class = core::CommitClass::sync;
    rest.tokens = {{token_}};
    rest.audit = {audit_};
    rest.unique_keys = {{.after = key_}};
    rest.group_locks = {{.after = lock_}};
    key_.queue = lock_.queue = queue_.id;
    rest.unique_keys[0].after = key_;
    rest.group_locks[0].after = lock_;
    rest.idempotency = {{.after = entry_}};
    apply(rest);
    ASSERT_TRUE(store().sync());
  }

  void expect_all(store::Store& found) {
    EXPECT_THAT(*found.read_queues(), ElementsAre(queue_));
    for (const core::Job& job : jobs_) {
      const auto stored = found.read_job(job.id);
      ASSERT_TRUE(stored.has_value()) << core::to_string(job.state);
      EXPECT_EQ(*stored, job);
      EXPECT_EQ(*found.read_body(job.id), test::full_body());
      EXPECT_THAT(*found.read_history(job.id), ElementsAre(attempt_));
      EXPECT_EQ(*found.read_result(job.id), "[1, 2.50]");
    }
    EXPECT_THAT(*found.read_tokens(), ElementsAre(token_));
    EXPECT_THAT(*found.read_audit(10), ElementsAre(audit_));
    core::View view;
    core::ReadSet wanted;
    wanted.jobs = {jobs_[0].id};
    wanted.unique_keys_by_id = {{key_.queue, key_.key}};
    wanted.idempotency = {entry_.scope};
    ASSERT_TRUE(found.prefetch(wanted, view));
    ASSERT_NE(view.unique_key(key_.queue, key_.key), nullptr);
    EXPECT_EQ(*view.unique_key(key_.queue, key_.key), key_);
    ASSERT_NE(view.group_lock(lock_.queue, lock_.group), nullptr);
    EXPECT_EQ(*view.group_lock(lock_.queue, lock_.group), lock_);
    ASSERT_NE(view.idempotency(entry_.scope), nullptr);
    EXPECT_EQ(*view.idempotency(entry_.scope), entry_);
  }

  core::Queue queue_;
  std::vector<core::Job> jobs_;
  core::ApiToken token_;
  core::AttemptRecord attempt_{
      .attempt = 4,
      .worker_id = "worker-2",
      .started_at = WallTime{1'800'000'000'001},
      .ended_at = WallTime{1'800'000'000'902},
      .outcome = core::AttemptOutcome::crash,
      .error = {.error_class = "crash", .code = "137", .http_status = 502, .message = "killed"},
      .reason = "worker lost"};
  core::AuditRecord audit_{.at = WallTime{1'800'000'000'000},
                           .principal = "wt_0123456789ab",
                           .action = "purge",
                           .subject = "queue mail",
                           .reason = "cleaning up"};
  core::UniqueKey key_{.key = "order-9", .job = {3}, .until = StoreTime{9'000'000'000'000}};
  core::GroupLock lock_{.group = "customer-7", .holder = {5}};
  core::IdempotencyEntry entry_{.scope = {0x1111, 0x2222},
                                .request = {0x3333, 0x4444},
                                .expires_at = StoreTime{9'100'000'000'000},
                                .answer = std::string("\x00\x01\xfe", 3)};
};

TEST_F(Format1Test, every_field_survives_every_end) {
  fill();
  expect_all(store());
  for (const StopKind how : kEveryStop) {
    reopen(how);
    expect_all(store());
  }
}

TEST_F(Format1Test, every_field_survives_housekeeping) {
  fill();
  for (int round = 0; round < 200; ++round) {
    advance(100);
    ASSERT_TRUE(store().work(now_));
  }
  reopen(StopKind::power_cut);
  expect_all(store());
}

TEST_F(Format1Test, every_field_survives_backup_and_restore) {
  if (!store().capabilities().has_backup) GTEST_SKIP() << "this store has no backup";
  fill();
  const std::string directory = factory().backup_directory();
  ASSERT_TRUE(store().backup(directory));
  const auto copy = factory().open_backup(directory);
  ASSERT_NE(copy, nullptr);
  expect_all(*copy);
}

// The memory store has no end to survive, but must not drop a field either.
class Format1InPlaceTest : public Format1Test {
 protected:
  void SetUp() override {}
};

TEST_F(Format1InPlaceTest, every_field_is_read_back) {
  fill();
  expect_all(store());
}

}  // namespace
}  // namespace weir::conformance
