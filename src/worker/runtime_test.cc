// SPDX-License-Identifier: Apache-2.0
// The worker as a whole, over a server in memory and C++ handlers. Every step is awaited; nothing
// is slept for.
#include "worker/runtime.h"

#include <gtest/gtest.h>

#include <poll.h>

#include <functional>
#include <memory>
#include <stdexcept>

#include "worker/fake_server_for_test.h"

namespace weir::worker {
namespace {

class FunctionHandler final : public Handler {
 public:
  using Function = std::function<HandlerResult(const client::ClaimedJob&, const Cancel&)>;
  explicit FunctionHandler(Function function) : function_(std::move(function)) {}
  HandlerResult run(const client::ClaimedJob& job, const Cancel& cancel) override {
    return function_(job, cancel);
  }
  void kill_everything() override { killed = true; }
  std::atomic<bool> killed{false};

 private:
  Function function_;
};

void await_cancel(const Cancel& cancel) {
  pollfd watched{.fd = cancel.descriptor(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&watched, 1, 60'000), 1) << "the handler was never told to stop";
}

// A handler that holds its jobs until the test lets them go.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t inside = 0;
  bool is_open = false;

  HandlerResult pass() {
    std::unique_lock lock(mutex);
    ++inside;
    changed.notify_all();
    EXPECT_TRUE(changed.wait_for(lock, kTestPatience, [this] { return is_open; }));
    return HandlerResult::ack();
  }
  void open() {
    const std::lock_guard lock(mutex);
    is_open = true;
    changed.notify_all();
  }
  void await_inside(std::size_t count) {
    std::unique_lock lock(mutex);
    EXPECT_TRUE(changed.wait_for(lock, kTestPatience, [&] { return inside >= count; }))
        << "handlers never began";
  }
};

struct RuntimeTest : testing::Test {
  Options options{.queues = {"q"},
                  .pool_classes = {""},
                  .concurrency = 2,
                  .poll_wait_ms = 1'000,
                  .drain_check_ms = 1,
                  .backoff = {.base_ms = 1, .cap_ms = 4}};
  FakeServer server;
  SystemClock clock;
  std::unique_ptr<FunctionHandler> handler;
  std::unique_ptr<Runtime> runtime;

  void start(FunctionHandler::Function function) {
    handler = std::make_unique<FunctionHandler>(std::move(function));
    runtime = std::make_unique<Runtime>(options, server, *handler, clock);
    runtime->start();
  }
  void await_acks(int count) {
    server.await([&] { return server.acks >= count; }, "acks");
  }
  Result<void> stop() {
    runtime->request_stop();
    return runtime->join();
  }
};

TEST_F(RuntimeTest, jobs_are_run_and_acknowledged_with_their_results) {
  server.put("1");
  server.put("2");
  start([](const client::ClaimedJob& job, const Cancel&) {
    return HandlerResult::ack("{\"id\":" + job.id + "}");
  });
  await_acks(2);
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.acked,
            (std::map<std::string, std::string>{{"1", "{\"id\":1}"}, {"2", "{\"id\":2}"}}));
  EXPECT_EQ(runtime->running(), 0U);
}

TEST_F(RuntimeTest, no_more_jobs_are_claimed_than_slots_are_idle) {
  for (int i = 0; i < 7; ++i) server.put(std::to_string(i));
  Gate gate;
  start([&gate](const client::ClaimedJob&, const Cancel&) { return gate.pass(); });
  gate.await_inside(2);
  server.with([&] { EXPECT_EQ(server.pending.size(), 5U); });
  gate.open();
  await_acks(7);
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.in_hand_max, 2U);
  for (const auto& claim : server.claims) EXPECT_LE(claim.max, 2U);
}

TEST_F(RuntimeTest, every_class_has_a_pool_of_its_own) {
  options.pool_classes = {"P0", "P1", "P2", "P3", "P4"};
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  std::set<std::vector<std::string>> classes;
  server.await(
      [&] {
        for (const auto& claim : server.claims) classes.insert(claim.classes);
        return classes.size() == 5;
      },
      "a claim of each class");
  EXPECT_TRUE(stop());
  EXPECT_EQ(classes, (std::set<std::vector<std::string>>{{"P0"}, {"P1"}, {"P2"}, {"P3"}, {"P4"}}));
}

TEST_F(RuntimeTest, a_full_class_does_not_hold_up_another) {
  options.pool_classes = {"P3", "P0"};
  options.concurrency = 1;
  server.class_of = {{"slow", "P3"}, {"slower", "P3"}, {"fast", "P0"}};
  server.put("slow");
  server.put("slower");
  Gate gate;
  start([&gate](const client::ClaimedJob& job, const Cancel&) {
    return job.id == "fast" ? HandlerResult::ack() : gate.pass();
  });
  gate.await_inside(1);
  server.put("fast");
  server.await([&] { return server.acked.contains("fast"); }, "the job of the other class");
  EXPECT_FALSE(server.acked.contains("slower"));
  gate.open();
  await_acks(3);
  EXPECT_TRUE(stop());
}

TEST_F(RuntimeTest, leases_of_running_jobs_are_extended_together_again_and_again) {
  options.lease_ms = 90;
  server.put("1");
  server.put("2");
  Gate gate;
  start([&gate](const client::ClaimedJob&, const Cancel&) { return gate.pass(); });
  server.await(
      [&] {
        std::map<std::string, int> times;
        for (const auto& call : server.extends) {
          for (const auto& item : call) ++times[item.lease.job_id];
        }
        return times["1"] >= 3 && times["2"] >= 3;
      },
      "three extends of each lease");
  gate.open();
  await_acks(2);
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.extends.front().front().lease_ms, 90);
}

TEST_F(RuntimeTest, a_lost_lease_stops_the_handler_and_drops_its_result) {
  options.lease_ms = 30;
  server.lost = {"1"};
  server.put("1");
  std::atomic<CancelReason> seen{CancelReason::none};
  start([&seen](const client::ClaimedJob& job, const Cancel& cancel) {
    if (job.id == "1") {
      await_cancel(cancel);
      seen = cancel.reason();
    }
    return HandlerResult::ack();
  });
  server.await([&] { return seen.load() != CancelReason::none || !server.extends.empty(); },
               "an extend");
  server.put("2");
  await_acks(1);
  EXPECT_TRUE(stop());
  EXPECT_EQ(seen.load(), CancelReason::lease_lost);
  EXPECT_FALSE(server.acked.contains("1"));
  EXPECT_FALSE(server.failed.contains("1"));
}

TEST_F(RuntimeTest, a_run_over_its_timeout_is_stopped_and_fails_as_such) {
  server.put(client::ClaimedJob{.id = "1", .queue = "q", .timeout_ms = 20});
  start([](const client::ClaimedJob&, const Cancel& cancel) {
    await_cancel(cancel);
    return HandlerResult::fail(
        {.error_class = "crash", .code = "SIGTERM", .message = "was at step 3"});
  });
  server.await([&] { return server.failed.contains("1"); }, "the failure");
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.failed["1"].error_class, "timeout");
  EXPECT_NE(server.failed["1"].message.find("was at step 3"), std::string::npos);
}

TEST_F(RuntimeTest, what_a_handler_throws_is_a_failure_and_the_worker_goes_on) {
  server.put("1");
  server.put("2");
  start([](const client::ClaimedJob& job, const Cancel&) -> HandlerResult {
    if (job.id == "1") throw std::runtime_error("boom");
    return HandlerResult::ack();
  });
  server.await([&] { return server.failed.contains("1") && server.acked.contains("2"); },
               "both ends");
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.failed["1"].error_class, "exception");
  EXPECT_EQ(server.failed["1"].message, "boom");
}

TEST_F(RuntimeTest, a_graceful_stop_lets_running_jobs_finish_and_acknowledges_them) {
  server.put("1");
  Gate gate;
  start([&gate](const client::ClaimedJob&, const Cancel& cancel) {
    HandlerResult result = gate.pass();
    EXPECT_FALSE(cancel.is_cancelled());
    return result;
  });
  gate.await_inside(1);
  runtime->request_stop();
  server.put("2");
  EXPECT_FALSE(runtime->wait_ended(0));
  gate.open();
  EXPECT_TRUE(runtime->join());
  EXPECT_TRUE(server.acked.contains("1"));
  EXPECT_FALSE(server.acked.contains("2"));
  EXPECT_EQ(server.pending.size() + server.released.size(), 1U)
      << "what came late was not taken, or was given back";
}

TEST_F(RuntimeTest, leases_are_extended_while_the_worker_drains) {
  options.lease_ms = 30;
  server.put("1");
  Gate gate;
  start([&gate](const client::ClaimedJob&, const Cancel&) { return gate.pass(); });
  gate.await_inside(1);
  runtime->request_stop();
  std::size_t before = 0;
  server.with([&] { before = server.extends.size(); });
  server.await([&] { return server.extends.size() > before + 2; }, "extends after the stop");
  gate.open();
  EXPECT_TRUE(runtime->join());
}

TEST_F(RuntimeTest, what_outlives_the_grace_is_stopped_and_released_uncharged) {
  options.grace_ms = 5;
  server.put("1");
  std::atomic<CancelReason> seen{CancelReason::none};
  Gate begun;
  start([&](const client::ClaimedJob&, const Cancel& cancel) {
    {
      const std::lock_guard lock(begun.mutex);
      ++begun.inside;
      begun.changed.notify_all();
    }
    await_cancel(cancel);
    seen = cancel.reason();
    return HandlerResult::fail({.error_class = "crash"});
  });
  begun.await_inside(1);
  EXPECT_TRUE(stop());
  EXPECT_EQ(seen.load(), CancelReason::stopping);
  EXPECT_TRUE(server.released.contains("1"));
  EXPECT_TRUE(server.failed.empty());
}

TEST_F(RuntimeTest, claiming_goes_on_without_restart_when_the_server_is_back) {
  server.claim_error = Error{.code = ErrorCode::unavailable, .detail = "refused"};
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  server.await([&] { return server.claims.size() >= 8; }, "repeated claims");
  server.with([&] { server.claim_error.reset(); });
  for (int i = 0; i < 10; ++i) server.put(std::to_string(i));
  await_acks(10);
  // And once more, while a claim is being waited for.
  server.with([&] { server.claim_error = Error{.code = ErrorCode::unavailable, .detail = "cut"}; });
  std::size_t before = 0;
  server.with([&] { before = server.claims.size(); });
  server.await([&] { return server.claims.size() > before + 3; }, "claims after the cut");
  server.with([&] { server.claim_error.reset(); });
  server.put("10");
  await_acks(11);
  EXPECT_TRUE(stop());
}

TEST_F(RuntimeTest, a_result_is_told_until_the_server_has_heard_it_once) {
  server.verb_error = Error{.code = ErrorCode::unavailable, .detail = "restarting"};
  server.put("1");
  std::atomic<int> runs{0};
  start([&runs](const client::ClaimedJob&, const Cancel&) {
    ++runs;
    return HandlerResult::ack();
  });
  server.await([&] { return server.verbs >= 5; }, "repeats");
  server.with([&] { server.verb_error.reset(); });
  await_acks(1);
  EXPECT_TRUE(stop());
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(server.acks, 1);
}

TEST_F(RuntimeTest, a_failed_heartbeat_ends_no_run) {
  options.lease_ms = 30;
  server.extend_error = Error{.code = ErrorCode::unavailable, .detail = "restarting"};
  server.put("1");
  Gate gate;
  start([&gate](const client::ClaimedJob&, const Cancel& cancel) {
    HandlerResult result = gate.pass();
    EXPECT_FALSE(cancel.is_cancelled());
    return result;
  });
  server.await([&] { return server.extends.size() >= 6; }, "repeated extends");
  gate.open();
  await_acks(1);
  EXPECT_TRUE(stop());
}

TEST_F(RuntimeTest, drain_ends_only_when_retries_and_scheduled_jobs_are_gone_too) {
  options.drain = true;
  options.poll_wait_ms = 5;
  server.waiting_elsewhere["q"] = 1;
  server.put("1");
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  await_acks(1);
  server.await([&] { return server.count_looks >= 3; }, "looks at the counts");
  EXPECT_FALSE(runtime->wait_ended(0));
  // The retry comes due.
  server.put("2");
  await_acks(2);
  server.with([&] { server.waiting_elsewhere["q"] = 0; });
  EXPECT_TRUE(runtime->wait_ended(60'000));
  EXPECT_TRUE(runtime->join());
}

TEST_F(RuntimeTest, drain_does_not_take_silence_for_emptiness) {
  options.drain = true;
  options.poll_wait_ms = 5;
  server.count_error = Error{.code = ErrorCode::unavailable};
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  server.await([&] { return server.count_looks >= 3; }, "looks at the counts");
  EXPECT_FALSE(runtime->wait_ended(0));
  server.with([&] { server.count_error.reset(); });
  EXPECT_TRUE(runtime->join());
}

TEST_F(RuntimeTest, a_first_claim_that_is_refused_for_good_ends_the_worker) {
  server.claim_error =
      Error{.code = ErrorCode::permission_denied, .detail = "scope work is missing"};
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  const Result<void> ended = runtime->join();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::permission_denied);
}

TEST_F(RuntimeTest, a_later_refusal_does_not_end_the_worker) {
  server.put("1");
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  await_acks(1);
  server.with([&] { server.claim_error = Error{.code = ErrorCode::unauthenticated}; });
  std::size_t before = 0;
  server.with([&] { before = server.claims.size(); });
  server.await([&] { return server.claims.size() > before + 3; }, "repeated claims");
  server.with([&] { server.claim_error.reset(); });
  server.put("2");
  await_acks(2);
  EXPECT_TRUE(stop());
}

TEST_F(RuntimeTest, a_result_that_the_server_refuses_does_not_undo_the_work) {
  server.ack_error = Error{.code = ErrorCode::too_large};
  server.put("1");
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack("[1]"); });
  server.await([&] { return server.verbs >= 2; }, "a second ack");
  EXPECT_TRUE(stop());
  EXPECT_EQ(server.verbs, 2) << "once with the result, once without, then no more";
}

TEST_F(RuntimeTest, kill_ends_what_handlers_started_and_repeats_nothing) {
  server.verb_error = Error{.code = ErrorCode::unavailable};
  server.put("1");
  start([](const client::ClaimedJob&, const Cancel&) { return HandlerResult::ack(); });
  server.await([&] { return server.verbs >= 2; }, "repeats");
  runtime->request_stop();
  runtime->kill();
  EXPECT_TRUE(runtime->join());
  EXPECT_TRUE(handler->killed);
}

}  // namespace
}  // namespace weir::worker
