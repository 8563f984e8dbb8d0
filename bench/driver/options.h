// SPDX-License-Identifier: Apache-2.0
// What every driver can be told on its command line, and how a driver ends when it can't go on.
#pragma once

#include <cstdint>
#include <string>

namespace weir::bench {

struct Options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;
  std::size_t producers = 1;  // connections that put only
  std::size_t consumers = 1;  // connections that claim and ack only
  std::size_t both = 0;       // connections that do all three, instead of the above
  std::size_t depth = 1;      // requests in flight on each connection
  std::uint64_t jobs = 0;     // to put (if anyone puts) and to take (if anyone takes)
  std::uint64_t before = 0;   // jobs that earlier runs put into the queue
  std::uint64_t taken = 0;    // of them: jobs that earlier runs took
  std::size_t payload_bytes = 100;
  std::string queue = "bench";
  std::uint64_t queues = 1;       // a fill spreads its puts over so many queues
  std::uint64_t delay_s = 0;      // delay of every put
  std::size_t pollers = 0;        // connections that wait for a job that never comes
  std::uint64_t poll_queues = 1;  // over so many queues
  std::uint64_t backlog = 0;      // jobs put and not acked yet at most; 0: 2 x puts in flight
  // Say "ready" once connected, wait for a byte on stdin, and keep the connections after the result
  // until stdin ends.
  bool holds = false;
  std::size_t batch = 1;  // jobs a request, where a protocol has such requests
  std::string mode;       // a protocol's own variant, e.g. "list" of Redis

  bool has_producer() const { return producers + both > 0; }
  bool has_consumer() const { return consumers + both > 0; }
  std::uint64_t waiting_before() const { return before - taken; }
  std::int64_t backlog_max() const;
};

// Reads `--name value` pairs; with --help or a mistake it prints what there is and exits.
Options read_options(int count, char** arguments, const char* modes);

// Says why on stderr and exits with 1: a driver that can't prove its run has no result.
[[noreturn]] void die(const std::string& why);

}  // namespace weir::bench
