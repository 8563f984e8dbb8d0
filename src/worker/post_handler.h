// SPDX-License-Identifier: Apache-2.0
// Posts each job to a URL: `weir work --post URL`, signed as Standard Webhooks are.
//
// 2xx is an ack (a small JSON body becomes the result); every other status fails the job with that
// http_status, and the server's rules decide: 408, 425, 429 and 5xx are retried (Retry-After is
// honoured), other 4xx are dead. What can't be reached fails with class connection or timeout.
// Redirects are not followed.
#pragma once

#include <string>

#include "base/clock.h"
#include "client/transport.h"
#include "worker/handler.h"

namespace weir::worker {

struct PostOptions {
  std::string url;
  std::string signing_key;  // bytes; empty: not signed
  std::string ca_file;
  std::int64_t timeout_ms = 30'000;
  net::AddressPolicy addresses = net::AddressPolicy::literal_loopback;
};

class PostHandler final : public Handler {
 public:
  // Both must outlive the handler.
  PostHandler(PostOptions options, client::Transport& transport, const Clock& clock)
      : options_(std::move(options)), transport_(transport), clock_(clock) {}

  HandlerResult run(const client::ClaimedJob& job, const Cancel& cancel) override;

 private:
  net::HttpCall make_call(const client::ClaimedJob& job, const Cancel& cancel) const;

  const PostOptions options_;
  client::Transport& transport_;
  const Clock& clock_;
};

}  // namespace weir::worker
