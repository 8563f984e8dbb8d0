// SPDX-License-Identifier: Apache-2.0
// A store in front of a store, for tests: counts calls, fails the n-th, misses guards, corrupts
// bodies.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/change_bytes.h"
#include "store/store.h"

namespace weir::engine {

// One thread. The inner store must outlive it.
class TestStore final : public store::Store {
 public:
  explicit TestStore(store::Store& inner) : inner_(inner) {}

  // What happened, in order: "commit 3", "sync".
  std::vector<std::string> log;
  std::vector<Now> commit_nows;
  int heads_calls = 0, commits = 0, syncs = 0;
  std::size_t largest_commit = 0, heaviest_commit = 0;
  // Number of the call (counting allocate, prefetch, commit, sync, work) that fails with io_error;
  // 0: none.
  int fail_at = 0;
  int calls = 0;
  // So many coming ChangeSets (with a job) are answered with "guard missed".
  int misses = 0;
  std::function<void()> before_miss;  // what "another server" does meanwhile
  bool is_unavailable = false;
  std::set<std::uint64_t> corrupt_bodies;

  store::Capabilities capabilities() const override { return inner_.capabilities(); }
  const store::Identity& identity() const override { return inner_.identity(); }
  Result<store::IdRange> allocate_job_ids() override {
    if (fails()) return broken();
    return inner_.allocate_job_ids();
  }
  Result<core::QueueId> allocate_queue_id() override {
    if (fails()) return broken();
    return inner_.allocate_queue_id();
  }
  Result<void> prefetch(const core::ReadSet& wanted, core::View& view) override {
    if (fails()) return broken();
    return inner_.prefetch(wanted, view);
  }
  Result<std::uint64_t> commit(std::span<const core::ChangeSet> changes, Now now,
                               std::vector<store::CommitResult>& results) override {
    if (fails()) return broken();
    if (is_unavailable) return failure(ErrorCode::unavailable, "out of reach");
    ++commits;
    largest_commit = std::max(largest_commit, changes.size());
    std::size_t bytes = 0;
    for (const core::ChangeSet& change : changes) bytes += store::change_bytes(change);
    heaviest_commit = std::max(heaviest_commit, bytes);
    log.push_back("commit " + std::to_string(changes.size()));
    commit_nows.push_back(now);
    if (misses == 0) return inner_.commit(changes, now, results);
    return commit_with_misses(changes, now, results);
  }
  Result<void> sync() override {
    if (fails()) return broken();
    ++syncs;
    log.push_back("sync");
    return inner_.sync();
  }
  std::uint64_t durable_seq() const override { return inner_.durable_seq(); }
  void heads(const core::LaneFilter& filter, std::size_t places,
             std::vector<core::LaneHead>& out) override {
    ++heads_calls;
    inner_.heads(filter, places, out);
  }
  void due(Now now, std::size_t limit, std::vector<store::Due>& out) override {
    inner_.due(now, limit, out);
  }
  void next_due(WallTime& wall, StoreTime& store) override { inner_.next_due(wall, store); }
  Result<core::Job> read_job(core::JobId id) override { return inner_.read_job(id); }
  Result<core::JobBody> read_body(core::JobId id) override {
    if (corrupt_bodies.contains(id.value)) {
      return failure(ErrorCode::corruption, "checksum of the body");
    }
    return inner_.read_body(id);
  }
  Result<std::vector<core::AttemptRecord>> read_history(core::JobId id) override {
    return inner_.read_history(id);
  }
  Result<std::string> read_result(core::JobId id) override { return inner_.read_result(id); }
  Result<store::Page> scan_page(const store::ScanQuery& query) override {
    return inner_.scan_page(query);
  }
  Result<std::vector<core::Queue>> read_queues() override { return inner_.read_queues(); }
  Result<std::vector<core::ApiToken>> read_tokens() override { return inner_.read_tokens(); }
  Result<std::vector<core::AuditRecord>> read_audit(std::size_t newest) override {
    return inner_.read_audit(newest);
  }
  Result<store::QueueStats> queue_stats(core::QueueId id) override {
    return inner_.queue_stats(id);
  }
  store::StoreStats stats() const override { return inner_.stats(); }
  Result<bool> work(Now now) override {
    if (fails()) return broken();
    return inner_.work(now);
  }
  Result<void> backup(const std::string& directory) override { return inner_.backup(directory); }
  Result<void> close(Now now) override { return inner_.close(now); }

 private:
  bool fails() {
    ++calls;
    if (calls == fail_at) is_broken_ = true;
    return is_broken_;
  }
  static Failure broken() { return failure(ErrorCode::io_error, "planted"); }

  Result<std::uint64_t> commit_with_misses(std::span<const core::ChangeSet> changes, Now now,
                                           std::vector<store::CommitResult>& results) {
    if (before_miss) std::exchange(before_miss, nullptr)();
    std::vector<core::ChangeSet> kept;
    std::vector<bool> is_missed;
    for (const core::ChangeSet& change : changes) {
      const bool miss = misses > 0 && !change.jobs.empty();
      if (miss) --misses;
      is_missed.push_back(miss);
      if (!miss) kept.push_back(change);
    }
    std::vector<store::CommitResult> inner_results;
    Result<std::uint64_t> seq = inner_.commit(kept, now, inner_results);
    if (!seq) return seq;
    results.clear();
    std::size_t next = 0;
    for (const bool miss : is_missed) {
      results.push_back(miss ? store::CommitResult::guard_missed : inner_results[next++]);
    }
    return seq;
  }

  store::Store& inner_;
  bool is_broken_ = false;
};

}  // namespace weir::engine
