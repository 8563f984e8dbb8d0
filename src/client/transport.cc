// SPDX-License-Identifier: Apache-2.0
// See transport.h.
#include "client/transport.h"

#include <utility>

namespace weir::client {

std::unique_ptr<net::HttpClient> HttpTransport::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<net::HttpClient> connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return std::make_unique<net::HttpClient>();
}

void HttpTransport::give_back(std::unique_ptr<net::HttpClient> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

Result<HttpResponse> HttpTransport::send(const net::HttpCall& call, bool* timed_out) {
  std::unique_ptr<net::HttpClient> connection = take();
  Result<HttpResponse> answer = connection->call(call, timed_out);
  // After a failure the connection's state is unknown: it is dropped, so that the next call starts
  // with a fresh one.
  if (answer) give_back(std::move(connection));
  return answer;
}

}  // namespace weir::client
