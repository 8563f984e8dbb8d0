// SPDX-License-Identifier: Apache-2.0
#include "engine/metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace weir::engine {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

MetricFamily family(std::string name, std::string help, MetricType type) {
  return MetricFamily{std::move(name), std::move(help), type, {}};
}

void add_value(MetricFamily& to, Labels labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (to.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  to.metric.push_back(std::move(metric));
}

void add_histogram(MetricFamily& to, Labels labels, const Histogram& from) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram.sample_count = from.count;
  metric.histogram.sample_sum = from.sum_seconds;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < from.counts.size(); ++i) {
    total += from.counts[i];
    const double bound = i < Histogram::kBoundsSeconds.size()
                             ? Histogram::kBoundsSeconds[i]
                             : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({total, bound});
  }
  to.metric.push_back(std::move(metric));
}

constexpr std::size_t kWholeQueuesMax = 100;

Labels queue_labels(const core::Queue& queue) {
  Labels labels{{"queue", queue.name}};
  if (queue.namespace_id != 0) labels.push_back({"namespace", std::to_string(queue.namespace_id)});
  return labels;
}

template <typename Number>
MetricFamily single(std::string name, std::string help, MetricType type, Number value) {
  MetricFamily one = family(std::move(name), std::move(help), type);
  add_value(one, {}, static_cast<double>(value));
  return one;
}

// Gathers from the state at each Collect(). One thread.
class StateCollector final : public prometheus::Collectable {
 public:
  StateCollector(State& state, const MetricGauges& gauges) : state_(state), gauges_(gauges) {}

  std::vector<MetricFamily> Collect() const override {
    std::vector<MetricFamily> all;
    add_queues(all);
    add_counts(all);
    add_times(all);
    add_engine(all);
    add_store(all);
    return all;
  }

 private:
  static MetricFamily counter(std::string name, std::string help, std::uint64_t value) {
    return single(std::move(name), std::move(help), MetricType::Counter, value);
  }
  template <typename Number>
  static MetricFamily gauge(std::string name, std::string help, Number value) {
    return single(std::move(name), std::move(help), MetricType::Gauge, value);
  }

  void add_queues(std::vector<MetricFamily>& all) const;
  void add_counts(std::vector<MetricFamily>& all) const;
  void add_times(std::vector<MetricFamily>& all) const;
  void add_engine(std::vector<MetricFamily>& all) const;
  void add_store(std::vector<MetricFamily>& all) const;

  State& state_;
  const MetricGauges& gauges_;
};

void StateCollector::add_queues(std::vector<MetricFamily>& all) const {
  MetricFamily jobs = family("weir_jobs", "Jobs by queue and state.", MetricType::Gauge);
  MetricFamily oldest = family("weir_queue_oldest_pending_seconds",
                               "Age of the oldest pending job of a queue.", MetricType::Gauge);
  MetricFamily paused =
      family("weir_queue_paused", "1 while a queue gives no jobs.", MetricType::Gauge);
  const WallTime now = state_.time.now().wall;
  // With many queues the states that hold nothing are left out: most series would be zeros.
  const bool is_short = state_.registry.queues().size() > kWholeQueuesMax;
  std::size_t named = 0;
  for (const auto& [id, queue] : state_.registry.queues()) {
    if (named == kMetricQueuesMax) break;
    ++named;
    const Result<store::QueueStats> stats = state_.store.queue_stats(id);
    if (!stats) continue;
    for (const core::JobState s : core::kJobStates) {
      const std::uint64_t count = stats->counts.of(s);
      if (count == 0 && is_short) continue;
      Labels labels = queue_labels(queue);
      labels.push_back({"state", std::string(core::to_string(s))});
      add_value(jobs, std::move(labels), static_cast<double>(count));
    }
    const std::int64_t age_ms =
        stats->oldest_pending_since.is_set()
            ? std::max<std::int64_t>(0, now.since(stats->oldest_pending_since))
            : 0;
    add_value(oldest, queue_labels(queue), static_cast<double>(age_ms) / 1000.0);
    add_value(paused, queue_labels(queue), queue.paused ? 1 : 0);
  }
  all.push_back(std::move(jobs));
  all.push_back(std::move(oldest));
  all.push_back(std::move(paused));
  all.push_back(gauge("weir_queues", "Queues.", state_.registry.queues().size()));
  all.push_back(gauge("weir_queues_left_out",
                      "Queues that these metrics do not name, since there are too many.",
                      state_.registry.queues().size() - named));
}

void StateCollector::add_counts(std::vector<MetricFamily>& all) const {
  const Counters& c = state_.counters;
  all.push_back(counter("weir_enqueued_total", "Jobs accepted since the start.", c.enqueued));
  all.push_back(counter("weir_claimed_total", "Leases granted since the start.", c.claimed));
  all.push_back(counter("weir_completed_total", "Jobs completed since the start.", c.completed));
  all.push_back(counter("weir_failed_total",
                        "Attempts that failed and are retried, since the start.", c.failed));
  all.push_back(counter("weir_dead_total", "Jobs that went to the dead since the start.", c.dead));
  all.push_back(counter("weir_retried_total",
                        "Failed jobs that became pending again since the start.", c.retried));
  all.push_back(counter("weir_expired_leases_total", "Leases that ran out since the start.",
                        c.expired_leases));
  MetricFamily refused =
      family("weir_refused_total", "Commands refused, by error code.", MetricType::Counter);
  for (int code = 0; code < kErrorCodeCount; ++code) {
    add_value(refused, {{"code", std::string(to_string(static_cast<ErrorCode>(code)))}},
              static_cast<double>(c.refused[static_cast<std::size_t>(code)]));
  }
  all.push_back(std::move(refused));
}

void StateCollector::add_times(std::vector<MetricFamily>& all) const {
  const Counters& c = state_.counters;
  MetricFamily met = family("weir_start_sla_met_total",
                            "Jobs started within the SLA of their class.", MetricType::Counter);
  MetricFamily missed = family("weir_start_sla_missed_total",
                               "Jobs started after the SLA of their class.", MetricType::Counter);
  MetricFamily wait =
      family("weir_wait_seconds", "Time from due to start, by class.", MetricType::Histogram);
  for (std::size_t i = 0; i < c.wait.size(); ++i) {
    const std::string name(core::to_string(static_cast<core::PriorityClass>(i)));
    add_value(met, {{"class", name}}, static_cast<double>(c.sla_met[i]));
    add_value(missed, {{"class", name}}, static_cast<double>(c.sla_missed[i]));
    add_histogram(wait, {{"class", name}}, c.wait[i]);
  }
  MetricFamily run = family("weir_run_seconds", "Time from start to end of an attempt, by kind.",
                            MetricType::Histogram);
  for (const auto& [kind, histogram] : c.run_by_kind)
    add_histogram(run, {{"kind", kind}}, histogram);
  all.push_back(std::move(met));
  all.push_back(std::move(missed));
  all.push_back(std::move(wait));
  all.push_back(std::move(run));
}

void StateCollector::add_engine(std::vector<MetricFamily>& all) const {
  const store::Identity& identity = state_.store.identity();
  all.push_back(gauge("weir_leases", "Jobs that are leased now.", state_.leases));
  all.push_back(gauge("weir_mailbox_commands", "Commands that wait for a turn.", gauges_.mailbox));
  all.push_back(gauge("weir_demands_waiting", "Consumers that wait for jobs.", gauges_.demands));
  all.push_back(
      gauge("weir_draining", "1 while the server is stopping.", gauges_.is_draining ? 1 : 0));
  all.push_back(
      counter("weir_turns_total", "Turns of the engine since the start.", state_.counters.turns));
  all.push_back(counter("weir_turn_commands_total", "Commands decided since the start.",
                        state_.counters.turn_commands));
  all.push_back(gauge("weir_uptime_seconds", "Time since the start.",
                      static_cast<double>(gauges_.uptime_ms) / 1000.0));
  all.push_back(
      gauge("weir_epoch", "Number of the start; part of every fencing number.", identity.epoch));
  MetricFamily build =
      family("weir_build_info", "Version and store of this server.", MetricType::Gauge);
  add_value(build, {{"version", WEIR_VERSION}, {"store", identity.name}}, 1);
  all.push_back(std::move(build));
}

void StateCollector::add_store(std::vector<MetricFamily>& all) const {
  const store::StoreStats s = state_.store.stats();
  all.push_back(counter("weir_commits_total", "Commits since the start.", s.commits));
  all.push_back(counter("weir_syncs_total", "Syncs to the disk since the start.", s.syncs));
  all.push_back(
      counter("weir_written_bytes_total", "Bytes written since the start.", s.bytes_written));
  all.push_back(gauge("weir_last_sync_seconds", "Duration of the last sync.",
                      static_cast<double>(s.last_sync_us) / 1e6));
  all.push_back(gauge("weir_disk_bytes", "Bytes on disk.", s.disk_bytes));
  all.push_back(gauge("weir_live_bytes", "Bytes on disk that are still needed.", s.live_bytes));
  all.push_back(gauge("weir_index_bytes", "Memory of the index and caches.", s.memory_bytes));
  all.push_back(counter("weir_cleaned_segments_total", "Segments cleaned since the start.",
                        s.cleaned_segments));
  all.push_back(counter("weir_snapshots_total", "Index snapshots since the start.", s.snapshots));
  all.push_back(gauge("weir_store_full", "1 while the store refuses new jobs for want of room.",
                      s.is_full ? 1 : 0));
}

}  // namespace

std::string metrics_text(State& state, const MetricGauges& gauges) {
  return prometheus::TextSerializer().Serialize(StateCollector(state, gauges).Collect());
}

}  // namespace weir::engine
