// SPDX-License-Identifier: Apache-2.0
// A store that fails stops the engine: at whichever call it happens, no answer of that turn leaves,
// and nothing goes on.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace weir::engine {
namespace {

TEST(StoreFailure, at_any_call_stops_the_engine_and_releases_nothing_of_the_turn) {
  int failing = 0;
  for (int n = 1;; ++n) {
    TestEngine test;
    ASSERT_TRUE(test.engine().run_turn());
    const int before = test.store().calls;
    test.store().fail_at = before + n;
    int answered = 0, delivered = 0;
    bool is_stopped = false;
    bool is_answer_of_failed_turn = false;
    const auto turn = [&] {
      const int answered_before = answered + delivered;
      const bool had_sync = test.store().syncs > 0;
      const Result<bool> more = test.engine().run_turn();
      if (more) return;
      is_stopped = true;
      EXPECT_EQ(more.error().code, ErrorCode::io_error);
      // Answers whose sync was done may be out; those of a failed commit or sync never are.
      is_answer_of_failed_turn =
          answered + delivered > answered_before && !had_sync && test.store().syncs == 0;
    };
    const core::Request enqueue{.command = TestEngine::jobs("q", 2)};
    if (test.engine().submit(enqueue, [&](const core::Answer&) { ++answered; })) turn();
    test.engine().demand(Demand{.queues = {"q"}, .credit = 2}, [&](const auto&) { ++delivered; });
    if (!is_stopped) turn();
    EXPECT_FALSE(is_answer_of_failed_turn) << n;
    EXPECT_TRUE(delivered == 0 || test.store().commits >= 2) << n;  // never before its claim
    if (!is_stopped) {
      EXPECT_EQ(answered, 1);
      EXPECT_EQ(delivered, 1);
      break;
    }
    ++failing;
    EXPECT_TRUE(test.engine().published().is_stopped);
    EXPECT_FALSE(test.engine().published().is_ready);
    EXPECT_FALSE(test.engine().run_turn());
    EXPECT_FALSE(test.engine().submit(enqueue, nullptr));
    EXPECT_FALSE(test.engine().stop());
  }
  EXPECT_GE(failing, 6);  // prefetch, two allocations, commit, sync, work, …
}

TEST(StoreFailure, of_the_sync_of_an_enqueue_leaves_it_unanswered) {
  TestEngine test;
  test.enqueue("q");
  test.store().fail_at = test.store().calls + 3;  // prefetch, commit, sync
  bool is_answered = false;
  ASSERT_TRUE(test.engine().submit(core::Request{.command = TestEngine::jobs("q", 1)},
                                   [&](const core::Answer&) { is_answered = true; }));
  EXPECT_FALSE(test.engine().run_turn());
  EXPECT_FALSE(is_answered);
  EXPECT_EQ(test.store().log.back(), "commit 1");
}

}  // namespace
}  // namespace weir::engine
