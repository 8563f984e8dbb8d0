// SPDX-License-Identifier: Apache-2.0
#include "engine/kicks.h"

#include <algorithm>
#include <utility>

#include "engine/slices.h"

namespace weir::engine {
namespace {

constexpr std::uint32_t bit(core::JobState state) { return 1U << static_cast<unsigned>(state); }

}  // namespace

void Kicks::add(std::string queue, std::uint64_t count, core::Principal principal,
                AnswerCallback answered) {
  kicks_.push_back(std::make_shared<Kick>(Kick{.queue = std::move(queue),
                                               .count = count,
                                               .principal = std::move(principal),
                                               .answered = std::move(answered)}));
}

void Kicks::look_for(const std::shared_ptr<Kick>& kick) {
  kick->is_looked_for = true;
  FirstJobs wanted{.queue = kick->queue,
                   .namespace_id = kick->principal.namespace_id,
                   .states = bit(core::JobState::dead),
                   .order = JobOrder::by_end,
                   .count = kick->count};
  const core::Queue* queue = state_.registry.queue(wanted.namespace_id, wanted.queue);
  const Result<store::QueueStats> stats =
      queue == nullptr ? store::QueueStats{} : state_.store.queue_stats(queue->id);
  if (stats && stats->counts.of(core::JobState::dead) == 0) {
    wanted.states = bit(core::JobState::scheduled) | bit(core::JobState::failed);
    wanted.order = JobOrder::by_due;
  }
  finder_.add(std::move(wanted), [kick](Result<std::vector<core::JobId>> found) {
    kick->is_found = true;
    if (found) {
      kick->jobs = std::move(*found);
    } else {
      kick->answer.outcome = found.error();
    }
  });
}

Result<void> Kicks::run() {
  if (kicks_.empty()) return {};
  const std::shared_ptr<Kick> kick = kicks_.front();
  if (!kick->is_looked_for) look_for(kick);
  if (!kick->is_found) return {};
  WEIR_TRY_ASSIGN(const bool is_over, slice(*kick));
  if (!is_over) return {};
  kicks_.pop_front();
  Work work;
  work.answered = std::move(kick->answered);
  work.answer = std::move(kick->answer);
  work.has_answer = true;
  work.is_sync = kick->seq != 0;
  work.seq = kick->seq;
  committer_.push_release(std::move(work));
  return {};
}

Result<bool> Kicks::slice(Kick& kick) {
  if (kick.next == kick.jobs.size()) return true;
  const std::size_t end = std::min(kick.jobs.size(), kick.next + kSliceJobsMax);
  core::Kick command{.subject = "queue " + kick.queue};
  command.jobs.assign(kick.jobs.begin() + static_cast<std::ptrdiff_t>(kick.next),
                      kick.jobs.begin() + static_cast<std::ptrdiff_t>(end));
  const bool is_first = kick.next == 0;
  Work work;
  work.request = core::Request{.command = std::move(command), .principal = kick.principal};
  WEIR_TRY(committer_.run(std::span(&work, 1), [is_first](std::size_t, core::ChangeSet& change) {
    if (!is_first) change.audit.clear();
    return true;
  }));
  kick.next = end;
  auto& total = std::get<core::Kicked>(kick.answer.outcome);
  if (const auto* kicked = std::get_if<core::Kicked>(&work.answer.outcome)) {
    total.count += kicked->count;
    if (work.is_sync) kick.seq = work.seq;
    kick.answer.durable = kick.answer.durable && work.answer.durable;
  } else {
    // Refused: what went before stands.
    if (total.count == 0) kick.answer.outcome = work.answer.outcome;
    kick.next = kick.jobs.size();
  }
  committer_.push_release(std::move(work));
  return kick.next == kick.jobs.size();
}

}  // namespace weir::engine
