// SPDX-License-Identifier: Apache-2.0
#include "engine/finder.h"

#include <algorithm>
#include <utility>

namespace weir::engine {
namespace {

std::uint64_t count_of(const core::QueueCounts& counts, std::uint32_t states) {
  std::uint64_t count = 0;
  for (const core::JobState state : core::kJobStates) {
    if ((states >> static_cast<unsigned>(state) & 1U) != 0) count += counts.of(state);
  }
  return count;
}

// Until the job's time comes; below zero when it has passed.
std::int64_t due_in_ms(const core::Job& job, Now now) {
  return job.due_at.is_set() ? job.due_at.since(now.store) : job.run_at.since(now.wall);
}

}  // namespace

void Finder::add(FirstJobs wanted, FoundCallback found) {
  searches_.push_back({.wanted = std::move(wanted), .found = std::move(found)});
}

Result<void> Finder::run() {
  const std::int64_t until_us = state_.clock.boot_us() + kFindSliceUs;
  while (!searches_.empty()) {
    Search& search = searches_.front();
    const Result<bool> is_over = look_at_page(search);
    if (!is_over && is_over.error().code == ErrorCode::io_error) return failure(is_over.error());
    if (!is_over || *is_over) {
      Search done = std::move(searches_.front());
      searches_.pop_front();
      if (!is_over) {
        done.found(failure(is_over.error()));
      } else {
        std::sort_heap(done.best.begin(), done.best.end());
        std::vector<core::JobId> ids;
        ids.reserve(done.best.size());
        for (const Place& place : done.best) ids.push_back(core::JobId{place.id});
        done.found(std::move(ids));
      }
    }
    if (state_.clock.boot_us() >= until_us) break;
  }
  return {};
}

Result<bool> Finder::look_at_page(Search& search) {
  const FirstJobs& wanted = search.wanted;
  const core::Queue* queue = state_.registry.queue(wanted.namespace_id, wanted.queue);
  if (queue == nullptr || wanted.count == 0) return true;
  WEIR_TRY_ASSIGN(const store::QueueStats stats, state_.store.queue_stats(queue->id));
  const std::uint64_t there_are = count_of(stats.counts, wanted.states);
  if (search.seen >= there_are) return true;
  WEIR_TRY_ASSIGN(const store::Page page,
                  state_.store.scan_page(store::ScanQuery{.queue = queue->id,
                                                          .states = wanted.states,
                                                          .after_id = search.after_id,
                                                          .limit = core::kPageJobsMax}));
  for (const core::Job& job : page.jobs) keep(search, job);
  search.seen += page.jobs.size();
  search.after_id = page.next_after_id;
  return page.next_after_id == 0 || search.seen >= there_are;
}

void Finder::keep(Search& search, const core::Job& job) const {
  const Place place{.at = search.wanted.order == JobOrder::by_end
                              ? job.ended_at.ms
                              : due_in_ms(job, state_.time.now()),
                    .id = job.id.value};
  if (search.best.size() >= search.wanted.count) {
    if (!(place < search.best.front())) return;
    std::pop_heap(search.best.begin(), search.best.end());
    search.best.pop_back();
  }
  search.best.push_back(place);
  std::push_heap(search.best.begin(), search.best.end());
}

}  // namespace weir::engine
