// SPDX-License-Identifier: Apache-2.0
// For tests: a server that is a few queues in memory, whose failures and answers the test decides,
// and that can be awaited.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "client/job_api.h"

namespace weir::worker {

// Long enough for any machine; reached only when the awaited thing never happens.
inline constexpr auto kTestPatience = std::chrono::seconds(60);

// Thread-safe. The public data is guarded by the lock that await() and with() hold.
class FakeServer final : public client::JobApi {
 public:
  void put(client::ClaimedJob job) {
    const std::lock_guard lock(mutex_);
    job.lease_token = "t" + job.id;
    pending.push_back(std::move(job));
    changed_.notify_all();
  }
  void put(const std::string& id) {
    put(client::ClaimedJob{
        .id = id, .queue = "q", .payload = "1", .attempt = 1, .max_attempts = 6});
  }

  // Waits until `condition` (called under the lock) holds; fails the test when it never does.
  void await(const std::function<bool()>& condition, const char* what) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kTestPatience, condition)) << what;
  }
  void with(const std::function<void()>& action) {
    const std::lock_guard lock(mutex_);
    action();
    changed_.notify_all();
  }

  Result<std::vector<client::ClaimedJob>> claim(const client::ClaimRequest& request,
                                                const std::atomic<bool>* cancel) override {
    std::unique_lock lock(mutex_);
    claims.push_back(request);
    changed_.notify_all();
    if (claim_error) return failure(*claim_error);
    std::vector<client::ClaimedJob> jobs;
    for (std::int64_t waited = 0; jobs.empty() && waited <= request.wait_ms; ++waited) {
      if (cancel != nullptr && cancel->load()) return failure(ErrorCode::unavailable, "cancelled");
      if (claim_error) return failure(*claim_error);
      take(request, jobs);
      if (jobs.empty()) changed_.wait_for(lock, std::chrono::milliseconds(1));
    }
    changed_.notify_all();
    return jobs;
  }
  Result<void> ack(const client::LeaseRef& lease,
                   const std::optional<std::string>& result) override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    ++verbs;
    if (verb_error) return failure(*verb_error);
    if (ack_error) return failure(*ack_error);
    acked[lease.job_id] = result.value_or("");
    ++acks;
    in_hand.erase(lease.job_id);
    return {};
  }
  Result<client::FailAnswer> fail(const client::LeaseRef& lease,
                                  const client::FailReport& report) override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    ++verbs;
    if (verb_error) return failure(*verb_error);
    failed[lease.job_id] = report;
    in_hand.erase(lease.job_id);
    return client::FailAnswer{.status = report.dead ? "dead" : "failed"};
  }
  Result<void> release(const client::LeaseRef& lease) override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    ++verbs;
    if (verb_error) return failure(*verb_error);
    released.insert(lease.job_id);
    in_hand.erase(lease.job_id);
    return {};
  }
  Result<std::vector<Result<WallTime>>> extend(std::span<const client::ExtendItem> items) override {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
    extends.emplace_back(items.begin(), items.end());
    if (extend_error) return failure(*extend_error);
    std::vector<Result<WallTime>> results;
    for (const client::ExtendItem& item : items) {
      if (lost.contains(item.lease.job_id)) {
        results.push_back(failure(ErrorCode::lease_lost, "another's"));
      } else {
        results.push_back(WallTime{1});
      }
    }
    return results;
  }
  Result<std::uint64_t> unfinished(const std::string& queue) override {
    const std::lock_guard lock(mutex_);
    ++count_looks;
    changed_.notify_all();
    if (count_error) return failure(*count_error);
    return waiting_elsewhere[queue] + pending.size() + in_hand.size();
  }

  std::deque<client::ClaimedJob> pending;
  std::map<std::string, std::string> class_of;  // job to class; others go to any claim
  std::set<std::string> in_hand;
  std::size_t in_hand_max = 0;
  std::vector<client::ClaimRequest> claims;
  std::vector<std::vector<client::ExtendItem>> extends;
  std::map<std::string, std::string> acked;
  std::map<std::string, client::FailReport> failed;
  std::set<std::string> released;
  std::set<std::string> lost;                              // jobs whose lease is another's
  std::map<std::string, std::uint64_t> waiting_elsewhere;  // scheduled, failed, in others' hands
  std::optional<Error> claim_error, verb_error, ack_error, extend_error, count_error;
  int acks = 0;
  int verbs = 0;
  int count_looks = 0;

 private:
  void take(const client::ClaimRequest& request, std::vector<client::ClaimedJob>& jobs) {
    for (auto at = pending.begin(); at != pending.end() && jobs.size() < request.max;) {
      const auto found = class_of.find(at->id);
      const bool fits =
          found == class_of.end() || request.classes.empty() ||
          std::count(request.classes.begin(), request.classes.end(), found->second) > 0;
      if (!fits) {
        ++at;
        continue;
      }
      in_hand.insert(at->id);
      in_hand_max = std::max(in_hand_max, in_hand.size());
      jobs.push_back(std::move(*at));
      at = pending.erase(at);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace weir::worker
