// SPDX-License-Identifier: Apache-2.0
// The worker: pools of handlers over one server, from start to `drained, exiting`.
//
// One pool for each class, never one set of slots for several: a class must not wait behind
// another. A pool has a claimer thread and one thread a slot; it claims only what its idle slots
// can take. Beside them one thread extends leases, one judges timeouts and the end of the grace,
// and with `drain` one watches the queues' counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "client/job_api.h"
#include "worker/backoff.h"
#include "worker/handler.h"

namespace weir::worker {

struct Options {
  std::vector<std::string> queues;
  // One pool for each entry; an entry "" is one pool for every class together and is what tests
  // use.
  std::vector<std::string> pool_classes = {"P0", "P1", "P2", "P3", "P4"};
  std::vector<std::string> kinds;
  std::size_t concurrency = 10;  // slots of each pool
  std::int64_t lease_ms = 60'000;
  std::int64_t timeout_ms = 0;  // bound on a run besides the job's own; 0: none
  std::int64_t grace_ms = 30'000;
  std::int64_t poll_wait_ms = 20'000;
  bool drain = false;  // stop once the queues are empty
  std::int64_t drain_check_ms = 500;
  std::string worker_id;
  BackoffOptions backoff;
  std::uint64_t seed = 1;  // of the jitter
};

// One thread, but request_stop() and kill(), which may come from any.
class Runtime {
 public:
  // `api`, `handler` and `clock` must outlive the runtime.
  Runtime(Options options, client::JobApi& api, Handler& handler, const Clock& clock);
  // Requires: join() was called after start().
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  void start();

  // No new claims; what runs may finish within the grace, the rest is released uncharged. A repeat
  // has no effect.
  void request_stop();

  // Waits up to `wait_ms` for the end of all work; true once there.
  bool wait_ended(std::int64_t wait_ms);

  // Waits for the end. Errors: what the server refused the very first claim with (unauthenticated,
  // permission_denied, invalid_argument …): retrying would not help.
  Result<void> join();

  // The process ends at once: kills what handlers have started outside of it. Leases stay and run
  // out.
  void kill();

  // Jobs in hand now.
  std::size_t running() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::worker
