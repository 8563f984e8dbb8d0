// SPDX-License-Identifier: Apache-2.0
// Server of byte streams for the doors of line protocols, over TCP or a unix socket. Reads every
// ready connection once a round, hands the bytes to its session as they lie in the loop's buffer,
// and sends what a round has gathered with one call per connection.
//
// Limits, kept before anything is buffered: a session that does not want input is not read; input
// that a session leaves is kept up to input_bytes_max; a client that does not take its answers is
// not read either, and cut off when it takes none for write_stall_ms_max.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/stream.h"
#include "net/event_loop.h"

namespace weir::net {

struct StreamLimits {
  std::size_t input_bytes_max = 64 * 1024;     // kept while the session cannot use it
  std::size_t unsent_bytes_max = 1024 * 1024;  // more than this: nothing is read
  std::int64_t write_stall_ms_max = 30'000;
  std::size_t connections_max = 10'000;
};

// One thread.
class StreamServer {
 public:
  // `loop`, `handler` and `clock` must outlive the server; without a clock it is the machine's.
  StreamServer(EventLoop& loop, StreamHandler& handler, StreamLimits limits = {},
               const Clock* clock = nullptr);
  ~StreamServer();

  // "host:port" or "unix:/path". Returns the address bound. Errors: invalid_argument, io_error.
  Result<std::string> listen(const std::string& address);

  // Sends what the sessions have to say since the last call: one send per connection and round.
  void flush();

  // No new connections.
  void stop_accepting();
  std::size_t connection_count() const;

  // Looks at the clock now; the loop does this by itself several times a second, tests with a
  // manual clock call it.
  void check_deadlines();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::net
