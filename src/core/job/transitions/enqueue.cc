// SPDX-License-Identifier: Apache-2.0
// Enqueue: one job or a batch, all or none. Everything is checked before the first id is taken. A
// unique hit is marked and names the living job. The first enqueue creates the queue.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "core/job/transitions/new_job.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

constexpr std::int64_t kSaturatedRetryAfterMs = 1'000;
constexpr std::int64_t kDrainingRetryAfterMs = 5'000;

// What is settled about each new job before ids are taken.
struct Plan {
  StartAt start;
  JobId living;                      // a unique hit on this job
  std::optional<std::size_t> twin;   // a unique hit on an earlier job of this batch
  const UniqueKey* stale = nullptr;  // an entry past its window that gives way
  bool is_duplicate() const { return living || twin; }
};

// Names the bad one of a batch.
Error at_index(Error error, const Enqueue& command, std::size_t index) {
  if (command.is_batch) error.detail = fmt::format("jobs[{}]: {}", index, error.detail);
  return error;
}

Result<StartAt> start_of(Now now, const NewJob& job) {
  if (job.delay_ms) return start_after_delay(now, "delay", *job.delay_ms);
  if (job.run_at) return start_at_instant(now, "run_at", *job.run_at);
  return StartAt{.run_at = now.wall};
}

// What can be said without the queue comes first: invalid_argument goes before every other refusal.
Result<std::vector<Plan>> check_jobs(const Deciding& d, const Enqueue& command) {
  if (command.jobs.empty()) return failure(ErrorCode::invalid_argument, "there are no jobs");
  if (command.jobs.size() > kBatchJobsMax) {
    return failure(
        ErrorCode::invalid_argument,
        fmt::format("there are {} jobs; a batch may have {}", command.jobs.size(), kBatchJobsMax));
  }
  std::vector<Plan> plans(command.jobs.size());
  for (std::size_t i = 0; i < command.jobs.size(); ++i) {
    if (Result<void> checked = check_new_job(command.jobs[i], command.door); !checked) {
      return failure(at_index(std::move(checked).error(), command, i));
    }
    Result<StartAt> start = start_of(d.now(), command.jobs[i]);
    if (!start) return failure(at_index(std::move(start).error(), command, i));
    plans[i].start = *start;
  }
  return plans;
}

// The queue as it is, or as this enqueue will create it (id still 0).
Result<Queue> new_queue(const Deciding& d, const Enqueue& command) {
  if (!d.context.policy.auto_create) {
    return failure(
        ErrorCode::not_found,
        fmt::format("queue \"{}\" is not there and enqueue may not create it", command.queue));
  }
  Queue queue = default_queue(d, command.queue);
  queue.settings =
      first_settings(command.door, queue.settings, command.jobs.front().options.lease_ms);
  queue.version = 1;
  return queue;
}

Result<void> check_open(const Queue& queue) {
  if (queue.is_deleted) {
    return failure(conflict(fmt::format("queue \"{}\" is being deleted", queue.name)));
  }
  if (queue.draining) {
    return failure(Error{.code = ErrorCode::unavailable,
                         .detail = fmt::format("queue \"{}\" is draining", queue.name),
                         .retry_after_ms = kDrainingRetryAfterMs});
  }
  return {};
}

// An entry is taken while its job lives or its window runs.
bool is_taken(const Deciding& d, const UniqueKey& entry) {
  if (entry.until > d.now().store) return true;
  const Job* job = d.view.job(entry.job);
  return job != nullptr && !is_ended(job->state);
}

void find_duplicates(const Deciding& d, const Enqueue& command, const Queue* existing,
                     std::vector<Plan>& plans) {
  const bool has_keys = std::any_of(command.jobs.begin(), command.jobs.end(),
                                    [](const NewJob& job) { return !job.unique_key.empty(); });
  if (!has_keys) return;
  std::unordered_map<std::string_view, std::size_t> first_of_key;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const std::string& key = command.jobs[i].unique_key;
    if (key.empty()) continue;
    const UniqueKey* entry = existing == nullptr ? nullptr : d.view.unique_key(existing->id, key);
    if (entry != nullptr && is_taken(d, *entry)) {
      plans[i].living = entry->job;
      continue;
    }
    const auto [first, is_new] = first_of_key.try_emplace(key, i);
    if (!is_new) {
      plans[i].twin = first->second;
    } else {
      plans[i].stale = entry;
    }
  }
}

Result<void> check_depth(const Deciding& d, const Queue& queue, bool exists,
                         const std::vector<Plan>& plans) {
  if (queue.settings.max_depth == 0) return {};
  const auto new_jobs = static_cast<std::uint64_t>(
      std::count_if(plans.begin(), plans.end(), [](const Plan& p) { return !p.is_duplicate(); }));
  const std::uint64_t depth = exists ? d.view.counts(queue.id).waiting() : 0;
  if (new_jobs == 0 || depth + new_jobs <= queue.settings.max_depth) return {};
  return failure(
      Error{.code = ErrorCode::queue_saturated,
            .detail = fmt::format("queue \"{}\" has {} waiting jobs, it takes at most {}",
                                  queue.name, depth, queue.settings.max_depth),
            .retry_after_ms = kSaturatedRetryAfterMs,
            .depth = static_cast<std::int64_t>(depth),
            .max_depth = static_cast<std::int64_t>(queue.settings.max_depth)});
}

// Jobs of one batch with equal options share one object.
class OptionsPool {
 public:
  std::shared_ptr<const JobOptions> get(const JobOptions& options) {
    if (options == JobOptions{}) return nullptr;
    for (const auto& known : known_) {
      if (known && *known == options) return known;
    }
    // shared_ptr: all jobs with these options own them, also in the store's index.
    known_[next_] = std::make_shared<const JobOptions>(options);
    return known_[std::exchange(next_, (next_ + 1) % known_.size())];
  }

 private:
  std::array<std::shared_ptr<const JobOptions>, 8> known_;
  std::size_t next_ = 0;
};

void make_job(const Deciding& d, const NewJob& wanted, const Queue& queue, const StartAt& start,
              JobId id, Job& job) {
  const std::int64_t ttl_ms = wanted.ttl_ms.value_or(queue.settings.ttl_ms);
  job.id = id;
  job.queue = queue.id;
  job.state = start.state;
  job.priority_class = wanted.priority_class.value_or(queue.settings.priority_class);
  // In a fifo queue a priority has no say, whatever the producer asks.
  job.priority = queue.settings.order == QueueOrder::fifo ? 0 : wanted.priority;
  job.rank = wanted.rank.value_or(static_cast<std::int64_t>(id.value));
  job.version = 1;
  job.kind = wanted.kind;
  job.group = wanted.group;
  job.limit_key = wanted.limit_key;
  job.unique_key = wanted.unique_key;
  job.external_id = wanted.external_id;
  job.tags = wanted.tags;
  job.created_at = d.now().wall;
  set_start(job, start);
  job.ttl_ms = ttl_ms;
  if (ttl_ms > 0) job.expires_at = d.now().store.plus(ttl_ms);
  job.created_by = d.principal.id;
  job.payload_bytes = static_cast<std::uint32_t>(wanted.body.payload.size());
}

void take_key(Deciding& d, const NewJob& wanted, const Plan& plan, const Job& job) {
  if (wanted.unique_key.empty()) return;
  UniqueKeyChange change{.after = {.queue = job.queue, .key = wanted.unique_key, .job = job.id}};
  if (wanted.unique_window_ms) change.after.until = d.now().store.plus(*wanted.unique_window_ms);
  if (plan.stale != nullptr) change.expected_job = plan.stale->job;
  d.out.unique_keys.push_back(std::move(change));
}

void add_job(Deciding& d, const NewJob& wanted, const Plan& plan, JobChange& change) {
  const Job& job = change.after;
  check_edge(Verb::enqueue, std::nullopt, job.state);
  take_key(d, wanted, plan, job);
  d.out.events.push_back(Event{.verb = Verb::enqueue,
                               .job = job.id,
                               .queue = job.queue,
                               .kind = job.kind,
                               .to = job.state,
                               .at = d.now().wall});
  change.guard.absent = true;
  change.body = wanted.body;
}

Enqueued add_jobs(Deciding& d, const Enqueue& command, const Queue& queue,
                  const std::vector<Plan>& plans) {
  Enqueued answer{.queue = queue.id};
  answer.ids.reserve(plans.size());
  d.out.jobs.reserve(plans.size());
  OptionsPool options;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    const Plan& plan = plans[i];
    if (plan.is_duplicate()) {
      answer.ids.push_back(plan.twin ? answer.ids[*plan.twin] : plan.living);
      answer.duplicates.push_back(static_cast<std::uint32_t>(i));
      continue;
    }
    const NewJob& wanted = command.jobs[i];
    JobChange& change = d.out.jobs.emplace_back();
    make_job(d, wanted, queue, plan.start, d.context.ids.next_job_id(), change.after);
    change.after.options = options.get(wanted.options);
    answer.ids.push_back(change.after.id);
    add_job(d, wanted, plan, change);
  }
  return answer;
}

JobState first_state(const Deciding& d, const Plan& plan) {
  if (!plan.living) return plan.start.state;
  const Job* living = d.view.job(plan.living);
  // Only its window is left: retention has taken the job.
  return living == nullptr ? JobState::completed : living->state;
}

}  // namespace

Decided decide_enqueue(Deciding& d, const Enqueue& command) {
  const Queue* existing = d.view.queue(d.principal.namespace_id, command.queue);
  if (existing == nullptr) WEIR_TRY(check_name("queue", command.queue, kNameBytesMax));
  WEIR_TRY_ASSIGN(std::vector<Plan> plans, check_jobs(d, command));
  std::optional<Queue> made;
  if (existing == nullptr) {
    WEIR_TRY_ASSIGN(made, new_queue(d, command));
  }
  const Queue& queue = existing != nullptr ? *existing : *made;
  for (std::size_t i = 0; i < command.jobs.size(); ++i) {
    Result<void> fits = check_payload_bytes(command.jobs[i].body.payload.size(), queue.settings);
    if (!fits) return failure(at_index(std::move(fits).error(), command, i));
  }
  find_duplicates(d, command, existing, plans);
  WEIR_TRY(check_open(queue));
  WEIR_TRY(check_depth(d, queue, existing != nullptr, plans));

  if (existing == nullptr) {
    made->id = d.context.ids.next_queue_id();
    d.out.queues.push_back({.after = *made});
  }
  Enqueued answer = add_jobs(d, command, queue, plans);
  answer.first_state = first_state(d, plans.front());
  commit_by(d, queue);
  return answer;
}

}  // namespace weir::core
