// SPDX-License-Identifier: Apache-2.0
// The memory store against another: the same random commands, time steps and ticks on both,
// everything readable compared after each turn. Stores that survive are stopped in all ways in
// between.
//
// Seeds: those of seeds.txt (each once showed a fault), then fresh ones; WEIR_SEED=<n> plays that
// one alone. WEIR_TURNS and WEIR_SEEDS say how long.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "conformance/store_factory.h"
#include "differential/command_maker.h"
#include "differential/compare.h"
#include "store/memory/memory_store.h"
#include "support/core_driver.h"
#include "support/seed.h"

namespace weir::differential {
namespace {

using conformance::StopKind;

constexpr std::uint64_t kTurns = 250;
constexpr std::uint64_t kFreshSeeds = 3;

// Both stores and all that drives them. step() stops at the first difference.
class Match {
 public:
  explicit Match(std::uint64_t seed)
      : factory_(conformance::make_store_factory(conformance::StoreSize::small)),
        other_(factory_->make()),
        maker_(seed),
        options_(options(seed)),
        model_driver_(model_, options_),
        other_driver_(*other_, options_) {
    now_ = {.wall = WallTime{1'800'000'000'000},
            .store = std::max(model_.identity().store_time, other_->identity().store_time)};
  }

  std::string difference() const { return difference_; }
  std::string trace() const { return trace_; }
  // Commands that did something, and states that jobs were in.
  const std::set<std::string>& done() const { return done_; }
  const std::set<core::JobState>& states() const { return states_; }
  // Whether the other store's housekeeping, if it has any, came within the match.
  bool has_cleaned() const { return housekeeping_ > 0 || !other_->capabilities().survives_reopen; }

  void step() {
    pass_time();
    if (!is_same()) return;
    play(tick());
    play(commands());
    if (prng().one_in(4)) call(other_->sync());
    for (int i = 0; i < 3; ++i) call(other_->work(now_));
    housekeeping_ =
        std::max(housekeeping_, other_->stats().cleaned_segments + other_->stats().snapshots);
    if (prng().one_in(25) && other_->capabilities().survives_reopen) restart();
    compare();
  }

 private:
  static test::DriverOptions options(std::uint64_t seed) {
    test::DriverOptions options;
    options.seed = seed;
    // Small caps, so that retention has work.
    options.policy.queue_defaults.completed_max = 8;
    options.policy.queue_defaults.completed_retention_ms = 120'000;
    options.policy.queue_defaults.dead_retention_ms = 300'000;
    options.policy.queue_defaults.max_attempts = 3;
    return options;
  }
  Prng& prng() { return maker_.prng(); }
  bool is_same() const { return difference_.empty(); }
  void note(std::string what) {
    if (is_same()) difference_ = std::move(what);
  }
  template <typename T>
  void call(const Result<T>& result) {
    if (!result) note("a call failed: " + result.error().detail);
  }

  void pass_time() {
    std::int64_t ms = prng().between(0, prng().one_in(10) ? 60'000 : 2'000);
    if (prng().one_in(150)) ms = kMsPerDay;  // Idempotency-Keys are forgotten
    now_.wall = now_.wall.plus(ms);
    now_.store = now_.store.plus(ms);
    if (prng().one_in(40)) now_.wall = now_.wall.plus(prng().between(-30'000, 30'000));
  }

  std::vector<core::Request> tick() {
    if (prng().one_in(3)) return {};
    return model_driver_.due_requests(now_, 1 + prng().up_to(50));
  }

  std::vector<core::Request> commands() {
    std::vector<core::Request> requests;
    for (std::uint64_t left = 1 + prng().up_to(7); left > 0; --left) {
      requests.push_back(maker_.next(model_, now_));
    }
    return requests;
  }

  void play(const std::vector<core::Request>& requests) {
    if (requests.empty() || !is_same()) return;
    trace_ += "\n ";
    for (const core::Request& request : requests) trace_ += " " + name_of(request.command);
    const test::TurnReport a = model_driver_.turn(requests, now_);
    const test::TurnReport b = other_driver_.turn(requests, now_);
    if (!a.seq || !b.seq) return note("a commit failed");
    if (a.results != b.results) return note("guards: other results");
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (a.results[i] != store::CommitResult::applied) {
        return note(name_of(requests[i].command) + " was not applied");
      }
      if (!(a.answers[i] == b.answers[i])) {
        return note(name_of(requests[i].command) + " was answered otherwise");
      }
      maker_.learn(requests[i], a.answers[i]);
      cover(requests[i].command, a.answers[i]);
    }
    if (!model_.is_consistent()) note("the model is not consistent with itself");
  }

  void cover(const core::Command& command, const core::Answer& answer) {
    const bool is_idle = std::holds_alternative<Error>(answer.outcome) ||
                         std::holds_alternative<core::Nothing>(answer.outcome) ||
                         std::holds_alternative<core::NotClaimable>(answer.outcome);
    if (!is_idle && !answer.replayed) done_.insert(name_of(command));
    if (const auto* moved = std::get_if<core::Moved>(&answer.outcome)) states_.insert(moved->state);
    if (const auto* made = std::get_if<core::Enqueued>(&answer.outcome)) {
      states_.insert(made->first_state);
    }
    if (std::holds_alternative<core::Claimed>(answer.outcome)) {
      states_.insert(core::JobState::processing);
    }
  }

  void restart() {
    if (!is_same()) return;
    const auto how = static_cast<StopKind>(prng().up_to(2));
    trace_ += "\n  stop " + std::to_string(static_cast<int>(how));
    // What a power cut may take is for the tests of durability: here nothing is unsynced.
    if (how == StopKind::power_cut) call(other_->sync());
    other_ = factory_->reopen(std::move(other_), how, now_);
    if (other_ == nullptr) return note("the store did not open again");
    now_.store = std::max(now_.store, other_->identity().store_time);
    // The store tells by itself what time it is at its start; after a step back of the wall clock
    // that is before ours.
    model_.restart({.wall = now_.wall, .store = other_->identity().store_time});
    other_driver_.set_store(*other_);
  }

  void compare() {
    if (is_same()) note(differential::difference(model_, *other_, now_));
    for (int i = 0; i < 3 && is_same(); ++i) {
      note(page_difference(model_, *other_, prng()));
      note(text_difference(model_, *other_, {1 + prng().up_to(400)}));
    }
  }

  std::unique_ptr<conformance::StoreFactory> factory_;
  store::memory::MemoryStore model_;
  std::unique_ptr<store::Store> other_;
  CommandMaker maker_;
  test::DriverOptions options_;
  test::CoreDriver model_driver_;
  test::CoreDriver other_driver_;
  Now now_;
  std::string difference_;
  std::string trace_;
  std::uint64_t housekeeping_ = 0;
  std::set<std::string> done_;
  std::set<core::JobState> states_;
};

void play_seed(std::uint64_t seed) {
  const std::uint64_t turns = test::count_from_environment("WEIR_TURNS", kTurns);
  Match match(seed);
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    match.step();
    if (match.difference().empty()) continue;
    const std::string trace = match.trace();
    FAIL() << match.difference() << "\nin turn " << turn << " of seed " << seed << "\n"
           << test::how_to_repeat(seed, WEIR_PROGRAM, "DifferentialTest.*")
           << "\nlast commands:" << trace.substr(trace.size() > 1500 ? trace.size() - 1500 : 0);
  }
}

std::vector<std::uint64_t> past_seeds() {
  std::vector<std::uint64_t> seeds;
  std::ifstream file(WEIR_SEEDS_FILE);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') seeds.push_back(std::stoull(line));
  }
  return seeds;
}

TEST(DifferentialTest, past_seeds_stay_equal) {
  if (test::is_seed_given()) GTEST_SKIP() << "WEIR_SEED is given";
  const auto seeds = past_seeds();
  ASSERT_FALSE(seeds.empty());
  for (const std::uint64_t seed : seeds) play_seed(seed);
}

TEST(DifferentialTest, fresh_seeds_stay_equal) {
  if (test::is_seed_given()) return play_seed(test::seed_from_environment());
  for (std::uint64_t i = test::count_from_environment("WEIR_SEEDS", kFreshSeeds); i > 0; --i) {
    play_seed(test::seed_from_environment());
    if (::testing::Test::HasFailure()) return;
  }
}

// A sequence in which some command never does anything proves little.
TEST(DifferentialTest, every_command_and_state_occurs) {
  Match match(1);
  for (int turn = 0; turn < 1000 && match.difference().empty(); ++turn) match.step();
  EXPECT_EQ(match.difference(), "");
  EXPECT_EQ(match.done().size(), std::variant_size_v<core::Command>)
      << ::testing::PrintToString(match.done());
  EXPECT_EQ(match.states().size(), core::kJobStateCount - 1) << "all but blocked";
  EXPECT_TRUE(match.has_cleaned());
}

}  // namespace
}  // namespace weir::differential
