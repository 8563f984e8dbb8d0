// SPDX-License-Identifier: Apache-2.0
#include "engine/committer.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/assert.h"
#include "core/limits.h"
#include "store/change_bytes.h"

namespace weir::engine {
namespace {

constexpr int kTriesMax = 4;
constexpr std::size_t kChangesKept = 1024;
constexpr std::size_t kJobsKept = 8;
constexpr std::int64_t kRetryAfterMs = 1000;

// True for errors after which the store takes nothing more.
bool is_fatal(const Error& error) {
  return error.code == ErrorCode::io_error || error.code == ErrorCode::corruption;
}

}  // namespace

void answer_error(Work& work, ErrorCode code, std::string detail, std::int64_t retry_after_ms) {
  work.answer = core::Answer{
      .outcome =
          Error{.code = code, .detail = std::move(detail), .retry_after_ms = retry_after_ms}};
  work.has_answer = true;
}

// The view looks into the changes: they go together.
void Committer::forget_view() {
  view_.clear();
  // Neither a flood nor one large batch must hold its memory for ever.
  for (std::size_t i = 0; i < end_; ++i) {
    if (changes_[i].jobs.capacity() > kJobsKept) changes_[i] = core::ChangeSet{};
  }
  if (changes_.size() > kChangesKept) changes_.resize(kChangesKept);
  is_carried_ = false;
  first_ = end_ = 0;
}

Result<void> Committer::run(std::span<Work> works, const Inspect& inspect, const Applied& applied) {
  std::vector<std::size_t> open(works.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  bool is_view_true = false;
  int tries = 0;
  while (!open.empty()) {
    if (!is_view_true) {
      forget_view();
      WEIR_TRY(prefetch(works, open));
      std::erase_if(open, [&](std::size_t i) { return works[i].has_answer; });
      WEIR_TRY(reserve_ids(works, open));
      std::erase_if(open, [&](std::size_t i) { return works[i].has_answer; });
    }
    const std::size_t end = decide(works, open, inspect);
    WEIR_TRY_ASSIGN(Left left, commit(works, applied));
    is_view_true = left.is_view_true;
    if (!left.again.empty() && ++tries == kTriesMax) {
      for (const std::size_t i : left.again) {
        works[i].is_contended = true;
        answer_error(works[i], ErrorCode::unavailable, "what this needs keeps changing elsewhere",
                     kRetryAfterMs);
      }
      left.again.clear();
    }
    left.again.insert(left.again.end(), open.begin() + static_cast<std::ptrdiff_t>(end),
                      open.end());
    open = std::move(left.again);
  }
  return {};
}

Result<void> Committer::prefetch(std::span<Work> works, const std::vector<std::size_t>& open) {
  reads_.clear();
  for (const std::size_t i : open) core::reads(works[i].request, reads_);
  Result<void> loaded = state_.store.prefetch(reads_, view_);
  if (loaded) return {};
  if (loaded.error().code == ErrorCode::io_error) return loaded;
  // One unreadable entity must not refuse the others: each request alone, and only those that need
  // it fail.
  for (const std::size_t i : open) {
    reads_.clear();
    core::reads(works[i].request, reads_);
    loaded = state_.store.prefetch(reads_, view_);
    if (loaded) continue;
    if (loaded.error().code == ErrorCode::io_error) return loaded;
    answer_error(works[i], loaded.error().code, loaded.error().detail,
                 loaded.error().retry_after_ms);
  }
  return {};
}

Result<void> Committer::reserve_ids(std::span<Work> works, const std::vector<std::size_t>& open) {
  std::uint64_t jobs = 0;
  std::set<std::pair<std::uint32_t, std::string_view>> new_queues;
  std::pair<std::uint32_t, std::string_view> last;  // most of a turn is about few queues
  for (const std::size_t i : open) {
    const core::Request& request = works[i].request;
    std::pair<std::uint32_t, std::string_view> name{request.principal.namespace_id, {}};
    if (const auto* enqueue = std::get_if<core::Enqueue>(&request.command)) {
      jobs += enqueue->jobs.size();
      name.second = enqueue->queue;
    } else if (const auto* put = std::get_if<core::PutQueue>(&request.command)) {
      name.second = put->queue;
    } else {
      ++jobs;  // a new place in a queue takes a number from the same source
      continue;
    }
    if (name == std::exchange(last, name)) continue;
    if (!view_.has_queue(name.first, name.second) ||
        view_.queue(name.first, name.second) == nullptr) {
      new_queues.insert(name);
    }
  }
  const Result<void> reserved = state_.ids.reserve(jobs, new_queues.size());
  if (reserved) return {};
  if (is_fatal(reserved.error())) return reserved;
  for (const std::size_t i : open) {
    const core::Command& command = works[i].request.command;
    if (std::holds_alternative<core::Enqueue>(command) ||
        std::holds_alternative<core::PutQueue>(command)) {
      answer_error(works[i], ErrorCode::unavailable, reserved.error().detail, kRetryAfterMs);
    }
  }
  return {};
}

std::size_t Committer::decide(std::span<Work> works, const std::vector<std::size_t>& open,
                              const Inspect& inspect) {
  const store::Identity& identity = state_.store.identity();
  core::Context context{.now = state_.time.now(),
                        .prng = state_.prng,
                        .ids = state_.ids,
                        .policy = state_.options.policy,
                        .lease_secret = identity.lease_secret,
                        .epoch = identity.epoch,
                        .judged_at = state_.time.judged_at()};
  change_owner_.clear();
  unwritten_.clear();
  std::size_t bytes = 0;
  for (std::size_t next = 0; next < open.size(); ++next) {
    const std::size_t i = open[next];
    Work& work = works[i];
    if (end_ == changes_.size()) changes_.emplace_back();
    core::ChangeSet& change = changes_[end_];
    if (!std::exchange(is_carried_, false)) {
      core::decide(view_, work.request, context, change);
      if (inspect && !inspect(i, change)) continue;
    }
    if (change.is_empty()) {
      work.answer = std::move(change.answer);
      work.has_answer = true;
      unwritten_.push_back(i);
      continue;
    }
    const std::size_t weight = store::change_bytes(change);
    if (first_ != end_ && bytes + weight > core::kTurnBytesMax) {
      is_carried_ = true;
      return next;
    }
    bytes += weight;
    view_.apply(change);
    ++end_;
    change_owner_.push_back(i);
    const bool makes_queue =
        std::any_of(change.queues.begin(), change.queues.end(),
                    [](const auto& queue) { return queue.expected_version == 0; });
    if (makes_queue) return next + 1;
  }
  return open.size();
}

Result<Committer::Left> Committer::commit(std::span<Work> works, const Applied& applied) {
  Left left;
  const std::span<core::ChangeSet> changes(changes_.data() + first_, end_ - first_);
  if (changes.empty()) return left;
  first_ = end_;
  results_.clear();
  const Result<std::uint64_t> seq = state_.store.commit(changes, state_.time.now(), results_);
  if (!seq) {
    if (seq.error().code != ErrorCode::unavailable) return failure(seq.error());
    // Nothing was applied, and what was read is not known to be true any more.
    for (const std::vector<std::size_t>* list : {&change_owner_, &unwritten_}) {
      for (const std::size_t i : *list) {
        answer_error(works[i], ErrorCode::unavailable, seq.error().detail, kRetryAfterMs);
      }
    }
    left.is_view_true = false;
    return left;
  }
  WEIR_ASSERT(results_.size() == changes.size(), results_.size(), changes.size());
  std::size_t first_failed = works.size();
  for (std::size_t c = 0; c < changes.size(); ++c) {
    Work& work = works[change_owner_[c]];
    if (results_[c] == store::CommitResult::applied) {
      note_applied(changes[c]);
      if (applied) applied(change_owner_[c], changes[c]);
      apply_result(work, changes[c], *seq);
      continue;
    }
    first_failed = std::min(first_failed, change_owner_[c]);
    if (results_[c] == store::CommitResult::guard_missed) {
      left.again.push_back(change_owner_[c]);
    } else {
      answer_error(work, ErrorCode::store_full, "the store has no room for this");
    }
  }
  // What `applied` has seen may be taken apart.
  left.is_view_true = first_failed == works.size() && !applied;
  for (const std::size_t i : unwritten_) {
    if (i < first_failed) continue;
    works[i].has_answer = false;
    left.again.push_back(i);
  }
  std::sort(left.again.begin(), left.again.end());
  return left;
}

void Committer::apply_result(Work& work, core::ChangeSet& change, std::uint64_t seq) {
  work.seq = seq;
  work.is_sync = change.commit_class == core::CommitClass::sync;
  work.answer = std::move(change.answer);
  work.has_answer = true;
  if (!state_.is_heard()) return;
  work.events.reserve(change.events.size());
  for (core::Event& event : change.events) {
    std::string name(state_.registry.queue_name(event.queue));
    work.events.emplace_back(std::move(event), std::move(name));
  }
}

void Committer::note_applied(const core::ChangeSet& change) {
  for (const core::JobChange& job : change.jobs) {
    const bool was_leased = !job.guard.absent && job.guard.state == core::JobState::processing;
    const bool is_leased = !job.erase && job.after.state == core::JobState::processing;
    state_.leases += static_cast<int>(is_leased) - static_cast<int>(was_leased);
    // A job of a group that moves or goes may open the group for the next one; a claim never does.
    const bool may_open_group = !job.after.group.empty() && !is_leased;
    if (job.after.state == core::JobState::pending || may_open_group) {
      state_.dirty_queues.insert(job.after.queue);
    }
  }
  for (const core::GroupLockChange& lock : change.group_locks) {
    if (lock.erase) state_.dirty_queues.insert(lock.after.queue);
  }
  for (const core::QueueChange& queue : change.queues) {
    state_.dirty_queues.insert(queue.after.id);
    if (queue.erase) {
      state_.deleted_queues.erase(queue.after.id);
    } else if (queue.after.is_deleted) {
      state_.deleted_queues.insert(queue.after.id);
    }
  }
  state_.registry.apply(change);
  state_.sync.note(change, state_.registry, state_.time.boot_ms());
  state_.counters.note_applied(change);
}

void Committer::push_releases(std::vector<Work>& works) {
  bool is_awaited = false;
  for (const Work& work : works) {
    if (!work.has_answer) continue;
    if (work.answered) state_.counters.note_answer(work.answer);
    is_awaited = is_awaited || work.answered || !work.events.empty();
  }
  if (is_awaited) {
    state_.releases.push(std::move(works));
    works = {};
  }
  works.clear();
}

void Committer::push_release(Work work) {
  std::vector<Work> works;
  works.push_back(std::move(work));
  push_releases(works);
}

}  // namespace weir::engine
