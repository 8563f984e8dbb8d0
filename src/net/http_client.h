// SPDX-License-Identifier: Apache-2.0
// Outbound HTTP as one blocking call (libcurl stays behind http_client.cc). Used by our own client,
// the CLI and the worker. No redirects are followed and no proxy variables are read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_message.h"
#include "base/result.h"

namespace weir::net {

// Which addresses a call may connect to. The address that was checked is the one that is connected
// to.
enum class AddressPolicy : std::uint8_t {
  any,          // our own server, configured by the operator
  public_only,  // refuses loopback, private, link-local, CGNAT, multicast, unspecified, mapped and
                // translated forms
  literal_loopback  // public, or a literal loopback address in the URL itself (an operator's
                    // --post)
};

struct HttpCall {
  std::string method = "GET";
  std::string url;
  HttpHeaders headers;
  std::string body;
  std::int64_t connect_timeout_ms = 5'000;
  std::int64_t timeout_ms = 30'000;  // of the whole call; 0: none
  std::size_t response_bytes_max = 16 * 1024 * 1024;
  AddressPolicy addresses = AddressPolicy::any;
  std::string ca_file;                        // empty: the system's
  const std::atomic<bool>* cancel = nullptr;  // when it turns true the call ends with unavailable
  // When set, gets body bytes as they come (server-sent events) and may return false to end the
  // call.
  std::function<bool(std::string_view)> on_body;
};

// Looks up a name: all its addresses as text. Called on a thread of its own and may block.
using Resolver = std::function<Result<std::vector<std::string>>(const std::string& host)>;

// Connections to reuse between calls of one thread. Calls under different address policies never
// share one.
class HttpClient {
 public:
  // Without a resolver the system's is used. Calls with the policy `any` leave names to libcurl.
  explicit HttpClient(Resolver resolver = nullptr);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Any status is an answer, redirects too. With on_body the body of the answer is empty, and
  // ending it there is no error. Errors: unavailable (not reached, timed out, cut off; the detail
  // says which), permission_denied (address refused, before any byte was sent), invalid_argument
  // (URL), too_large. `timed_out`, when given, tells a timeout from other failures.
  Result<HttpResponse> call(const HttpCall& call, bool* timed_out = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Is this numeric address (IPv4 or IPv6, without brackets) one that `policy` public_only lets
// through?
bool is_public_address(const std::string& address);

}  // namespace weir::net
