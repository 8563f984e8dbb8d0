// SPDX-License-Identifier: Apache-2.0
// Kicks of many jobs: finds them, then lets them go in slices of one turn each, with one audit
// entry.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/committer.h"
#include "engine/finder.h"

namespace weir::engine {

// One thread.
class Kicks {
 public:
  Kicks(State& state, Committer& committer, Finder& finder)
      : state_(state), committer_(committer), finder_(finder) {}

  // Up to `count` jobs of the queue: the dead ones, the first to die first; when there are none,
  // those that wait for their time, the soonest first. `answered` gets Kicked or Error.
  void add(std::string queue, std::uint64_t count, core::Principal principal,
           AnswerCallback answered);

  // One slice. Errors: io_error, corruption (stopped).
  Result<void> run();
  bool is_idle() const { return kicks_.empty(); }

 private:
  struct Kick {
    std::string queue;
    std::uint64_t count = 0;
    core::Principal principal;
    AnswerCallback answered;
    bool is_looked_for = false;
    bool is_found = false;
    std::vector<core::JobId> jobs;
    std::size_t next = 0;  // into jobs
    core::Answer answer{.outcome = core::Kicked{}};
    std::uint64_t seq = 0;  // of the last slice that is to be durable
  };

  void look_for(const std::shared_ptr<Kick>& kick);
  // True when the kick is over.
  Result<bool> slice(Kick& kick);

  State& state_;
  Committer& committer_;
  Finder& finder_;
  // shared_ptr: the search that runs for a kick calls back into it.
  std::deque<std::shared_ptr<Kick>> kicks_;
};

}  // namespace weir::engine
