// SPDX-License-Identifier: Apache-2.0
// Decides a list of requests and commits what they change: the one way by which anything changes in
// the store.
//
// One prefetch for all, each decided in order over the changes of those before it, one commit. What
// the store answers with "guard missed" is decided again from fresh data, together with the later
// requests that changed nothing: their answer may rest on the change that failed (a later one that
// was applied had guards of its own, so that it stands). No guard tells whether a job's queue
// exists yet: a change that makes a queue ends its commit, and what follows goes into the next one.
// Nothing is released here: the answers stay in the works.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/decide.h"
#include "engine/state.h"
#include "engine/work.h"

namespace weir::engine {

// May look at a decided change before it is committed, and alter it; false drops it (the work is
// left without an answer).
using Inspect = std::function<bool(std::size_t work, core::ChangeSet& change)>;

// Sees a change that was applied, before its answer and events are taken out of it; may take out
// what it likes.
using Applied = std::function<void(std::size_t work, core::ChangeSet& change)>;

// One thread. The state must outlive it.
class Committer {
 public:
  explicit Committer(State& state) : state_(state) {}

  // Every work has an answer afterwards, unless `inspect` dropped it. Errors: io_error, corruption
  // (the store is stopped).
  Result<void> run(std::span<Work> works, const Inspect& inspect = nullptr,
                   const Applied& applied = nullptr);

  // Hands answers and events to the release queue, in order. `works` is empty afterwards, with or
  // without its memory.
  void push_releases(std::vector<Work>& works);
  void push_release(Work work);

 private:
  Result<void> prefetch(std::span<Work> works, const std::vector<std::size_t>& open);
  Result<void> reserve_ids(std::span<Work> works, const std::vector<std::size_t>& open);
  // Decides in order; returns how many of `open`. Stops behind a change that makes a queue, and
  // before one with which the commit would weigh more than kTurnBytesMax: that one is carried over
  // to the next commit.
  std::size_t decide(std::span<Work> works, const std::vector<std::size_t>& open,
                     const Inspect& inspect);
  // What a commit left to do: works to decide once more, and whether the view still holds what the
  // store has.
  struct Left {
    std::vector<std::size_t> again;
    bool is_view_true = true;
  };
  Result<Left> commit(std::span<Work> works, const Applied& applied);
  void apply_result(Work& work, core::ChangeSet& change, std::uint64_t seq);
  void note_applied(const core::ChangeSet& change);
  void forget_view();

  State& state_;
  core::View view_;
  core::ReadSet reads_;
  // What was decided over the view, which looks into them: [0, first_) is committed, [first_, end_)
  // is not, the rest is memory to be used again.
  std::vector<core::ChangeSet> changes_;
  std::size_t first_ = 0, end_ = 0;
  std::vector<std::size_t> change_owner_;  // work of each that is not committed
  std::vector<std::size_t> unwritten_;     // works of this round that changed nothing
  std::vector<store::CommitResult> results_;
  // changes_[end_] was decided over the changes of the commit before, which took all of them: valid
  // as long as the view is true.
  bool is_carried_ = false;
};

void answer_error(Work& work, ErrorCode code, std::string detail, std::int64_t retry_after_ms = 0);

}  // namespace weir::engine
