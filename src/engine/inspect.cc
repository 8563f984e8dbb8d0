// SPDX-License-Identifier: Apache-2.0
#include "engine/inspect.h"

#include <utility>

#include "core/dispatch/allot.h"

namespace weir::engine {
namespace {

// A job whose history cannot be read is shown all the same.
std::string last_error(State& state, const core::Job& job) {
  if (!job.has_history) return {};
  const Result<std::vector<core::AttemptRecord>> history = state.store.read_history(job.id);
  if (!history) return {};
  for (auto record = history->rbegin(); record != history->rend(); ++record) {
    if (!record->error.message.empty()) return record->error.message;
    if (!record->error.error_class.empty()) return record->error.error_class;
  }
  return {};
}

JobView view_of(State& state, core::Job job) {
  JobView view;
  const Now now = state.time.now();
  const core::Queue* queue = state.registry.queue(job.queue);
  if (queue != nullptr) {
    view.queue_name = queue->name;
    view.max_attempts = core::effective_max_attempts(job, *queue);
  }
  if (job.state == core::JobState::failed) view.retry_after = to_wall(job.due_at, now);
  if (job.lease) view.lease_expires_at = to_wall(job.lease->deadline_at, now);
  view.last_error = last_error(state, job);
  view.job = std::move(job);
  return view;
}

}  // namespace

Result<JobView> inspect_job(State& state, core::JobId id) {
  WEIR_TRY_ASSIGN(core::Job job, state.store.read_job(id));
  return view_of(state, std::move(job));
}

Result<Engine::JobPage> inspect_jobs(State& state, const store::ScanQuery& query) {
  Engine::JobPage result;
  store::ScanQuery rest = query;
  // A short page with a cursor is how the store bounds its work; clients get full pages while they
  // can be had cheaply.
  for (int scans = 0; scans < 16; ++scans) {
    WEIR_TRY_ASSIGN(store::Page page, state.store.scan_page(rest));
    for (core::Job& job : page.jobs) result.jobs.push_back(view_of(state, std::move(job)));
    result.next_after_id = page.next_after_id;
    if (page.next_after_id == 0 || result.jobs.size() >= query.limit) break;
    rest.after_id = page.next_after_id;
    rest.limit = query.limit - result.jobs.size();
  }
  return result;
}

Result<QueueView> inspect_queue(State& state, const core::Queue& queue) {
  WEIR_TRY_ASSIGN(store::QueueStats stats, state.store.queue_stats(queue.id));
  return QueueView{.queue = queue,
                   .stats = stats,
                   .tally = state.counters.tally_of(queue.id),
                   .pause = state.pauses.of(queue.namespace_id, queue.name, state.clock.boot_ms())};
}

Result<core::JobId> inspect_next_pending(State& state, std::string_view name,
                                         std::uint32_t namespace_id) {
  const core::Queue* queue = state.registry.queue(namespace_id, name);
  std::vector<core::LaneHead> heads;
  if (queue != nullptr) state.store.heads({.queues = {queue->id}}, 1, heads);
  const auto order_of = [&](core::QueueId) { return queue->settings.order; };
  const std::vector<core::Pick> picks = heads.empty()
                                            ? std::vector<core::Pick>{}
                                            : core::allot(heads, 1, state.time.now(), 0, order_of);
  if (picks.empty()) {
    return failure(ErrorCode::not_found, "nothing is pending in " + std::string(name));
  }
  return picks.front().order.id;
}

Result<std::vector<QueueView>> inspect_queues(State& state, std::uint32_t namespace_id) {
  std::vector<QueueView> views;
  for (const auto& [id, queue] : state.registry.queues()) {
    if (queue.namespace_id != namespace_id) continue;
    WEIR_TRY_ASSIGN(QueueView view, inspect_queue(state, queue));
    views.push_back(std::move(view));
  }
  return views;
}

}  // namespace weir::engine
