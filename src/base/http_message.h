// SPDX-License-Identifier: Apache-2.0
// An HTTP request and response as values: what net's server parses and writes, and what a door
// answers. No I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;  // names in lower case

struct HttpRequest {
  std::string method;  // upper case
  std::string target;  // as sent: path and query, still percent-coded
  HttpHeaders headers;
  std::string body;  // whole, chunks joined
  std::string peer;  // address of the client, for logs
  bool is_tls = false;

  // The value of the first header of that (lower-case) name, or empty.
  std::string_view header(std::string_view name) const;
  bool has_header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  HttpHeaders headers;  // Content-Length, Connection and Date are added by the server
  std::string content_type = "application/json";
  std::string body;
  bool close = false;  // close the connection after this answer
};

// Is a host, without brackets and port, always this machine itself: localhost, 127.0.0.0/8, ::1?
bool is_loopback_host(std::string_view host);

// Where a handler puts its answer; used on the I/O thread only, exactly one of respond or
// begin_stream.
class HttpResponder {
 public:
  virtual ~HttpResponder() = default;
  virtual void respond(HttpResponse response) = 0;
  // Starts an unbounded answer (server-sent events): head now, then write() until it says false
  // (client gone or too slow), then end_stream().
  virtual void begin_stream(HttpResponse head) = 0;
  virtual bool write(std::string_view bytes) = 0;
  virtual void end_stream() = 0;
  // Called at most once when the client went away before the answer had wholly been handed to the
  // kernel: also after respond(). A client that only ended its sending side counts as gone when a
  // callback is set. Set it before returning from the handler.
  virtual void on_abandoned(std::function<void()> callback) = 0;
};

// shared_ptr: the connection and the answer that is still being made own it together; whoever ends
// last frees it.
using HttpResponderPtr = std::shared_ptr<HttpResponder>;

// What a handler may say once the head of a request is there, before its body is read.
struct HttpHeadVerdict {
  bool accept = true;
  std::size_t body_bytes_max = 0;  // the connection refuses more than this (413)
  HttpResponse refusal;            // sent when !accept, then the connection closes
};

// Thread: I/O.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  // The head of a request is complete (body still empty). Requires: must not keep the reference.
  virtual HttpHeadVerdict on_head(const HttpRequest& head) = 0;
  // A whole request. The answer may come later; answers of one connection leave in the order of its
  // requests.
  virtual void on_request(HttpRequest request, HttpResponderPtr responder) = 0;
};

}  // namespace weir
