// SPDX-License-Identifier: Apache-2.0
#include "doors/beanstalk/stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/beanstalk/map.h"
#include "doors/beanstalk/parser.h"

namespace weir::doors::beanstalk {
namespace {

constexpr std::string_view kVersion = "1.12+weir." WEIR_VERSION;

// One document.
class Yaml {
 public:
  template <typename T>
  Yaml& put(std::string_view key, const T& value) {
    fmt::format_to(std::back_inserter(text_), "{}: {}\n", key, value);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_ = "---\n";
};

// Jobs in beanstalkd's states.
struct StateCounts {
  std::uint64_t urgent = 0, ready = 0, reserved = 0, delayed = 0, buried = 0;

  void add(const store::QueueStats& stats) {
    urgent += stats.urgent;
    ready += stats.counts.of(core::JobState::pending);
    reserved += stats.counts.of(core::JobState::processing);
    delayed += stats.counts.of(core::JobState::scheduled) +
               stats.counts.of(core::JobState::failed) + stats.counts.of(core::JobState::blocked);
    buried += stats.counts.of(core::JobState::dead);
  }
  bool is_empty() const { return ready + reserved + delayed + buried == 0; }
  void put(Yaml& out) const {
    out.put("current-jobs-urgent", urgent).put("current-jobs-ready", ready);
    out.put("current-jobs-reserved", reserved).put("current-jobs-delayed", delayed);
    out.put("current-jobs-buried", buried);
  }
};

StateCounts counts_of(const store::QueueStats& stats) {
  StateCounts counts;
  counts.add(stats);
  return counts;
}

std::int64_t seconds(std::int64_t ms) { return std::max<std::int64_t>(0, ms) / kMsPerSecond; }

std::string_view state_word(core::JobState state) {
  switch (state) {
    case core::JobState::pending:
      return "ready";
    case core::JobState::processing:
      return "reserved";
    case core::JobState::dead:
      return "buried";
    case core::JobState::scheduled:
    case core::JobState::failed:
    case core::JobState::blocked:
      return "delayed";
    case core::JobState::completed:
    case core::JobState::cancelled:
    case core::JobState::expired:
      return "invalid";
  }
  return "invalid";
}

// The delay of the last put or release, as far as the job still tells.
std::int64_t delay_ms(const BeanstalkDoor::Impl& door, const core::Job& job) {
  WallTime since = job.created_at;
  if (job.counters.kicks > 0) return 0;
  if (job.counters.releases > 0) {
    const auto history = door.engine.job_history(job.id);
    if (!history) return 0;
    const auto released =
        std::find_if(history->rbegin(), history->rend(), [](const core::AttemptRecord& attempt) {
          return attempt.outcome == core::AttemptOutcome::released;
        });
    if (released != history->rend()) since = released->ended_at;
  }
  return job.run_at.since(since);
}

void put_verb_counts(const BeanstalkDoor::Impl& door, Yaml& out) {
  // In beanstalkd's order; reserve-job and kick-job have no count there.
  constexpr Verb kCounted[] = {Verb::put,
                               Verb::peek,
                               Verb::peek_ready,
                               Verb::peek_delayed,
                               Verb::peek_buried,
                               Verb::reserve,
                               Verb::reserve_with_timeout,
                               Verb::delete_job,
                               Verb::release,
                               Verb::use,
                               Verb::watch,
                               Verb::ignore,
                               Verb::bury,
                               Verb::kick,
                               Verb::touch,
                               Verb::stats,
                               Verb::stats_job,
                               Verb::stats_tube,
                               Verb::list_tubes,
                               Verb::list_tube_used,
                               Verb::list_tubes_watched,
                               Verb::pause_tube};
  for (const Verb verb : kCounted) {
    std::string_view name = info(verb).name;
    if (name.ends_with(' ')) name.remove_suffix(1);
    out.put(fmt::format("cmd-{}", name), door.verb_counts[static_cast<std::size_t>(verb)]);
  }
}

void put_process(const ProcessFacts& facts, Yaml& out) {
  const auto time = [](std::int64_t us) {
    return fmt::format("{}.{:06}", us / 1'000'000, us % 1'000'000);
  };
  out.put("rusage-utime", time(facts.user_us)).put("rusage-stime", time(facts.system_us));
}

}  // namespace

std::vector<std::string> tube_names(const BeanstalkDoor::Impl& door) {
  std::vector<std::string> names;
  for (const auto& [name, tube] : door.tubes.all()) names.push_back(name);
  if (const auto queues = door.engine.queues()) {
    for (const engine::QueueView& view : *queues) {
      if (counts_of(view.stats).is_empty() || !is_tube_name(view.queue.name)) continue;
      names.push_back(view.queue.name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::erase(names, kDefaultTube);
  names.insert(names.begin(), std::string(kDefaultTube));
  return names;
}

bool has_tube(const BeanstalkDoor::Impl& door, std::string_view name) {
  if (name == kDefaultTube || door.tubes.find(name) != nullptr) return true;
  const auto view = door.engine.queue(name);
  return view && !counts_of(view->stats).is_empty();
}

Result<engine::JobView> find_job(const BeanstalkDoor::Impl& door, std::uint64_t id) {
  WEIR_TRY_ASSIGN(engine::JobView view, door.engine.job(core::JobId{id}));
  const core::Queue* queue = door.engine.find_queue(view.queue_name);
  const bool is_shown = !core::is_ended(view.job.state) || view.job.state == core::JobState::dead;
  if (queue == nullptr || queue->id != view.job.queue || !is_shown) {
    return failure(ErrorCode::not_found, "not a job of this door");
  }
  return view;
}

std::string server_stats(const BeanstalkDoor::Impl& door) {
  StateCounts counts;
  if (const auto queues = door.engine.queues()) {
    for (const engine::QueueView& view : *queues) counts.add(view.stats);
  }
  const engine::Engine::Totals totals = door.engine.totals();
  const ProcessFacts facts = door.options.facts ? door.options.facts() : ProcessFacts{};
  Yaml out;
  counts.put(out);
  put_verb_counts(door, out);
  out.put("job-timeouts", totals.expired_leases).put("total-jobs", totals.enqueued);
  out.put("max-job-size", door.options.job_bytes_max).put("current-tubes", tube_names(door).size());
  out.put("current-connections", door.connections).put("current-producers", door.producers);
  out.put("current-workers", door.workers).put("current-waiting", door.waiting);
  out.put("total-connections", door.last_connection).put("pid", facts.pid);
  out.put("version", fmt::format("\"{}\"", kVersion));
  put_process(facts, out);
  out.put("uptime", seconds(door.clock.boot_ms() - door.started_ms));
  // There is no binlog; the journal has metrics of its own.
  out.put("binlog-oldest-index", 0).put("binlog-current-index", 0);
  out.put("binlog-records-migrated", 0).put("binlog-records-written", 0).put("binlog-max-size", 0);
  out.put("draining", door.is_draining || door.engine.is_draining());
  out.put("id", fmt::format("{:016x}", door.options.instance));
  out.put("hostname", facts.hostname).put("os", facts.os).put("platform", facts.platform);
  return out.take();
}

std::string tube_stats(const BeanstalkDoor::Impl& door, std::string_view name) {
  StateCounts counts;
  engine::QueueTally tally;
  if (const auto view = door.engine.queue(name)) {
    counts.add(view->stats);
    tally = view->tally;
  }
  const Tube* tube = door.tubes.find(name);
  const engine::QueuePause pause = door.engine.pause_of(name);
  Yaml out;
  out.put("name", name);
  counts.put(out);
  out.put("total-jobs", tally.enqueued);
  out.put("current-using", tube == nullptr ? 0 : tube->using_count);
  out.put("current-watching", tube == nullptr ? 0 : tube->watching_count);
  out.put("current-waiting", tube == nullptr ? 0 : tube->waiting_count);
  out.put("cmd-delete", tally.deleted).put("cmd-pause-tube", tally.pauses);
  out.put("pause", seconds(pause.duration_ms)).put("pause-time-left", seconds(pause.left_ms));
  return out.take();
}

std::string job_stats(const BeanstalkDoor::Impl& door, const engine::JobView& view) {
  const core::Job& job = view.job;
  const core::Queue* queue = door.engine.find_queue(view.queue_name);
  const WallTime now = door.clock.wall_now();
  std::int64_t left_ms = 0;
  if (job.state == core::JobState::processing) left_ms = view.lease_expires_at.since(now);
  if (job.state == core::JobState::scheduled) left_ms = job.run_at.since(now);
  if (job.state == core::JobState::failed) left_ms = view.retry_after.since(now);
  const std::int64_t lease_ms = queue == nullptr ? 0 : core::effective_lease_ms(job, *queue);
  Yaml out;
  out.put("id", job.id.value).put("tube", view.queue_name).put("state", state_word(job.state));
  out.put("pri", wire_priority(job)).put("age", seconds(now.since(job.created_at)));
  out.put("delay", seconds(delay_ms(door, job))).put("ttr", seconds(lease_ms));
  out.put("time-left", seconds(left_ms)).put("file", 0).put("reserves", job.attempt);
  out.put("timeouts", job.counters.timeouts).put("releases", job.counters.releases);
  out.put("buries", job.counters.buries).put("kicks", job.counters.kicks);
  return out.take();
}

}  // namespace weir::doors::beanstalk
