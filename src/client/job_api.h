// SPDX-License-Identifier: Apache-2.0
// What a worker asks of a server, in the words of the domain: claim, ack, fail, release, extend.
// Client implements it over HTTP; tests of the worker give a server of their own.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/http_message.h"
#include "base/result.h"
#include "base/time.h"

namespace weir::client {

struct ClaimRequest {
  std::vector<std::string> queues;
  std::vector<std::string> classes;  // "P0".."P4"; empty: any
  std::vector<std::string> kinds;    // empty: any
  std::uint32_t max = 1;
  std::int64_t wait_ms = 0;
  std::optional<std::int64_t> lease_ms;
  std::string worker_id;
};

// Proof of a lease: shown with every verb about a claimed job. Value.
struct LeaseRef {
  std::string job_id;
  std::string token;
  bool operator==(const LeaseRef&) const = default;
};

// A job in hand. Value.
struct ClaimedJob {
  std::string id;
  std::string queue;
  std::string kind;
  std::string payload;  // the bytes; JSON keeps its text to the last digit
  std::string content_type;
  HttpHeaders headers;
  std::uint32_t attempt = 0;
  std::uint32_t max_attempts = 0;
  std::uint64_t fence = 0;
  std::string lease_token;
  WallTime lease_expires_at;
  WallTime created_at;
  std::int64_t timeout_ms = 0;  // longest run of this attempt; 0: no bound but the extends
  WallTime deadline_at;  // when that ends, else the end of the lease as it was granted; set by the
                         // worker

  LeaseRef lease() const { return LeaseRef{.job_id = id, .token = lease_token}; }
};

// What a worker says of a failed attempt; the server's rules decide what follows.
struct FailReport {
  std::string error_class;
  std::string code;
  std::int32_t http_status = 0;
  std::string message;
  std::optional<std::int64_t> retry_after_ms;
  bool dead = false;  // at once, whatever attempts are left
  bool operator==(const FailReport&) const = default;
};

// Where the job went.
struct FailAnswer {
  std::string status;  // "failed" or "dead"
  std::int64_t retry_after_ms = 0;
  std::string reason;
};

struct ExtendItem {
  LeaseRef lease;
  std::int64_t lease_ms = 0;
};

// Thread-safe. Errors of every call: lease_lost and gone (the lease is another's, or the job ended:
// what this worker says is dropped), unavailable (not reached, draining: repeat later), and
// whatever the server refuses with.
class JobApi {
 public:
  virtual ~JobApi() = default;

  // Waits up to wait_ms for jobs; an empty list when none came. `cancel`, when given, ends the wait
  // with unavailable.
  virtual Result<std::vector<ClaimedJob>> claim(const ClaimRequest& request,
                                                const std::atomic<bool>* cancel) = 0;
  // `result`: JSON text. A repeat of an accepted ack is fine, also after the job is gone.
  virtual Result<void> ack(const LeaseRef& lease, const std::optional<std::string>& result) = 0;
  virtual Result<FailAnswer> fail(const LeaseRef& lease, const FailReport& report) = 0;
  // Gives the job back, uncharged.
  virtual Result<void> release(const LeaseRef& lease) = 0;
  // One answer an item, in order: when that lease ends now, or why it doesn't go on.
  virtual Result<std::vector<Result<WallTime>>> extend(std::span<const ExtendItem> items) = 0;
  // Jobs of the queue that have not ended: waiting, scheduled, failed, blocked and in anybody's
  // hands. 0 when there is no such queue.
  virtual Result<std::uint64_t> unfinished(const std::string& queue) = 0;
};

}  // namespace weir::client
