// SPDX-License-Identifier: Apache-2.0
// World: the smallest store that the rules can be played against, for tests of core only. It loads
// what reads() names and what a store's prefetch must follow, compares the guards as a store would,
// applies, and then checks what must hold after every command: a lease exactly while processing,
// versions, attempts and counters only grow, edges legal, keys and group locks held by living jobs
// only, counts equal to a recount.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/decide.h"

namespace weir::core {

class TestIds final : public IdSource {
 public:
  JobId next_job_id() override { return JobId{++jobs}; }
  QueueId next_queue_id() override { return QueueId{++queues}; }
  std::uint64_t jobs = 0;
  std::uint32_t queues = 0;
};

class World {
 public:
  explicit World(std::uint64_t seed = 1) : prng(seed) {
    now = {.wall = WallTime{1'800'000'000'000}, .store = StoreTime{5'000'000}};
  }

  // --- playing ---

  ChangeSet run(Command command, std::optional<IdempotencyRef> key = {}) {
    return run(Request{.command = std::move(command), .principal = principal, .idempotency = key});
  }
  ChangeSet run(const Request& request) {
    view.clear();
    laid_over_.clear();
    return run_in_turn(request);
  }
  // Decides over the view as it is, as a later command of the same turn.
  ChangeSet run_in_turn(const Request& request) {
    load(request);
    Context context{.now = now,
                    .prng = prng,
                    .ids = ids,
                    .policy = policy,
                    .lease_secret = secret,
                    .epoch = epoch,
                    .judged_at = judged_at};
    ChangeSet change_set = decide(view, request, context);
    check_guards(change_set);
    apply(change_set);
    check_counts_of_view(change_set);
    view.apply(laid_over_.emplace_back(change_set));
    check_invariants();
    return change_set;
  }

  template <typename T>
  T outcome(Command command) {
    const ChangeSet change_set = run(std::move(command));
    const T* found = std::get_if<T>(&change_set.answer.outcome);
    if (found == nullptr) {
      const Error* error = std::get_if<Error>(&change_set.answer.outcome);
      ADD_FAILURE() << "other outcome " << change_set.answer.outcome.index() << " "
                    << (error != nullptr ? error->detail : "");
      return T{};
    }
    return *found;
  }
  Error refusal(Command command) { return outcome<Error>(std::move(command)); }

  JobId enqueue(NewJob job = {}, std::string queue = "q") {
    Enqueue command{.queue = std::move(queue)};
    command.jobs.push_back(std::move(job));
    const Enqueued answer = outcome<Enqueued>(std::move(command));
    return answer.ids.empty() ? JobId{} : answer.ids.front();
  }
  Claimed claim(JobId id) { return outcome<Claimed>(Claim{.job = id, .worker_id = "w1"}); }
  const Job& job(JobId id) const {
    static const Job none;
    const auto found = jobs.find(id);
    return found == jobs.end() ? none : found->second;
  }
  bool has(JobId id) const { return jobs.contains(id); }
  Queue& queue(const std::string& name = "q") {
    for (auto& [id, queue] : queues) {
      if (queue.name == name) return queue;
    }
    static Queue none;
    ADD_FAILURE() << "no queue " << name;
    return none;
  }
  void advance(std::int64_t ms) {
    now.wall = now.wall.plus(ms);
    now.store = now.store.plus(ms);
  }
  // Lets a failed or scheduled job fall due.
  void become_due(JobId id) {
    if (job(id).due_at > now.store) advance(job(id).due_at.since(now.store));
    if (!job(id).due_at.is_set() && job(id).run_at > now.wall)
      advance(job(id).run_at.since(now.wall));
    run(BecomeDue{id});
  }
  QueueCounts recount(QueueId id) const {
    QueueCounts counts;
    for (const auto& [job_id, job] : jobs) {
      if (job.queue == id) ++counts.by_state[static_cast<std::size_t>(job.state)];
    }
    return counts;
  }

  Now now;
  Prng prng;
  TestIds ids;
  Policy policy;
  Hash128 secret{.high = 7, .low = 9};
  std::uint32_t epoch = 3;
  StoreTime judged_at;
  Principal principal{.id = "local"};
  View view;

  std::map<JobId, Job> jobs;
  std::map<JobId, JobBody> bodies;
  std::map<JobId, std::vector<AttemptRecord>> history;
  std::map<JobId, std::string> results;
  std::map<QueueId, Queue> queues;
  std::map<std::pair<QueueId, std::string>, UniqueKey> unique_keys;
  std::map<std::pair<QueueId, std::string>, GroupLock> group_locks;
  std::map<Hash128, IdempotencyEntry> idempotency;
  std::map<std::string, ApiToken> tokens;
  std::vector<AuditRecord> audit;

 private:
  template <typename Map>
  static auto find(const Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  const Queue* find_queue(const QueueName& name) const {
    for (const auto& [id, queue] : queues) {
      if (queue.namespace_id == name.namespace_id && queue.name == name.name) return &queue;
    }
    return nullptr;
  }

  void load_queue(QueueId id) {
    const Queue* queue = find(queues, id);
    if (queue == nullptr) return view.put_no_queue(id);
    view.put_queue(*queue);
    view.put_counts(id, recount(id));
  }
  void load_unique_key(QueueId queue, const std::string& key) {
    const UniqueKey* entry = find(unique_keys, {queue, key});
    view.put_unique_key(queue, key, entry);
    if (entry != nullptr) load_job(entry->job);
  }
  void load_job(JobId id) {
    if (view.has_job(id) && seen_.contains(id)) return;
    seen_.insert({id, true});
    const Job* job = find(jobs, id);
    view.put_job(id, job);
    if (job == nullptr) return;
    load_queue(job->queue);
    if (!job->group.empty()) {
      view.put_group_lock(job->queue, job->group, find(group_locks, {job->queue, job->group}));
    }
    if (!job->unique_key.empty()) load_unique_key(job->queue, job->unique_key);
  }
  void load(const Request& request) {
    ReadSet wanted;
    reads(request, wanted);
    seen_.clear();
    for (const JobId id : wanted.jobs) load_job(id);
    for (const QueueId id : wanted.queues) load_queue(id);
    for (const QueueName& name : wanted.queue_names) {
      const Queue* queue = find_queue(name);
      if (queue == nullptr) {
        view.put_no_queue(name);
      } else {
        load_queue(queue->id);
      }
    }
    for (const auto& [name, key] : wanted.unique_keys) {
      if (const Queue* queue = find_queue(name)) load_unique_key(queue->id, key);
    }
    for (const auto& [id, key] : wanted.unique_keys_by_id) load_unique_key(id, key);
    for (const Hash128& scope : wanted.idempotency) {
      view.put_idempotency(scope, find(idempotency, scope));
    }
    for (const std::string& id : wanted.tokens) view.put_token(id, find(tokens, id));
  }

  void check_guard(const JobChange& change) {
    const Job* before = find(jobs, change.after.id);
    if (change.guard.absent) {
      EXPECT_EQ(before, nullptr);
      return;
    }
    ASSERT_NE(before, nullptr);
    EXPECT_EQ(change.guard.state, before->state);
    EXPECT_EQ(change.guard.attempt, before->attempt);
    EXPECT_EQ(change.guard.version, before->version);
    if (change.guard.deadline_after.is_set()) {
      ASSERT_TRUE(before->lease.has_value());
      EXPECT_GT(before->lease->deadline_at, change.guard.deadline_after);
    }
    if (change.erase) return;
    const Job& after = change.after;
    EXPECT_GT(after.version, before->version);
    EXPECT_GE(after.attempt, before->attempt);
    EXPECT_GE(after.budget_start, before->budget_start);
    EXPECT_GE(after.excused_count, before->excused_count);
    EXPECT_GE(after.counters.failures, before->counters.failures);
    EXPECT_GE(after.counters.timeouts, before->counters.timeouts);
    EXPECT_GE(after.counters.releases, before->counters.releases);
    EXPECT_GE(after.counters.buries, before->counters.buries);
    EXPECT_GE(after.counters.kicks, before->counters.kicks);
    EXPECT_EQ(after.created_at, before->created_at);
    const bool attempt_ends = before->lease && !after.lease;
    const bool at_most_once = !before->lease && after.attempt > before->attempt && !after.lease;
    EXPECT_EQ(change.attempt.has_value(), attempt_ends || at_most_once);
  }
  void check_guards(const ChangeSet& change_set) {
    for (const JobChange& change : change_set.jobs) check_guard(change);
    for (const UniqueKeyChange& change : change_set.unique_keys) {
      const UniqueKey* entry = find(unique_keys, {change.after.queue, change.after.key});
      if (!change.expected_job) {
        EXPECT_TRUE(entry == nullptr || entry->job == change.after.job);
      } else {
        EXPECT_TRUE(entry != nullptr && entry->job == *change.expected_job);
      }
    }
    for (const GroupLockChange& change : change_set.group_locks) {
      const GroupLock* lock = find(group_locks, {change.after.queue, change.after.group});
      EXPECT_EQ(lock != nullptr, change.expected_holder.has_value());
      if (lock != nullptr && change.expected_holder) {
        EXPECT_EQ(lock->holder, *change.expected_holder);
      }
    }
    for (const QueueChange& change : change_set.queues) {
      const Queue* queue = find(queues, change.after.id);
      EXPECT_EQ(queue == nullptr ? 0 : queue->version, change.expected_version);
    }
    for (const IdempotencyChange& change : change_set.idempotency) {
      EXPECT_EQ(idempotency.contains(change.after.scope), change.erase);
    }
    EXPECT_EQ(change_set.is_empty(), change_set.commit_class == CommitClass::none);
  }

  template <typename Map, typename Change>
  static void put(Map& map, const typename Map::key_type& key, const Change& change) {
    if (change.erase) {
      map.erase(key);
    } else {
      map.insert_or_assign(key, change.after);
    }
  }
  void apply(const ChangeSet& change_set) {
    for (const JobChange& change : change_set.jobs) {
      put(jobs, change.after.id, change);
      if (change.body) bodies[change.after.id] = *change.body;
      if (change.attempt) history[change.after.id].push_back(*change.attempt);
      if (change.result) results[change.after.id] = *change.result;
    }
    for (const auto& c : change_set.unique_keys) put(unique_keys, {c.after.queue, c.after.key}, c);
    for (const auto& c : change_set.group_locks)
      put(group_locks, {c.after.queue, c.after.group}, c);
    for (const auto& c : change_set.queues) put(queues, c.after.id, c);
    for (const auto& c : change_set.idempotency) put(idempotency, c.after.scope, c);
    for (const auto& c : change_set.tokens) tokens.insert_or_assign(c.after.id, c.after);
    audit.insert(audit.end(), change_set.audit.begin(), change_set.audit.end());
  }

  // The view's counts, moved by the changes, must be what a recount says.
  void check_counts_of_view(const ChangeSet& change_set) {
    if (change_set.jobs.empty()) return;
    View moved;
    const QueueId id = change_set.jobs.front().after.queue;
    ChangeSet jobs_only;
    jobs_only.jobs = change_set.jobs;
    QueueCounts before = recount(id);
    for (const JobChange& change : change_set.jobs) {
      if (!change.erase) --before.by_state[static_cast<std::size_t>(change.after.state)];
      if (!change.guard.absent) ++before.by_state[static_cast<std::size_t>(change.guard.state)];
    }
    moved.put_counts(id, before);
    moved.apply(jobs_only);
    EXPECT_EQ(moved.counts(id), recount(id));
  }

  void check_invariants() const {
    for (const auto& [id, job] : jobs) {
      SCOPED_TRACE(testing::Message() << "job " << id.value << " " << to_string(job.state));
      EXPECT_EQ(job.lease.has_value(), job.state == JobState::processing);
      EXPECT_EQ(job.completed_at.is_set(), is_ended(job.state));
      EXPECT_EQ(job.ended_at.is_set(), is_ended(job.state));
      EXPECT_EQ(job.dead_at.is_set(), job.state == JobState::dead);
      EXPECT_EQ(job.dead_reason.empty(), job.state != JobState::dead);
      EXPECT_LE(job.budget_start + job.excused_since, job.attempt);
      EXPECT_TRUE(!job.expires_at.is_set() || is_waiting(job.state));
      if (!is_ended(job.state) && !job.unique_key.empty()) {
        const UniqueKey* entry = find(unique_keys, {job.queue, job.unique_key});
        ASSERT_NE(entry, nullptr);
        EXPECT_EQ(entry->job, id);
      }
      if (job.lease && !job.group.empty()) {
        const GroupLock* lock = find(group_locks, {job.queue, job.group});
        ASSERT_NE(lock, nullptr);
        EXPECT_EQ(lock->holder, id);
      }
    }
    for (const auto& [key, lock] : group_locks) {
      const Job* holder = find(jobs, lock.holder);
      EXPECT_TRUE(holder != nullptr && !is_ended(holder->state)) << "lock without a living job";
    }
    for (const auto& [key, entry] : unique_keys) {
      const Job* holder = find(jobs, entry.job);
      const bool is_living = holder != nullptr && !is_ended(holder->state);
      EXPECT_TRUE(is_living || entry.until.is_set()) << "key without a living job";
    }
  }

  std::map<JobId, bool> seen_;
  std::deque<ChangeSet> laid_over_;  // the view looks into them
};

}  // namespace weir::core
