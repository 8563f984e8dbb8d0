// SPDX-License-Identifier: Apache-2.0
// What time drives: timers of jobs and keys, and the retention of ended jobs.
#include <algorithm>
#include <limits>

#include "store/due_rule.h"
#include "store/journal/index.h"

namespace weir::store::journal {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct Index::LateDue {
  std::int64_t late_ms = 0;
  std::int64_t at = 0;
  Due due;
};

std::int64_t Index::deadline_of(const HotJob& job) const {
  return job.has_lease ? leases_[job.side].deadline_at : 0;
}

// The same rule as has_running_ttl(), on the packed form.
std::int64_t Index::ttl_of(const HotJob& job) const {
  const core::JobState state = job.job_state();
  if (state != core::JobState::pending && state != core::JobState::scheduled &&
      state != core::JobState::blocked) {
    return 0;
  }
  const Extra* extra = extra_of(job);
  if (extra == nullptr || extra->expires_at == kNever || job.attempt != extra->budget_start)
    return 0;
  return extra->expires_at;
}

bool Index::is_true_timer(Due::Kind kind, bool wall, const JobTimer::Entry& entry) const {
  const auto slot = static_cast<std::uint32_t>(entry.key >> 32);
  const HotJob& job = hot_[slot];
  if (static_cast<std::uint32_t>(job.id) != static_cast<std::uint32_t>(entry.key)) return false;
  switch (kind) {
    case Due::Kind::run_at:
      if (job.job_state() != core::JobState::scheduled) return false;
      return wall ? job.due_at == 0 && job.run_at == entry.at : job.due_at == entry.at;
    case Due::Kind::retry:
      return job.job_state() == core::JobState::failed && job.due_at == entry.at;
    case Due::Kind::lease:
      return job.job_state() == core::JobState::processing && deadline_of(job) == entry.at;
    case Due::Kind::ttl:
      return ttl_of(job) == entry.at;
    case Due::Kind::retention:
    case Due::Kind::unique_key:
    case Due::Kind::idempotency:
      return false;
  }
  return false;
}

void Index::start_timers(std::uint32_t slot) {
  const HotJob& job = hot_[slot];
  const std::uint64_t key = timer_key(job, slot);
  const auto put = [&](JobTimer& timer, std::int64_t at, Due::Kind kind, bool wall,
                       std::size_t true_count) {
    if (at == kNever) return;
    timer.put(at, key);
    timer.compact(true_count, [&](const auto& entry) { return is_true_timer(kind, wall, entry); });
  };
  const std::size_t in_state = state_counts_[job.state];
  switch (job.job_state()) {
    case core::JobState::scheduled:
      if (job.due_at != 0) {
        put(run_at_store_, job.due_at, Due::Kind::run_at, false, in_state);
      } else {
        put(run_at_wall_, job.run_at, Due::Kind::run_at, true, in_state);
      }
      break;
    case core::JobState::failed:
      put(retry_, job.due_at, Due::Kind::retry, false, in_state);
      break;
    case core::JobState::processing:
      if (job.has_lease) put(lease_, deadline_of(job), Due::Kind::lease, false, in_state);
      break;
    case core::JobState::pending:
    case core::JobState::blocked:
    case core::JobState::completed:
    case core::JobState::dead:
    case core::JobState::cancelled:
    case core::JobState::expired:
      break;
  }
  const std::int64_t ttl = ttl_of(job);
  if (ttl != 0) put(ttl_, ttl, Due::Kind::ttl, false, ttl_count_);
}

// ---- retention ----

Index::RetentionList Index::list_of(core::JobState state) {
  if (state == core::JobState::completed) return completed_list;
  return state == core::JobState::dead ? dead_list : other_list;
}

std::int64_t Index::retention_ms(const QueueState& state, RetentionList list) {
  return store::retention_ms(list == dead_list ? core::JobState::dead : core::JobState::completed,
                             state.queue.settings);
}

bool Index::is_true_ended(const EndedRef& ref, RetentionList list) const {
  const std::uint32_t slot = find(ref.id);
  if (slot == 0) return false;
  if ((slot & kEndedBit) != 0) {
    const EndedJob& job = ended_[slot & ~kEndedBit];
    return job.ended_at == ref.ended_at && list_of(static_cast<core::JobState>(job.state)) == list;
  }
  const HotJob& job = hot_[slot];
  if (!core::is_ended(job.job_state()) || list_of(job.job_state()) != list) return false;
  const Extra* extra = extra_of(job);
  return extra != nullptr && extra->ended_at == ref.ended_at;
}

// The job was just packed as ended.
void Index::add_ended(std::uint32_t slot) {
  const HotJob& job = hot_[slot];
  const EndedRef ref{job.id, extra_of(job)->ended_at};
  const RetentionList list = list_of(job.job_state());
  if (!is_loading_) {
    QueueState& state = queue_state(job.queue);
    std::deque<EndedRef>& refs = state.ended[list];
    // Mostly at the end; jobs that ended in the same millisecond stand in order of id.
    auto at = refs.end();
    while (at != refs.begin() && ref < *(at - 1)) --at;
    refs.insert(at, ref);
    const std::uint64_t true_count =
        list == other_list
            ? state.counts.of(core::JobState::cancelled) + state.counts.of(core::JobState::expired)
            : state.counts.of(job.job_state());
    if (refs.size() > 2 * true_count + 256) {
      std::erase_if(refs, [&](const EndedRef& each) { return !is_true_ended(each, list); });
    }
    refresh_retention(state);
  }
  recently_ended_.push_back(ref);
  shrink_oldest();
}

std::uint64_t Index::completed_max(const QueueState& state) const {
  return is_full_ ? 0 : state.queue.settings.completed_max;
}

void Index::set_full(bool is_full) {
  if (is_full == is_full_) return;
  is_full_ = is_full;
  for (auto& [id, state] : queues_) refresh_retention(*state);
}

void Index::refresh_retention(QueueState& state) {
  std::int64_t next = 0;
  for (const RetentionList list : {completed_list, dead_list, other_list}) {
    std::deque<EndedRef>& refs = state.ended[list];
    while (!refs.empty() && !is_true_ended(refs.front(), list)) refs.pop_front();
    if (refs.empty()) continue;
    const bool is_over =
        list == completed_list && state.counts.of(core::JobState::completed) > completed_max(state);
    const std::int64_t at = is_over
                                ? refs.front().ended_at
                                : saturating_add(refs.front().ended_at, retention_ms(state, list));
    if (next == 0 || at < next) next = at;
  }
  if (next == state.retention_at) return;
  state.retention_at = next;
  if (next == 0) return;
  retention_.put(next, state.queue.id.value);
  retention_.compact(queues_.size(),
                     [this](const auto& entry) { return is_true_retention(entry); });
}

bool Index::is_true_retention(const TimerHeap<std::uint32_t>::Entry& entry) const {
  const auto at = queues_.find(entry.key);
  return at != queues_.end() && at->second->retention_at == entry.at;
}

void Index::retention_due(QueueState& state, Now now, std::size_t limit,
                          std::vector<LateDue>& out) {
  for (const RetentionList list : {completed_list, dead_list, other_list}) {
    std::uint64_t over = 0;
    if (list == completed_list) {
      const std::uint64_t count = state.counts.of(core::JobState::completed);
      over = count - std::min(count, completed_max(state));
    }
    std::size_t left = limit;
    const std::int64_t kept_ms = retention_ms(state, list);
    for (const EndedRef& ref : state.ended[list]) {
      if (left == 0) break;
      const std::int64_t at = over > 0 ? ref.ended_at : saturating_add(ref.ended_at, kept_ms);
      if (at > now.store.ms) break;
      if (!is_true_ended(ref, list)) continue;
      if (over > 0) --over;
      --left;
      LateDue& late = out.emplace_back();
      late.late_ms = saturating_add(now.store.ms, -at);
      late.at = at;
      late.due.kind = Due::Kind::retention;
      late.due.job = core::JobId{ref.id};
    }
  }
}

// ---- what is due ----

void Index::due(Now now, std::size_t limit, std::vector<Due>& out) {
  std::vector<LateDue> found;
  const auto collect = [&](auto& timer, std::int64_t until, const auto& is_true, const auto& fill) {
    std::size_t left = limit;
    std::int64_t last_at = 0;
    auto last_key = decltype(timer.top(is_true)->key){};
    timer.peek(until, is_true, [&](const auto& entry) {
      if (left == 0) return false;
      if (last_at == entry.at && last_key == entry.key) return true;  // put twice
      last_at = entry.at;
      last_key = entry.key;
      LateDue& late = found.emplace_back();
      late.late_ms = saturating_add(until, -entry.at);
      late.at = entry.at;
      fill(entry, late.due);
      return --left > 0;
    });
  };
  const auto collect_jobs = [&](JobTimer& timer, Due::Kind kind, bool wall) {
    collect(
        timer, wall ? now.wall.ms : now.store.ms,
        [&](const JobTimer::Entry& entry) { return is_true_timer(kind, wall, entry); },
        [&](const JobTimer::Entry& entry, Due& due) {
          due.kind = kind;
          due.job = core::JobId{hot_[static_cast<std::uint32_t>(entry.key >> 32)].id};
        });
  };
  if (limit == 0) {
    out.clear();
    return;
  }
  collect_jobs(run_at_wall_, Due::Kind::run_at, true);
  collect_jobs(run_at_store_, Due::Kind::run_at, false);
  collect_jobs(retry_, Due::Kind::retry, false);
  collect_jobs(lease_, Due::Kind::lease, false);
  collect_jobs(ttl_, Due::Kind::ttl, false);
  collect(
      unique_until_, now.store.ms, [this](const auto& entry) { return is_true_unique(entry); },
      [this](const auto& entry, Due& due) {
        due.kind = Due::Kind::unique_key;
        due.queue = core::QueueId{static_cast<std::uint32_t>(entry.key >> 32)};
        due.key = strings_.text(static_cast<std::uint32_t>(entry.key));
      });
  collect(
      idempotency_until_, now.store.ms,
      [this](const auto& entry) {
        const core::IdempotencyEntry* answer = idempotency(entry.key);
        return answer != nullptr && answer->expires_at.ms == entry.at;
      },
      [](const auto& entry, Due& due) {
        due.kind = Due::Kind::idempotency;
        due.scope = entry.key;
      });
  std::vector<std::uint32_t> queues;
  retention_.peek(
      now.store.ms, [this](const auto& entry) { return is_true_retention(entry); },
      [&](const auto& entry) {
        if (queues.empty() || queues.back() != entry.key) queues.push_back(entry.key);
        return queues.size() < limit;
      });
  for (const std::uint32_t queue : queues) retention_due(*queues_.at(queue), now, limit, found);
  std::sort(found.begin(), found.end(), [](const LateDue& a, const LateDue& b) {
    if (a.late_ms != b.late_ms) return a.late_ms > b.late_ms;
    return std::tie(a.at, a.due.kind, a.due.job, a.due.queue, a.due.key, a.due.scope) <
           std::tie(b.at, b.due.kind, b.due.job, b.due.queue, b.due.key, b.due.scope);
  });
  if (found.size() > limit) found.resize(limit);
  out.clear();
  for (LateDue& late : found) out.push_back(std::move(late.due));
}

void Index::next_due(WallTime& wall, StoreTime& store) {
  wall = WallTime::never();
  store = StoreTime::never();
  const auto look = [&](JobTimer& timer, Due::Kind kind, bool is_wall) {
    const auto* top = timer.top(
        [&](const JobTimer::Entry& entry) { return is_true_timer(kind, is_wall, entry); });
    if (top == nullptr) return;
    if (is_wall) {
      wall = std::min(wall, WallTime{top->at});
    } else {
      store = std::min(store, StoreTime{top->at});
    }
  };
  look(run_at_wall_, Due::Kind::run_at, true);
  look(run_at_store_, Due::Kind::run_at, false);
  look(retry_, Due::Kind::retry, false);
  look(lease_, Due::Kind::lease, false);
  look(ttl_, Due::Kind::ttl, false);
  if (const auto* top =
          unique_until_.top([this](const auto& entry) { return is_true_unique(entry); })) {
    store = std::min(store, StoreTime{top->at});
  }
  const auto* answer = idempotency_until_.top([this](const auto& entry) {
    const core::IdempotencyEntry* found = idempotency(entry.key);
    return found != nullptr && found->expires_at.ms == entry.at;
  });
  if (answer != nullptr) store = std::min(store, StoreTime{answer->at});
  if (const auto* top =
          retention_.top([this](const auto& entry) { return is_true_retention(entry); })) {
    store = std::min(store, StoreTime{top->at});
  }
}

}  // namespace weir::store::journal
