// SPDX-License-Identifier: Apache-2.0
// One pool: a claimer thread and a fixed number of slots, each a thread that runs one job at a
// time. The claimer asks for as many jobs as slots are idle and never more, so no job waits in a
// worker for a slot.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "worker/handler.h"
#include "worker/lease_book.h"
#include "worker/runtime.h"

namespace weir::worker {

// What all pools of a runtime share. Must outlive them.
struct PoolContext {
  const Options& options;
  client::JobApi& api;
  Handler& handler;
  const Clock& clock;
  LeaseBook& leases;
  std::function<void()> leases_changed;  // the heartbeat has to look again
  std::function<void(Error)> refused;    // the very first claim was refused for good
  std::function<bool(std::int64_t)> settle_wait;
};

class Pool {
 public:
  Pool(std::string priority_class, std::uint64_t seed, PoolContext context);
  // Requires: join() was called after start().
  ~Pool();

  void start();
  // No new claims; a claim under way is cut off. What was claimed and not begun is released.
  // Thread: any.
  void stop();
  void join();
  bool is_idle() const;  // stopped, and nothing in hand

 private:
  struct Running {
    client::ClaimedJob job;
    // shared_ptr: the lease book may cancel a run that just ends.
    std::shared_ptr<Cancel> cancel;
    std::int64_t timeout_ms = 0;
  };

  void claim_loop();
  std::size_t wait_for_idle_slots();
  void claim_failed(const Error& error);
  void accept(std::vector<client::ClaimedJob> jobs);
  void slot_loop(std::uint64_t seed);
  void finish(Running& running, HandlerResult result, std::uint64_t seed);

  const std::string class_;
  PoolContext context_;
  Backoff backoff_;                // claimer thread
  bool has_ever_claimed_ = false;  // claimer thread
  const std::uint64_t seed_;

  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Running> ready_;  // guarded by mutex_; claimed, a slot is about to take it
  std::size_t busy_ = 0;       // guarded by mutex_; slots with a job, and ready_
  bool claims_ended_ = false;  // guarded by mutex_

  std::thread claimer_;
  std::vector<std::thread> slots_;
};

}  // namespace weir::worker
