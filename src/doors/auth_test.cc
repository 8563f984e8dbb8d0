// SPDX-License-Identifier: Apache-2.0
// Tokens: who is let in, and how far.
#include "doors/auth.h"

#include <gtest/gtest.h>

#include "store/memory/memory_store.h"

namespace weir::doors {
namespace {

constexpr ScopeMask kWork = scope_bit(core::Scope::work);
constexpr ScopeMask kAdmin = scope_bit(core::Scope::admin);

class Auth : public ::testing::Test {
 protected:
  Auth() : memory_({.seed = 7}), engine_(memory_, clock_, {.prng_seed = 1}) {
    EXPECT_TRUE(engine_.start());
  }

  void put(const core::ApiToken& token) {
    EXPECT_TRUE(
        engine_.submit({.command = core::PutToken{.token = token}, .principal = {.id = "server"}},
                       [](const core::Answer&) {}));
    for (int i = 0; i < 100 && *engine_.run_turn(); ++i) {
    }
  }
  Result<Caller> enter(const std::string& header, const AuthOptions& options = {}) {
    return authenticate(engine_, options, clock_.wall_now(), header);
  }

  ManualClock clock_;
  store::memory::MemoryStore memory_;
  engine::Engine engine_;
};

TEST_F(Auth, open_only_on_loopback_and_without_any_token) {
  ASSERT_TRUE(enter(""));
  EXPECT_EQ(enter("")->principal.id, "local");
  EXPECT_TRUE(enter("")->has_any(kAdmin));
  EXPECT_FALSE(enter("", {.is_loopback = false}));
  EXPECT_FALSE(enter("", {.tokens_required = true}));
  put(make_token({.scopes = kWork}, clock_.wall_now(), "t").token);
  ASSERT_FALSE(enter(""));
  EXPECT_EQ(enter("").error().code, ErrorCode::unauthenticated);
}

TEST_F(Auth, the_secret_must_be_right_to_the_last_letter) {
  const NewToken made =
      make_token({.name = "n", .scopes = kWork, .queues = {"a*"}}, clock_.wall_now(), "t");
  put(made.token);
  const Result<Caller> caller = enter("Bearer " + made.text);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->principal.id, made.token.id);
  EXPECT_EQ(caller->queues, (std::vector<std::string>{"a*"}));
  EXPECT_TRUE(enter("bearer  " + made.text));
  std::string wrong = made.text;
  wrong.back() = wrong.back() == 'A' ? 'B' : 'A';
  for (const std::string& bad : {wrong, made.token.id, made.token.id + ".", made.text + "x",
                                 std::string("wt_none.secret"), std::string("."), std::string()}) {
    EXPECT_FALSE(enter("Bearer " + bad)) << bad;
  }
  EXPECT_FALSE(enter("Basic " + made.text));
  EXPECT_FALSE(enter(made.text));
}

TEST_F(Auth, expired_and_revoked_tokens_are_refused) {
  NewToken made = make_token({.scopes = kAdmin, .expires_at = clock_.wall_now().plus(1000)},
                             clock_.wall_now(), "t");
  put(made.token);
  EXPECT_TRUE(enter("Bearer " + made.text));
  clock_.advance(1000);
  EXPECT_FALSE(enter("Bearer " + made.text));
  // The last token has expired: that closes the server to everybody, it does not open it.
  EXPECT_FALSE(enter(""));
}

TEST_F(Auth, tokens_differ_and_never_keep_their_secret) {
  const NewToken a = make_token({.scopes = kWork}, clock_.wall_now(), "t");
  const NewToken b = make_token({.scopes = kWork}, clock_.wall_now(), "t");
  EXPECT_NE(a.token.id, b.token.id);
  EXPECT_NE(a.token.secret_sha256, b.token.secret_sha256);
  EXPECT_TRUE(a.token.id.starts_with("wt_") && a.token.id.size() == 15) << a.token.id;
  EXPECT_TRUE(a.text.starts_with(a.token.id + "."));
  EXPECT_GE(a.text.size() - a.token.id.size() - 1, 22U);  // at least 128 bits
}

TEST(AuthRules, scopes_are_exact_but_admin_opens_all) {
  const Caller worker{.scopes = kWork};
  EXPECT_TRUE(authorize(worker, kWork));
  EXPECT_TRUE(authorize(worker, 0));
  for (const core::Scope other :
       {core::Scope::enqueue, core::Scope::read, core::Scope::operate, core::Scope::admin}) {
    EXPECT_FALSE(authorize(worker, scope_bit(other)));
    EXPECT_TRUE(authorize(Caller{.scopes = kAdmin}, scope_bit(other)));
  }
  EXPECT_FALSE(authorize(Caller{}, kWork));
}

TEST(AuthRules, queue_patterns_bind) {
  const Caller bound{.scopes = kWork, .queues = {"mail*", "x"}};
  EXPECT_TRUE(authorize(bound, kWork, "mail.out"));
  EXPECT_TRUE(authorize(bound, kWork, "x"));
  EXPECT_FALSE(authorize(bound, kWork, "xx"));
  EXPECT_FALSE(authorize(bound, kWork, "amail"));
}

TEST(AuthRules, nobody_gives_more_than_they_have) {
  const Caller bound{.principal = {.id = "t"}, .scopes = kAdmin, .queues = {"mail*"}};
  EXPECT_TRUE(check_wish(bound, {.queues = {"mail.out"}}));
  EXPECT_TRUE(check_wish(bound, {.queues = {"mail.*x"}}));
  EXPECT_FALSE(check_wish(bound, {.queues = {}}));
  EXPECT_FALSE(check_wish(bound, {.queues = {"*"}}));
  EXPECT_FALSE(check_wish(bound, {.queues = {"mail.out", "pay"}}));
  EXPECT_FALSE(check_wish(bound, {.queues = {"mail.out"}, .namespace_id = 3}));
  const Caller tenant{.principal = {.id = "t", .namespace_id = 3}, .scopes = kAdmin};
  EXPECT_TRUE(check_wish(tenant, {.namespace_id = 3}));
  EXPECT_FALSE(check_wish(tenant, {.namespace_id = 0}));
  EXPECT_TRUE(check_wish(Caller{.scopes = kAdmin}, {.namespace_id = 3}));
}

}  // namespace
}  // namespace weir::doors
