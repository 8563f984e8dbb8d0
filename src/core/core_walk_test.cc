// SPDX-License-Identifier: Apache-2.0
// Random walks: thousands of seeded commands over a few jobs with shared groups and unique keys.
// World checks the invariants after each; here deliveries are counted against the bound, and at the
// end everything drains. WEIR_TEST_SEED repeats a walk.
#include <cstdlib>

#include "core/test_world.h"

namespace weir::core {
namespace {

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : world_(seed), prng_(seed) {}

  void step() {
    const JobId id = any_job();
    const std::uint64_t choice = prng_.up_to(25);
    if (choice <= 4 || !id) return enqueue();
    if (choice <= 9) return claim(id);
    if (choice <= 15) return held(id, choice - 10);
    if (choice <= 18) return advance();
    operate(id, choice - 19);
  }

  // Everything waiting is let go on until it has ended.
  void drain() {
    for (int round = 0; round < 500; ++round) {
      bool is_quiet = true;
      for (const auto& [id, job] : std::map<JobId, Job>(world_.jobs)) {
        if (is_ended(job.state)) continue;
        is_quiet = false;
        if (job.lease) {
          world_.run(Ack{.job = id, .token = lease_token(world_.secret, id, job.attempt)});
        }
        claim(id);
      }
      if (is_quiet) return;
      advance();
    }
    ADD_FAILURE() << "jobs are left that never end";
  }

  const World& world() const { return world_; }

 private:
  JobId any_job() {
    if (world_.jobs.empty()) return {};
    auto it = world_.jobs.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(prng_.up_to(world_.jobs.size() - 1)));
    return it->first;
  }
  void enqueue() {
    if (world_.jobs.size() > 12) return;
    NewJob job;
    job.options.max_attempts = static_cast<std::uint32_t>(1 + prng_.up_to(3));
    if (prng_.one_in(2)) job.group = prng_.one_in(2) ? "a" : "b";
    if (prng_.one_in(2)) job.unique_key = prng_.one_in(2) ? "x" : "y";
    if (!job.unique_key.empty() && prng_.one_in(3)) job.unique_window_ms = prng_.between(1, 90'000);
    if (prng_.one_in(3)) job.delay_ms = prng_.between(0, 20'000);
    if (prng_.one_in(4)) job.ttl_ms = prng_.between(1, 40'000);
    world_.enqueue(std::move(job), prng_.one_in(3) ? "q2" : "q");
  }
  void claim(JobId id) {
    const Job before = world_.job(id);
    const ChangeSet change_set =
        world_.run(Claim{.job = id, .lease_ms = prng_.between(1'000, 30'000)});
    if (!std::holds_alternative<Claimed>(change_set.answer.outcome)) return;
    ASSERT_LT(before.charged(), before.options->max_attempts)
        << "delivered more often than allowed";
  }
  void held(JobId id, std::uint64_t verb) {
    const std::uint32_t attempt = world_.job(id).attempt;
    LeaseToken token =
        lease_token(world_.secret, id, prng_.one_in(5) && attempt > 0 ? attempt - 1 : attempt);
    if (prng_.one_in(10)) token.proof.low ^= 1;
    switch (verb) {
      case 0:
        world_.run(Ack{.job = id, .token = token, .result = "1"});
        break;
      case 1:
        world_.run(
            Fail{.job = id, .token = token, .error = {.message = "m"}, .dead = prng_.one_in(6)});
        break;
      case 2:
        world_.run(
            Release{.job = id, .token = token, .place = static_cast<ReleasePlace>(prng_.up_to(2))});
        break;
      case 3:
        world_.run(Snooze{.job = id, .token = token, .delay_ms = prng_.between(0, 9'000)});
        break;
      case 4:
        world_.run(Extend{.job = id, .token = token});
        break;
      default:
        world_.run(Progress{.job = id, .token = token, .percent = 3});
        break;
    }
  }
  void operate(JobId id, std::uint64_t verb) {
    switch (verb) {
      case 0:
        world_.run(Cancel{.job = id});
        break;
      case 1:
        world_.run(Promote{id});
        break;
      case 2:
        world_.run(Replay{.job = id});
        break;
      case 3:
        world_.run(Erase{id});
        break;
      case 4:
        world_.run(Edit{.job = id, .run_at = world_.now.wall.plus(prng_.between(-5, 5'000))});
        break;
      case 5:
        world_.run(Retain{id});
        break;
      default:
        world_.run(Purge{.queue = "q", .slice = {id}});
        break;
    }
  }
  // Time passes, and the ticker comes by.
  void advance() {
    world_.advance(prng_.between(0, 40'000));
    for (const auto& [id, job] : std::map<JobId, Job>(world_.jobs)) {
      world_.run(ExpireTtl{id});
      world_.run(BecomeDue{id});
      world_.run(ExpireLease{id});
    }
    for (const auto& [key, entry] : std::map(world_.unique_keys)) {
      world_.run(ForgetUnique{.queue = key.first, .key = key.second});
    }
  }

  World world_;
  Prng prng_;
};

TEST(CoreWalkTest, invariants_hold_on_random_walks_and_everything_drains) {
  const char* given = std::getenv("WEIR_TEST_SEED");
  const std::uint64_t first = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  const std::uint64_t walks = given != nullptr ? 1 : 20;
  for (std::uint64_t seed = first; seed < first + walks; ++seed) {
    SCOPED_TRACE(testing::Message() << "repeat with WEIR_TEST_SEED=" << seed);
    Walk walk(seed);
    for (int i = 0; i < 400; ++i) {
      walk.step();
      if (testing::Test::HasFailure()) return;
    }
    walk.drain();
    EXPECT_TRUE(walk.world().group_locks.empty());
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weir::core
