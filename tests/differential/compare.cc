// SPDX-License-Identifier: Apache-2.0
#include "differential/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace weir::differential {

namespace {

constexpr std::size_t kAll = 1'000'000;

std::string describe(const core::Job& job) {
  return fmt::format(
      "job {} (queue {}, {}, version {}, attempt {}, priority {}, rank {}, due {}, lease {}, ended "
      "{})",
      job.id.value, job.queue.value, core::to_string(job.state), job.version, job.attempt,
      job.priority, job.rank, job.due_at.ms, job.lease ? job.lease->deadline_at.ms : 0,
      job.ended_at.ms);
}

std::vector<core::Job> all_jobs(store::Store& store, store::ScanQuery query) {
  std::vector<core::Job> jobs;
  do {
    const auto page = store.scan_page(query);
    if (!page) return jobs;
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    query.after_id = page->next_after_id;
  } while (query.after_id != 0);
  return jobs;
}

std::string job_difference(const std::vector<core::Job>& model,
                           const std::vector<core::Job>& other) {
  for (std::size_t i = 0; i < std::min(model.size(), other.size()); ++i) {
    if (model[i] == other[i]) continue;
    return fmt::format("model has {}, other has {}", describe(model[i]), describe(other[i]));
  }
  if (model.size() == other.size()) return {};
  const bool is_missing = model.size() > other.size();
  return fmt::format("{} jobs against {}; {} {}", model.size(), other.size(),
                     is_missing ? "missing:" : "too many:",
                     describe(is_missing ? model[other.size()] : other[model.size()]));
}

std::string heads_difference(store::Store& model, store::Store& other) {
  const auto heads_of = [](store::Store& store) {
    std::vector<core::LaneHead> heads;
    store.heads({}, kAll, heads);
    std::sort(heads.begin(), heads.end(),
              [](const auto& a, const auto& b) { return a.key < b.key; });
    return heads;
  };
  const auto a = heads_of(model);
  const auto b = heads_of(other);
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].key == b[i].key && a[i].first == b[i].first &&
        a[i].waiting_since == b[i].waiting_since) {
      continue;
    }
    const auto ids = [](const core::LaneHead& head) {
      std::string text;
      for (const core::LaneOrder& order : head.first) text += fmt::format(" {}", order.id.value);
      return text;
    };
    return fmt::format(
        "lane {} of queue {}, kind \"{}\" since {}: {} against lane of queue {}, kind \"{}\" since "
        "{}: {}",
        i, a[i].key.queue.value, a[i].key.kind, a[i].waiting_since.ms, ids(a[i]),
        b[i].key.queue.value, b[i].key.kind, b[i].waiting_since.ms, ids(b[i]));
  }
  if (a.size() != b.size()) return fmt::format("{} lanes against {}", a.size(), b.size());
  return {};
}

std::string due_difference(store::Store& model, store::Store& other, Now now) {
  const auto due_of = [now](store::Store& store) {
    std::vector<store::Due> due;
    store.due(now, kAll, due);
    std::vector<std::tuple<int, std::uint64_t, std::uint32_t, std::string, std::uint64_t>> out;
    for (const store::Due& one : due) {
      out.emplace_back(static_cast<int>(one.kind), one.job.value, one.queue.value, one.key,
                       one.scope.low);
    }
    std::sort(out.begin(), out.end());
    return out;
  };
  const auto a = due_of(model);
  const auto b = due_of(other);
  if (a != b) {
    const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto text = [&model](auto at, auto end) {
      if (at == end) return std::string("nothing");
      const auto job = model.read_job({std::get<1>(*at)});
      return fmt::format("kind {} job {} queue {} key \"{}\" ({})", std::get<0>(*at),
                         std::get<1>(*at), std::get<2>(*at), std::get<3>(*at),
                         job ? describe(*job) : "no job");
    };
    return fmt::format("due at store {}: {} against {}; first {} against {}", now.store.ms,
                       a.size(), b.size(), text(x, a.end()), text(y, b.end()));
  }
  Now next_a, next_b;
  model.next_due(next_a.wall, next_a.store);
  other.next_due(next_b.wall, next_b.store);
  if (next_a == next_b) return {};
  return fmt::format("next due at wall {} store {} against wall {} store {} (now {} {})",
                     next_a.wall.ms, next_a.store.ms, next_b.wall.ms, next_b.store.ms, now.wall.ms,
                     now.store.ms);
}

std::string queue_difference(store::Store& model, store::Store& other) {
  const auto a = model.read_queues();
  const auto b = other.read_queues();
  if (!a || !b || *a != *b) return "queues differ";
  for (const core::Queue& queue : *a) {
    const auto x = model.queue_stats(queue.id);
    const auto y = other.queue_stats(queue.id);
    if (!x || !y) return fmt::format("no stats of queue {}", queue.id.value);
    for (const core::JobState state : core::kJobStates) {
      if (x->counts.of(state) == y->counts.of(state)) continue;
      return fmt::format("queue {} has {} {} jobs against {}", queue.id.value, x->counts.of(state),
                         core::to_string(state), y->counts.of(state));
    }
    if (x->urgent != y->urgent) {
      return fmt::format("queue {}: {} urgent jobs, other {}", queue.name, x->urgent, y->urgent);
    }
    if (x->oldest_pending_since != y->oldest_pending_since) {
      return fmt::format("queue {} waits since {} against {}", queue.id.value,
                         x->oldest_pending_since.ms, y->oldest_pending_since.ms);
    }
  }
  return {};
}

}  // namespace

std::string difference(store::Store& model, store::Store& other, Now now) {
  std::string found = job_difference(all_jobs(model, {}), all_jobs(other, {}));
  if (found.empty()) found = queue_difference(model, other);
  if (found.empty()) found = heads_difference(model, other);
  if (found.empty()) found = due_difference(model, other, now);
  if (found.empty() && *model.read_tokens() != *other.read_tokens()) found = "tokens differ";
  if (found.empty() && *model.read_audit(kAll) != *other.read_audit(kAll)) found = "audit differs";
  return found;
}

std::string page_difference(store::Store& model, store::Store& other, Prng& prng) {
  store::ScanQuery query;
  if (prng.one_in(2)) query.queue = core::QueueId{static_cast<std::uint32_t>(1 + prng.up_to(6))};
  if (prng.one_in(2)) query.states = static_cast<std::uint32_t>(prng.up_to(1023));
  if (prng.one_in(4)) query.kind = prng.one_in(3) ? "" : "kind-" + std::to_string(prng.up_to(2));
  if (prng.one_in(4)) query.tag = "tag-" + std::to_string(prng.up_to(3));
  if (prng.one_in(4)) query.group = "group-" + std::to_string(prng.up_to(3));
  if (prng.one_in(6)) query.unique_key = "unique-" + std::to_string(prng.up_to(11));
  query.newest_first = prng.one_in(2);
  query.limit = 1 + prng.up_to(30);
  query.after_id = prng.one_in(3) ? prng.up_to(500) : 0;
  const std::string found = job_difference(all_jobs(model, query), all_jobs(other, query));
  return found.empty() ? found : "in pages: " + found;
}

std::string text_difference(store::Store& model, store::Store& other, core::JobId id) {
  const auto same = [](const auto& a, const auto& b) {
    if (a && b) return *a == *b;
    return !a && !b && a.error().code == b.error().code;
  };
  if (!same(model.read_job(id), other.read_job(id))) return fmt::format("job {}", id.value);
  if (!same(model.read_body(id), other.read_body(id))) return fmt::format("body of {}", id.value);
  if (!same(model.read_history(id), other.read_history(id))) {
    return fmt::format("history of {}", id.value);
  }
  if (!same(model.read_result(id), other.read_result(id))) {
    return fmt::format("result of {}", id.value);
  }
  return {};
}

}  // namespace weir::differential
