// SPDX-License-Identifier: Apache-2.0
// An engine over the memory store with a manual clock, and the few words that tests of turns need.
// Time passes by call only, in the steps in which the server's loop would take it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/test_store.h"
#include "store/memory/memory_store.h"

namespace weir::engine {

// What a demand was answered with.
struct Got {
  bool is_answered = false;
  std::vector<Delivery> deliveries;
  std::optional<Error> error;
};

// One thread.
class TestEngine {
 public:
  explicit TestEngine(Options options = {}, bool commit_is_durable = false)
      : memory_({.seed = 7, .commit_is_durable = commit_is_durable}), store_(memory_) {
    if (options.prng_seed == 0) options.prng_seed = 11;
    options_ = options;
    restart();
  }

  // Forgets the engine and makes another one over the same store.
  void restart() {
    engine_.reset();
    engine_ = std::make_unique<Engine>(store_, clock_, options_);
    EXPECT_TRUE(engine_->start());
  }

  Engine& engine() { return *engine_; }
  TestStore& store() { return store_; }
  store::memory::MemoryStore& memory() { return memory_; }
  ManualClock& clock() { return clock_; }

  // Runs turns until nothing more is to be done now. The loop is bounded: an engine that spins
  // fails.
  void settle() {
    for (int turns = 0; turns < 10'000; ++turns) {
      const Result<bool> more = engine_->run_turn();
      ASSERT_TRUE(more) << more.error().detail;
      if (!*more) return;
    }
    FAIL() << "the engine does not come to rest";
  }

  // Lets time pass as the loop would see it: a turn whenever one is wanted.
  void pass(std::int64_t duration_ms) {
    settle();
    while (duration_ms > 0) {
      const std::int64_t wanted = std::max<std::int64_t>(1, engine_->next_turn_in_ms());
      const std::int64_t step = std::min(duration_ms, wanted);
      clock_.advance(step);
      duration_ms -= step;
      settle();
    }
  }

  // Lets time pass in one piece: what a long sleep or a hanging loop does.
  void leap(std::int64_t duration_ms) {
    clock_.advance(duration_ms);
    settle();
  }

  // Puts a command; the answer comes from a later turn.
  std::shared_ptr<std::optional<core::Answer>> put(core::Command command,
                                                   std::optional<core::IdempotencyRef> key = {}) {
    auto answer = std::make_shared<std::optional<core::Answer>>();
    const Result<void> taken = engine_->submit(
        core::Request{
            .command = std::move(command), .principal = {.id = "test"}, .idempotency = key},
        [answer](core::Answer got) { *answer = std::move(got); });
    EXPECT_TRUE(taken) << taken.error().detail;
    return answer;
  }
  // Puts a command and runs the turns that it needs.
  core::Answer ask(core::Command command, std::optional<core::IdempotencyRef> key = {}) {
    const auto answer = put(std::move(command), key);
    settle();
    EXPECT_TRUE(answer->has_value());
    return answer->value_or(core::Answer{});
  }

  static core::Enqueue jobs(const std::string& queue, std::size_t count,
                            const core::NewJob& like = {}) {
    core::Enqueue command{.queue = queue, .is_batch = count != 1};
    for (std::size_t i = 0; i < count; ++i) {
      command.jobs.push_back(like);
      if (like.body.payload.empty()) command.jobs.back().body.payload = std::to_string(i);
    }
    return command;
  }
  std::vector<core::JobId> enqueue(const std::string& queue, std::size_t count = 1,
                                   const core::NewJob& like = {}) {
    const core::Answer answer = ask(jobs(queue, count, like));
    const auto* enqueued = std::get_if<core::Enqueued>(&answer.outcome);
    EXPECT_NE(enqueued, nullptr) << error_of(answer);
    return enqueued == nullptr ? std::vector<core::JobId>{} : enqueued->ids;
  }

  // Places a demand; `got` fills when it is answered.
  std::pair<DemandId, std::shared_ptr<Got>> poll(Demand demand) {
    auto got = std::make_shared<Got>();
    demand.principal.id = "test";
    const DemandId id =
        engine_->demand(std::move(demand), [got](Result<std::vector<Delivery>> result) {
          EXPECT_FALSE(got->is_answered) << "answered twice";
          got->is_answered = true;
          if (result) {
            got->deliveries = std::move(*result);
          } else {
            got->error = result.error();
          }
        });
    return {id, got};
  }
  std::shared_ptr<Got> poll(const std::string& queue, std::uint32_t credit, std::int64_t wait_ms,
                            std::optional<std::int64_t> lease_ms = {}) {
    return poll(Demand{
                    .queues = {queue}, .credit = credit, .wait_ms = wait_ms, .lease_ms = lease_ms})
        .second;
  }
  // What is claimable now, at most `credit`.
  std::vector<Delivery> claim(const std::string& queue, std::uint32_t credit = 1,
                              std::optional<std::int64_t> lease_ms = {}) {
    const auto got = poll(queue, credit, 0, lease_ms);
    settle();
    EXPECT_TRUE(got->is_answered);
    return std::move(got->deliveries);
  }

  core::JobState state_of(core::JobId id) {
    const Result<JobView> view = engine_->job(id);
    EXPECT_TRUE(view);
    return view ? view->job.state : core::JobState::expired;
  }
  std::uint64_t count(const std::string& queue, core::JobState state) {
    const Result<QueueView> view = engine_->queue(queue);
    return view ? view->stats.counts.of(state) : 0;
  }

  static std::string error_of(const core::Answer& answer) {
    const auto* error = std::get_if<Error>(&answer.outcome);
    return error == nullptr ? "" : std::string(to_string(error->code)) + ": " + error->detail;
  }
  static std::optional<ErrorCode> code_of(const core::Answer& answer) {
    const auto* error = std::get_if<Error>(&answer.outcome);
    return error == nullptr ? std::nullopt : std::optional(error->code);
  }
  static core::Ack ack_of(const Delivery& delivery) {
    return core::Ack{.job = delivery.job.id, .token = delivery.claimed.token};
  }
  static core::Extend extend_of(const Delivery& delivery,
                                std::optional<std::int64_t> lease_ms = {}) {
    return core::Extend{
        .job = delivery.job.id, .token = delivery.claimed.token, .lease_ms = lease_ms};
  }

 private:
  ManualClock clock_;
  store::memory::MemoryStore memory_;
  TestStore store_;
  Options options_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace weir::engine
