// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 server over the event loop: listens, parses with llhttp, keeps limits before buffering, answers in order.
//
// Limits: header 64 KiB and 10 s, body as the handler's verdict says and at a minimum rate, idle 60 s, write buffer capped per
// connection, connections capped. Refuses both Content-Length and Transfer-Encoding, obs-fold, bare LF. Keep-alive,
// pipelining, chunked bodies, Expect: 100-continue. At EMFILE it stops accepting and goes on when descriptors are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/http_message.h"
#include "base/result.h"
#include "net/event_loop.h"

namespace weir::net {

struct HttpLimits {
  std::size_t header_bytes_max = 64 * 1024;
  std::int64_t header_ms_max = 10'000;
  std::int64_t idle_ms_max = 60'000;
  std::int64_t body_bytes_per_second_min = 1024;  // after a grace of body_grace_ms
  std::int64_t body_grace_ms = 10'000;
  std::size_t write_buffer_bytes_max = 16 * 1024 * 1024;
  std::int64_t write_stall_ms_max = 30'000;  // a client that reads nothing for so long is cut off
  std::size_t connections_max = 10'000;
  std::size_t pipelined_max = 128;           // requests read ahead of their answers
};

struct TlsFiles {
  std::string certificate_file;  // PEM chain
  std::string key_file;
  bool is_set() const { return !certificate_file.empty(); }
};

class HttpServer {
 public:
  // `loop` and `handler` must outlive the server.
  HttpServer(EventLoop& loop, HttpHandler& handler, HttpLimits limits = {});
  ~HttpServer();

  // Listens on "host:port" (port 0: any free one). Returns the address bound, e.g. "127.0.0.1:41234".
  // Errors: invalid_argument (address), io_error (in use, TLS files).
  Result<std::string> listen(const std::string& address, const TlsFiles& tls = {});

  // Reads the certificate files again; connections that exist keep theirs. Errors: io_error, then the old ones stay.
  Result<void> reload_tls();

  // Sends what the handlers have answered since the last call: one send per connection and round.
  void flush();

  // No new connections; those without a request in hand close.
  void stop_accepting();
  std::size_t connection_count() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::net
