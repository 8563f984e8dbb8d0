// SPDX-License-Identifier: Apache-2.0
// What the other files of net/ see of the loop: the Asio context and the buffer that all
// connections read into.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "net/event_loop.h"

namespace weir::net {

struct EventLoop::Impl {
  // No lock elision: post() comes from other threads.
  boost::asio::io_context context{1};

  // One for the whole loop: an idle connection holds none (it waits for readability, then reads in
  // here and hands the bytes on at once).
  std::array<char, 64 * 1024> read_buffer;

  std::vector<std::unique_ptr<boost::asio::signal_set>> signals;
  std::unordered_map<std::uint64_t, std::unique_ptr<boost::asio::steady_timer>> timers;
  std::uint64_t next_timer_id = 1;
};

}  // namespace weir::net
