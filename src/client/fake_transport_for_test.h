// SPDX-License-Identifier: Apache-2.0
// For tests: a transport that keeps the calls and gives the answers it was told to give, in order.
// Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "client/transport.h"

namespace weir::client {

class FakeTransport final : public Transport {
 public:
  void answer(int status, std::string body, HttpHeaders headers = {}) {
    const std::lock_guard lock(mutex_);
    HttpResponse response;
    response.status = status;
    response.body = std::move(body);
    response.headers = std::move(headers);
    answers_.emplace_back(std::move(response));
  }
  void fail(ErrorCode code, std::string detail, bool timed_out = false) {
    const std::lock_guard lock(mutex_);
    answers_.emplace_back(failure(code, std::move(detail)));
    timed_out_ = timed_out;
  }
  Result<HttpResponse> send(const net::HttpCall& call, bool* timed_out) override {
    const std::lock_guard lock(mutex_);
    calls.push_back(call);
    if (timed_out != nullptr) *timed_out = timed_out_;
    if (answers_.empty()) return failure(ErrorCode::unavailable, "no answer left");
    Result<HttpResponse> next = std::move(answers_.front());
    answers_.pop_front();
    if (next && call.on_body) call.on_body(next->body);
    return next;
  }

  std::vector<net::HttpCall> calls;

 private:
  std::mutex mutex_;
  std::deque<Result<HttpResponse>> answers_;
  bool timed_out_ = false;
};

// The value of a header of a call, or "(none)".
inline std::string header_of(const net::HttpCall& call, std::string_view name) {
  std::string found = "(none)";
  for (const auto& [key, value] : call.headers) {
    if (key == name) found = value;
  }
  return found;
}

}  // namespace weir::client
