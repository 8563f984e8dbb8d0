// SPDX-License-Identifier: Apache-2.0
// The limits that the HTTP/1.1 server keeps on each connection, before it buffers anything.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::net {

struct HttpLimits {
  std::size_t header_bytes_max = 64 * 1024;
  std::size_t header_count_max = 128;
  std::int64_t header_ms_max = 10'000;  // also from accepting to the first request
  std::int64_t idle_ms_max = 60'000;
  std::int64_t body_bytes_per_second_min = 1024;  // after a grace of body_grace_ms
  std::int64_t body_grace_ms = 10'000;
  std::size_t write_buffer_bytes_max = 16 * 1024 * 1024;
  std::int64_t write_stall_ms_max = 30'000;  // a client that reads nothing for so long is cut off
  std::size_t connections_max = 10'000;
  std::size_t pipelined_max = 128;                     // requests read ahead of their answers, and
  std::size_t pipelined_bytes_max = 16 * 1024 * 1024;  // their bodies together
  std::int64_t linger_ms_max =
      2'000;  // after the last answer: how long input is read and thrown away, so that the
              // close does not destroy the answer on its way
};

}  // namespace weir::net
