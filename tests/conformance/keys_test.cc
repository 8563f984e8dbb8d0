// SPDX-License-Identifier: Apache-2.0
// Unique keys, idempotency entries and tokens: guards, times, and what prefetch says of them.
#include <gmock/gmock.h>

#include "conformance/store_test.h"
#include "core/view.h"

namespace weir::conformance {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class KeysTest : public StoreTest {
 protected:
  KeysTest() : queue_(make_queue("mail")) {}

  core::UniqueKey key_of(core::JobId job, StoreTime until = {}) {
    return {.queue = queue_.id, .key = "order-1", .job = job, .until = until};
  }
  std::optional<core::UniqueKey> stored_key(const std::string& key) {
    core::View view;
    core::ReadSet wanted;
    wanted.unique_keys_by_id.emplace_back(queue_.id, key);
    EXPECT_TRUE(store().prefetch(wanted, view));
    const core::UniqueKey* entry = view.unique_key(queue_.id, key);
    return entry != nullptr ? std::optional(*entry) : std::nullopt;
  }
  std::optional<core::IdempotencyEntry> stored_answer(const Hash128& scope) {
    core::View view;
    core::ReadSet wanted;
    wanted.idempotency.push_back(scope);
    EXPECT_TRUE(store().prefetch(wanted, view));
    const core::IdempotencyEntry* entry = view.idempotency(scope);
    return entry != nullptr ? std::optional(*entry) : std::nullopt;
  }

  core::Queue queue_;
};

TEST_F(KeysTest, a_key_is_found_until_it_is_erased) {
  const core::Job job = add(JobBuilder(queue_.id).unique_key("order-1"));
  EXPECT_EQ(stored_key("order-1"), std::nullopt);
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id)}));
  EXPECT_EQ(stored_key("order-1"), key_of(job.id));
  EXPECT_EQ(stored_key("order-2"), std::nullopt);
  apply(test::only(
      core::UniqueKeyChange{.after = key_of(job.id), .erase = true, .expected_job = job.id}));
  EXPECT_EQ(stored_key("order-1"), std::nullopt);
}

TEST_F(KeysTest, a_taken_key_is_not_taken_by_another_job) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Job other = add(JobBuilder(queue_.id));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id)}));
  EXPECT_EQ(try_commit(test::only(core::UniqueKeyChange{.after = key_of(other.id)})),
            CommitResult::guard_missed);
  EXPECT_EQ(try_commit(test::only(core::UniqueKeyChange{.after = key_of(job.id)})),
            CommitResult::applied)
      << "the same job may write it again";
  EXPECT_EQ(stored_key("order-1")->job, job.id);
}

TEST_F(KeysTest, a_key_passes_on_from_the_job_that_is_expected) {
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Job other = add(JobBuilder(queue_.id));
  EXPECT_EQ(try_commit(test::only(
                core::UniqueKeyChange{.after = key_of(other.id), .expected_job = job.id})),
            CommitResult::guard_missed)
      << "nobody has it";
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id)}));
  EXPECT_EQ(try_commit(test::only(
                core::UniqueKeyChange{.after = key_of(other.id), .expected_job = other.id})),
            CommitResult::guard_missed);
  apply(test::only(core::UniqueKeyChange{.after = key_of(other.id), .expected_job = job.id}));
  EXPECT_EQ(stored_key("order-1")->job, other.id);
}

TEST_F(KeysTest, keys_of_two_queues_are_two_keys) {
  const core::Queue elsewhere = make_queue("images");
  const core::Job job = add(JobBuilder(queue_.id));
  const core::Job other = add(JobBuilder(elsewhere.id));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id)}));
  core::UniqueKey there = key_of(other.id);
  there.queue = elsewhere.id;
  apply(test::only(core::UniqueKeyChange{.after = there}));
  EXPECT_EQ(stored_key("order-1")->job, job.id);
}

TEST_F(KeysTest, a_window_falls_due_at_its_end) {
  const core::Job job = add(JobBuilder(queue_.id));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id, now_.store.plus(1000))}));
  advance(999);
  EXPECT_THAT(due(), IsEmpty());
  advance(1);
  const auto found = due();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, Due::Kind::unique_key);
  EXPECT_EQ(found[0].queue, queue_.id);
  EXPECT_EQ(found[0].key, "order-1");
  apply(test::only(
      core::UniqueKeyChange{.after = key_of(job.id), .erase = true, .expected_job = job.id}));
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(KeysTest, a_key_without_window_never_falls_due) {
  const core::Job job = add(JobBuilder(queue_.id));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id)}));
  advance(1000 * kMsPerDay);
  EXPECT_THAT(due(), IsEmpty());
}

TEST_F(KeysTest, a_replaced_window_falls_due_at_the_new_end_only) {
  const core::Job job = add(JobBuilder(queue_.id));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id, now_.store.plus(1000))}));
  apply(test::only(core::UniqueKeyChange{.after = key_of(job.id, now_.store.plus(5000)),
                                         .expected_job = job.id}));
  advance(4999);
  EXPECT_THAT(due(), IsEmpty());
  advance(1);
  EXPECT_THAT(due(), SizeIs(1));
}

TEST_F(KeysTest, an_idempotency_entry_is_kept_and_never_replaced) {
  const core::IdempotencyEntry entry{.scope = {1, 2},
                                     .request = {3, 4},
                                     .expires_at = now_.store.plus(1000),
                                     .answer = std::string("\x01\x00\xff answer", 10)};
  EXPECT_EQ(stored_answer(entry.scope), std::nullopt);
  apply(test::only(core::IdempotencyChange{.after = entry}));
  EXPECT_EQ(stored_answer(entry.scope), entry);
  EXPECT_EQ(stored_answer({1, 3}), std::nullopt);
  EXPECT_EQ(stored_answer({2, 2}), std::nullopt);
  core::IdempotencyEntry other = entry;
  other.answer = "another";
  EXPECT_EQ(try_commit(test::only(core::IdempotencyChange{.after = other})),
            CommitResult::guard_missed);
  EXPECT_EQ(stored_answer(entry.scope), entry);
}

TEST_F(KeysTest, an_idempotency_entry_falls_due_and_is_forgotten) {
  const core::IdempotencyEntry entry{
      .scope = {1, 2}, .request = {3, 4}, .expires_at = now_.store.plus(1000), .answer = "a"};
  apply(test::only(core::IdempotencyChange{.after = entry}));
  advance(999);
  EXPECT_THAT(due(), IsEmpty());
  advance(1);
  const auto found = due();
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].kind, Due::Kind::idempotency);
  EXPECT_EQ(found[0].scope, entry.scope);
  apply(test::only(core::IdempotencyChange{.after = entry, .erase = true}));
  EXPECT_THAT(due(), IsEmpty());
  EXPECT_EQ(stored_answer(entry.scope), std::nullopt);
  apply(test::only(core::IdempotencyChange{.after = entry, .erase = true}));
}

TEST_F(KeysTest, tokens_are_kept_by_their_id) {
  core::ApiToken token;
  token.id = "wt_0123456789ab";
  token.name = "producer";
  token.secret_sha256.fill(0xAB);
  token.scopes = 3;
  token.queues = {"mail*"};
  core::ApiToken other = token;
  other.id = "wt_000000000000";
  core::ChangeSet change_set;
  change_set.commit_class = core::CommitClass::sync;
  change_set.tokens = {{token}, {other}};
  apply(change_set);
  EXPECT_EQ(*store().read_tokens(), (std::vector{other, token}));
  core::ApiToken revoked = token;
  revoked.is_revoked = true;
  change_set.tokens = {{revoked}};
  apply(change_set);
  EXPECT_EQ(*store().read_tokens(), (std::vector{other, revoked}));

  core::View view;
  core::ReadSet wanted;
  wanted.tokens = {token.id, "wt_none"};
  ASSERT_TRUE(store().prefetch(wanted, view));
  ASSERT_NE(view.token(token.id), nullptr);
  EXPECT_EQ(*view.token(token.id), revoked);
  EXPECT_EQ(view.token("wt_none"), nullptr);
}

TEST_F(KeysTest, audit_keeps_the_newest_in_order) {
  std::vector<core::AuditRecord> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back({.at = now_.wall.plus(i),
                   .principal = "local",
                   .action = "purge",
                   .subject = "queue " + std::to_string(i),
                   .reason = "because"});
    core::ChangeSet change_set;
    change_set.commit_class = core::CommitClass::sync;
    change_set.audit = {all.back()};
    apply(change_set);
  }
  EXPECT_EQ(*store().read_audit(100), all);
  EXPECT_EQ(*store().read_audit(3), std::vector(all.end() - 3, all.end()));
  EXPECT_THAT(*store().read_audit(0), IsEmpty());
}

}  // namespace
}  // namespace weir::conformance
