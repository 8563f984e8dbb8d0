// SPDX-License-Identifier: Apache-2.0
// HTTP/1.1 server over the event loop: listens, parses with llhttp, keeps limits before buffering,
// answers in order.
//
// Half-closed clients: see http_connection.h. Limits (http_limits.h): header 64 KiB and 10 s, body
// as the handler's verdict says and at a minimum rate, idle 60 s, write buffer capped per
// connection, connections capped. Refuses both Content-Length and Transfer-Encoding, obs-fold, bare
// LF. Keep-alive, pipelining, chunked bodies, Expect: 100-continue. At EMFILE it stops accepting
// and goes on when descriptors are free.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/http_message.h"
#include "base/result.h"
#include "net/event_loop.h"
#include "net/http_limits.h"

namespace weir::net {

struct TlsFiles {
  std::string certificate_file;  // PEM chain
  std::string key_file;
  bool is_set() const { return !certificate_file.empty(); }
};

class HttpServer {
 public:
  // `loop`, `handler` and `clock` must outlive the server; without a clock it is the machine's.
  HttpServer(EventLoop& loop, HttpHandler& handler, HttpLimits limits = {},
             const Clock* clock = nullptr);
  ~HttpServer();

  // Listens on "host:port" (port 0: any free one; the host is an address, "[::1]" or "localhost").
  // May be called again for a further address. Returns the address bound, e.g. "127.0.0.1:41234".
  // Errors: invalid_argument (address), io_error (in use, TLS files).
  Result<std::string> listen(const std::string& address, const TlsFiles& tls = {});

  // Reads the certificate files again; connections that exist keep theirs. Errors: io_error, then
  // the old ones stay.
  Result<void> reload_tls();

  // Sends what the handlers have answered since the last call: one send per connection and round.
  void flush();

  // No new connections; those without a request in hand close.
  void stop_accepting();
  std::size_t connection_count() const;  // thread-safe

  // Looks at the clock now: cuts off who is too slow, accepts again where it had to stop. The loop
  // does this by itself several times a second; tests with a manual clock call it.
  void check_deadlines();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::net
