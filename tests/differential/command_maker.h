// SPDX-License-Identifier: Apache-2.0
// Draws commands at random: all of them, on few queues, groups and keys, so that they meet. Learns
// jobs and leases from answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "core/answer.h"
#include "core/command.h"
#include "store/store.h"

namespace weir::differential {

// One thread.
class CommandMaker {
 public:
  explicit CommandMaker(std::uint64_t seed) : prng_(seed) {}

  // The next command. `model` is asked for what can be claimed and for bodies; nothing is changed
  // in it.
  core::Request next(store::Store& model, Now now);
  void learn(const core::Request& request, const core::Answer& answer);

  Prng& prng() { return prng_; }

 private:
  struct Held {
    core::JobId job;
    core::LeaseToken token;
  };

  core::Command enqueue(Now now);
  core::NewJob new_job(Now now);
  core::Command claim(store::Store& model);
  core::Command worker_verb(Now now);
  core::Command operator_verb(store::Store& model, Now now);
  core::Command queue_verb(store::Store& model);
  core::Command token_verb();
  core::QueuePatch patch();
  core::Placement placement();
  core::JobId some_job();
  core::JobId some_waiting(store::Store& model);
  std::string one_of(const char* stem, std::uint64_t count);
  // True once in n draws.
  bool now_and_then(std::uint64_t n) { return prng_.one_in(n); }

  Prng prng_;
  std::vector<core::JobId> jobs_;
  std::vector<Held> held_;  // some of them stale by now
  std::uint64_t commands_ = 0;
};

std::string name_of(const core::Command& command);

}  // namespace weir::differential
