// SPDX-License-Identifier: Apache-2.0
// Words of scopes; tokens and remembered keys as commands.
#include "core/key/key.h"

#include "core/test_world.h"

namespace weir::core {
namespace {

TEST(KeyTest, scopes_parse_back) {
  for (const Scope scope :
       {Scope::enqueue, Scope::work, Scope::read, Scope::operate, Scope::admin}) {
    EXPECT_EQ(scope_from(to_string(scope)), scope);
  }
  EXPECT_EQ(scope_from("root"), std::nullopt);
}

TEST(KeyTest, a_token_is_created_once_and_revoked) {
  World world;
  const ApiToken token{.id = "wt_1", .name = "ci", .scopes = 1};
  world.outcome<TokenChanged>(PutToken{token});
  EXPECT_EQ(world.tokens["wt_1"].created_by, "local");
  EXPECT_EQ(world.refusal(PutToken{token}).code, ErrorCode::conflict);
  world.outcome<TokenChanged>(RevokeToken{"wt_1"});
  EXPECT_TRUE(world.tokens["wt_1"].is_revoked);
  world.outcome<TokenChanged>(RevokeToken{"wt_1"});
  EXPECT_EQ(world.refusal(RevokeToken{"wt_2"}).code, ErrorCode::not_found);
  EXPECT_EQ(world.audit.size(), 2U);
  world.principal.namespace_id = 9;
  EXPECT_EQ(world.refusal(RevokeToken{"wt_1"}).code, ErrorCode::not_found);
}

TEST(KeyTest, a_token_needs_known_scopes_and_time_ahead) {
  World world;
  EXPECT_EQ(world.refusal(PutToken{{.id = "wt_1"}}).code, ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(PutToken{{.id = "wt_1", .scopes = 32}}).code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(world.refusal(PutToken{{.id = "wt_1", .scopes = 1, .expires_at = world.now.wall}}).code,
            ErrorCode::invalid_argument);
}

Enqueue one_job(std::string payload = "1") {
  Enqueue command{.queue = "q"};
  command.jobs.push_back({.body = {.payload = std::move(payload)}});
  return command;
}

constexpr IdempotencyRef kKey{.scope = {.high = 1, .low = 2}, .request = {.high = 3, .low = 4}};

TEST(IdempotencyTest, a_repeat_gets_the_stored_answer_and_changes_nothing) {
  World world;
  const ChangeSet first = world.run(one_job(), kKey);
  EXPECT_FALSE(first.answer.replayed);
  EXPECT_EQ(first.idempotency.size(), 1U);
  EXPECT_EQ(first.jobs.size(), 1U);  // key and effect in one change
  world.advance(kIdempotencyMs - 1);
  const ChangeSet second = world.run(one_job(), kKey);
  EXPECT_TRUE(second.answer.replayed);
  EXPECT_EQ(second.answer.outcome, first.answer.outcome);
  EXPECT_TRUE(second.is_empty());
  EXPECT_EQ(world.jobs.size(), 1U);
}

TEST(IdempotencyTest, another_body_is_a_mismatch) {
  World world;
  world.run(one_job(), kKey);
  const ChangeSet other =
      world.run(one_job("2"), IdempotencyRef{.scope = kKey.scope, .request = {.high = 9}});
  EXPECT_EQ(std::get<Error>(other.answer.outcome).code, ErrorCode::idempotency_mismatch);
  EXPECT_TRUE(other.is_empty());
}

TEST(IdempotencyTest, a_repeat_in_the_same_turn_is_a_conflict) {
  World world;
  const Request request{.command = one_job(), .principal = world.principal, .idempotency = kKey};
  world.run(request);
  const ChangeSet second = world.run_in_turn(request);
  EXPECT_EQ(std::get<Error>(second.answer.outcome).code, ErrorCode::conflict);
  EXPECT_EQ(world.jobs.size(), 1U);
}

TEST(IdempotencyTest, refusals_are_kept_but_for_saturation_and_faults) {
  World world;
  const ChangeSet refused = world.run(Cancel{.job = JobId{5}}, kKey);
  EXPECT_EQ(std::get<Error>(refused.answer.outcome).code, ErrorCode::not_found);
  EXPECT_EQ(refused.commit_class, CommitClass::sync);
  EXPECT_TRUE(world.run(Cancel{.job = JobId{5}}, kKey).answer.replayed);

  world.run(PutQueue{.queue = "q", .patch = {.max_depth = 1}});
  world.run(one_job());
  const IdempotencyRef other{.scope = {.high = 8}};
  EXPECT_EQ(std::get<Error>(world.run(one_job(), other).answer.outcome).code,
            ErrorCode::queue_saturated);
  EXPECT_FALSE(world.idempotency.contains(other.scope));
  world.run(PutQueue{.queue = "q", .patch = {.max_depth = 5}});
  EXPECT_TRUE(std::holds_alternative<Enqueued>(world.run(one_job(), other).answer.outcome));
}

TEST(IdempotencyTest, keys_are_forgotten_after_their_time_only) {
  World world;
  world.run(one_job(), kKey);
  world.advance(kIdempotencyMs - 1);
  world.outcome<Nothing>(ForgetIdempotency{kKey.scope});
  world.advance(1);
  world.outcome<Removed>(ForgetIdempotency{kKey.scope});
  EXPECT_TRUE(world.idempotency.empty());
  EXPECT_FALSE(world.run(one_job(), kKey).answer.replayed);
  EXPECT_EQ(world.jobs.size(), 2U);
}

TEST(IdempotencyTest, an_unreadable_stored_answer_is_corruption_not_a_second_effect) {
  World world;
  world.run(one_job(), kKey);
  world.idempotency[kKey.scope].answer = "x";
  const ChangeSet repeat = world.run(one_job(), kKey);
  EXPECT_EQ(std::get<Error>(repeat.answer.outcome).code, ErrorCode::corruption);
  EXPECT_EQ(world.jobs.size(), 1U);
}

}  // namespace
}  // namespace weir::core
