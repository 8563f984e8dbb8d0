// SPDX-License-Identifier: Apache-2.0
#include "engine/counters.h"

#include <algorithm>

namespace weir::engine {
namespace {

void note_start(Counters& counters, const core::ChangeSet& change, const core::Event& event) {
  if (event.waited_ms < 0) return;
  for (const core::JobChange& job : change.jobs) {
    if (job.after.id != event.job) continue;
    const auto index = static_cast<std::size_t>(job.after.priority_class);
    counters.wait[index].add_ms(event.waited_ms);
    const bool is_met = event.waited_ms <= core::sla_ms(job.after.priority_class);
    ++(is_met ? counters.sla_met : counters.sla_missed)[index];
    return;
  }
}

void note_run(Counters& counters, const core::Event& event) {
  if (event.ran_ms < 0) return;
  auto it = counters.run_by_kind.find(event.kind);
  if (it == counters.run_by_kind.end()) {
    const bool has_room = counters.run_by_kind.size() < kMetricKindsMax;
    it = counters.run_by_kind.try_emplace(has_room ? event.kind : "other").first;
  }
  it->second.add_ms(event.ran_ms);
}

}  // namespace

void Histogram::add_ms(std::int64_t ms) {
  const double seconds = static_cast<double>(ms) / 1000.0;
  const auto bucket = std::lower_bound(kBoundsSeconds.begin(), kBoundsSeconds.end(), seconds);
  ++counts[static_cast<std::size_t>(bucket - kBoundsSeconds.begin())];
  ++count;
  sum_seconds += seconds;
}

QueueTally& Counters::tally(core::QueueId queue) {
  if (last_tally_ == nullptr || last_queue_ != queue) {
    last_tally_ = &tallies_[queue];
    last_queue_ = queue;
  }
  return *last_tally_;
}

QueueTally Counters::tally_of(core::QueueId queue) const {
  const auto at = tallies_.find(queue);
  return at == tallies_.end() ? QueueTally{} : at->second;
}

void Counters::note_applied(const core::ChangeSet& change) {
  for (const core::QueueChange& queue : change.queues) {
    if (!queue.erase) continue;
    tallies_.erase(queue.after.id);
    last_tally_ = nullptr;
  }
  for (const core::Event& event : change.events) {
    switch (event.verb) {
      case core::Verb::enqueue:
        ++enqueued;
        ++tally(event.queue).enqueued;
        break;
      case core::Verb::ack:
      case core::Verb::erase:
        ++tally(event.queue).deleted;
        break;
      case core::Verb::claim:
        ++claimed;
        note_start(*this, change, event);
        break;
      case core::Verb::expire_lease:
        ++expired_leases;
        break;
      default:
        break;
    }
    if (event.from == core::JobState::processing && event.to) {
      note_run(*this, event);
      if (*event.to == core::JobState::failed) ++failed;
    }
    if (event.to == core::JobState::completed && event.from != event.to) ++completed;
    if (event.to == core::JobState::dead && event.from != event.to) ++dead;
    if (event.from == core::JobState::failed && event.to == core::JobState::pending) ++retried;
  }
}

void Counters::note_answer(const core::Answer& answer) {
  if (const auto* error = std::get_if<Error>(&answer.outcome)) {
    ++refused[static_cast<std::size_t>(error->code)];
  }
}

}  // namespace weir::engine
