// SPDX-License-Identifier: Apache-2.0
// The I/O loop: one thread, rounds. A round runs every handler that is ready; the engine's turn
// comes after it (one round = one turn), so that everything read in one round shares one commit and
// one sync. Asio stays behind event_loop.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace weir::net {

class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Runs everything that is ready; waits up to `wait_ms` for the first thing when nothing is (0:
  // does not wait, < 0: for ever). Returns how many handlers ran.
  std::size_t run_round(std::int64_t wait_ms);

  // Runs `task` in a later round. Thread-safe; wakes the loop.
  void post(std::function<void()> task);

  // Calls back on the loop at each of these signals until the loop ends.
  void on_signal(int signal_number, std::function<void()> callback);

  // Runs `task` once after `delay_ms`; the id cancels it.
  std::uint64_t after(std::int64_t delay_ms, std::function<void()> task);
  void cancel(std::uint64_t timer_id);

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::net
