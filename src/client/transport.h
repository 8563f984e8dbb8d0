// SPDX-License-Identifier: Apache-2.0
// Where outbound HTTP calls go. The real one lends one kept-alive connection to each call that is
// under way; tests give their own.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"

namespace weir::client {

// Thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  // One call and its whole answer. Errors: those of net::HttpClient::call. `timed_out`, when given,
  // tells a timeout from other failures.
  virtual Result<HttpResponse> send(const net::HttpCall& call, bool* timed_out) = 0;
};

class HttpTransport final : public Transport {
 public:
  Result<HttpResponse> send(const net::HttpCall& call, bool* timed_out) override;

 private:
  std::unique_ptr<net::HttpClient> take();
  void give_back(std::unique_ptr<net::HttpClient> connection);

  std::mutex mutex_;
  std::vector<std::unique_ptr<net::HttpClient>> idle_;  // guarded by mutex_
};

}  // namespace weir::client
