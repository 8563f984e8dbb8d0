// SPDX-License-Identifier: Apache-2.0
// C++ client of weir's HTTP API: what the worker and the CLI speak. Blocking calls; each may come
// from any thread.
//
// Calls whose answer a program uses (enqueue, claim, ack …) are typed; those that people look at
// (jobs, queues, dead letters, tokens) answer the server's JSON text unchanged, so that `--json`
// shows every field the server has.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/job_api.h"
#include "client/sse.h"
#include "client/transport.h"

namespace weir::client {

struct Options {
  // One server, or several over one store: after a failure to reach one the next call goes to the
  // next.
  std::vector<std::string> urls = {"http://127.0.0.1:7350"};
  std::string token;
  std::string ca_file;
  std::int64_t connect_timeout_ms = 3'000;
  std::int64_t timeout_ms = 30'000;
};

// A job to be. Unset fields are left to the queue's settings. Value.
struct NewJob {
  std::string payload = "null";  // bytes; JSON text goes as it is
  std::string content_type;      // empty: by what the payload is
  std::string kind, priority_class, group, key, unique_key;
  std::optional<std::int64_t> priority, delay_ms, lease_ms, timeout_ms, ttl_ms, unique_window_ms;
  std::optional<std::uint64_t> max_attempts;
  std::string run_at;  // RFC 3339
  std::string retry;   // name of a policy
  std::vector<std::string> tags;
  HttpHeaders headers;
};

struct EnqueueAnswer {
  std::string id;
  std::string status;
  bool duplicate = false;
  bool durable = true;
  std::string json;  // the whole answer
};

using Query = std::vector<std::pair<std::string, std::string>>;

// Thread-safe.
class Client final : public JobApi {
 public:
  // `transport` must outlive the client; without one the client makes its own.
  explicit Client(Options options);
  Client(Options options, Transport& transport);

  // Errors of every call: what the server refuses with, or unavailable when it can't be reached.
  Result<EnqueueAnswer> enqueue(const std::string& queue, const NewJob& job,
                                const std::string& idempotency_key = {});
  // `jobs`: JSON texts of job objects, at most 1,000 and 8 MiB. All or none. Answers the server's
  // JSON.
  Result<std::string> enqueue_batch(const std::string& queue, std::span<const std::string> jobs,
                                    const std::string& idempotency_key = {});

  Result<std::vector<ClaimedJob>> claim(const ClaimRequest& request,
                                        const std::atomic<bool>* cancel) override;
  Result<void> ack(const LeaseRef& lease, const std::optional<std::string>& result) override;
  Result<FailAnswer> fail(const LeaseRef& lease, const FailReport& report) override;
  Result<void> release(const LeaseRef& lease) override;
  Result<std::vector<Result<WallTime>>> extend(std::span<const ExtendItem> items) override;
  Result<std::uint64_t> unfinished(const std::string& queue) override;

  // Any other call of the API: `path` begins with "/v1/"; `body` is JSON text or empty. Answers the
  // body of a 2xx.
  Result<std::string> request(const std::string& method, const std::string& path,
                              const Query& query = {}, const std::string& body = {});

  // Follows the server's events until `callback` says false (then ok) or the connection ends
  // (unavailable).
  Result<void> follow_events(const Query& query, const std::string& last_event_id,
                             SseParser::Callback callback,
                             const std::atomic<bool>* cancel = nullptr);

  // The address that the next call goes to, for messages.
  const std::string& url() const;

 private:
  net::HttpCall make_call(const std::string& method, const std::string& path) const;
  Result<HttpResponse> send(const net::HttpCall& call);
  Result<HttpResponse> post(const std::string& path, std::string body,
                            const std::string& idempotency_key = {});
  Result<std::string> lease_verb(const LeaseRef& lease, std::string_view verb, std::string members);

  Options options_;
  std::unique_ptr<Transport> own_transport_;
  Transport& transport_;
  std::atomic<std::size_t> next_url_{0};
};

// One path segment: percent-coded, dots of "." and ".." too, which else would climb.
std::string path_segment(std::string_view name);

// The JSON object of a job, as POST …/jobs and the batch take it.
std::string job_json(const NewJob& job);

}  // namespace weir::client
