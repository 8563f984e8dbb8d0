// SPDX-License-Identifier: Apache-2.0
// Which leases this worker holds, when each must be extended, and when a run has had its time.
// Judges by the time it is given and does no I/O: the heartbeat asks it what to send and tells it
// what came back.
//
// A lease of length L is extended every L / 3, so that two heartbeats may be lost. While the server
// can't be reached nothing is given up: a server that restarts gives every lease a grace, so only
// its word ends a run.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/job_api.h"
#include "worker/cancel.h"

namespace weir::worker {

struct HeldLease {
  client::LeaseRef lease;
  std::int64_t lease_ms = 0;
  std::int64_t timeout_ms = 0;  // 0: none
  // shared_ptr: the handler that runs and the book that may cancel it end in either order.
  std::shared_ptr<Cancel> cancel;
};

// Thread-safe. Times are Clock::boot_ms().
class LeaseBook {
 public:
  // `claimed_at_ms`: when the claim was answered.
  void add(HeldLease held, std::int64_t claimed_at_ms);
  void remove(const client::LeaseRef& lease);

  // At most `max` leases that are to be extended now. They count as sent: they come again soon if
  // no answer is told.
  std::vector<client::ExtendItem> take_due(std::int64_t now_ms, std::size_t max);
  // What the server said to one of them. lease_lost, gone and not_found cancel the run.
  void answered(const client::LeaseRef& lease, const Result<WallTime>& answer, std::int64_t now_ms);
  // When take_due() has something next; a lease never due gives a far instant.
  std::int64_t next_due_ms() const;

  // Cancels the runs whose timeout has passed; says how many.
  std::size_t cancel_overdue(std::int64_t now_ms);
  std::int64_t next_timeout_ms() const;

  void cancel_all(CancelReason reason);
  std::size_t size() const;

 private:
  struct Entry {
    HeldLease held;
    std::int64_t due_ms = 0;
    std::int64_t timeout_at_ms = 0;
  };
  using Key = std::string;  // the token: unique per attempt

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;  // guarded by mutex_
};

}  // namespace weir::worker
