// SPDX-License-Identifier: Apache-2.0
// Work on many jobs, cut into slices of one turn each: purges, and the jobs of queues that were
// deleted by force. A purge ends at the jobs that were there when it was asked for. A deletion goes
// on after a restart: the mark on the queue is durable.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "engine/committer.h"
#include "engine/state.h"

namespace weir::engine {

inline constexpr std::size_t kSliceJobsMax = 1000;

// One thread.
class Slices {
 public:
  Slices(State& state, Committer& committer) : state_(state), committer_(committer) {}

  void add_purge(std::string queue, core::Principal principal, AnswerCallback answered);

  // One slice of one purge and one of one deletion. Errors: io_error, corruption (stopped).
  Result<void> run();

  // 0 when there is work, else the largest number, or until a deletion that got nowhere is tried
  // again.
  std::int64_t next_in_ms(std::int64_t boot_ms) const;

 private:
  struct Purge {
    std::string queue;
    core::Principal principal;
    AnswerCallback answered;
    std::uint64_t last_id = 0;  // jobs beyond it came later
    std::uint64_t after_id = 0;
    std::uint64_t removed = 0;
    bool is_first = true;
  };

  Result<void> purge_slice();
  Result<void> delete_slice();
  // Commits the removal of `jobs`. The audit record is kept for the first slice only.
  Result<void> remove(Work& work, bool keep_audit);

  State& state_;
  Committer& committer_;
  std::deque<Purge> purges_;
  std::int64_t deletes_blocked_until_ms_ = 0;
};

}  // namespace weir::engine
