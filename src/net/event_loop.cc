// SPDX-License-Identifier: Apache-2.0
#include "net/event_loop.h"

#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "net/event_loop_impl.h"

namespace weir::net {
namespace {

// A round must end even while new bytes keep coming: the engine's turn waits for it.
constexpr std::size_t kHandlersPerRoundMax = 512;

void await_signal(boost::asio::signal_set& set, std::function<void()> callback) {
  set.async_wait(
      [&set, callback = std::move(callback)](const boost::system::error_code& error, int) mutable {
        if (error) return;
        callback();
        await_signal(set, std::move(callback));
      });
}

}  // namespace

EventLoop::EventLoop() : impl_(std::make_unique<Impl>()) {}
EventLoop::~EventLoop() = default;

std::size_t EventLoop::run_round(std::int64_t wait_ms) {
  boost::asio::io_context& context = impl_->context;
  // A context that ran out of work counts as stopped until restarted.
  if (context.stopped()) context.restart();
  std::size_t count = 0;
  while (count < kHandlersPerRoundMax && context.poll_one() > 0) ++count;
  if (count > 0 || wait_ms == 0) return count;
  // Waiting must last also when nothing is registered yet: post() from another thread may come.
  const auto guard = boost::asio::make_work_guard(context);
  if (context.stopped()) context.restart();
  count +=
      wait_ms < 0 ? context.run_one() : context.run_one_for(std::chrono::milliseconds(wait_ms));
  while (count > 0 && count < kHandlersPerRoundMax && context.poll_one() > 0) ++count;
  return count;
}

void EventLoop::post(std::function<void()> task) {
  boost::asio::post(impl_->context, std::move(task));
}

void EventLoop::on_signal(int signal_number, std::function<void()> callback) {
  impl_->signals.push_back(
      std::make_unique<boost::asio::signal_set>(impl_->context, signal_number));
  await_signal(*impl_->signals.back(), std::move(callback));
}

std::uint64_t EventLoop::after(std::int64_t delay_ms, std::function<void()> task) {
  const std::uint64_t id = impl_->next_timer_id++;
  auto timer = std::make_unique<boost::asio::steady_timer>(impl_->context,
                                                           std::chrono::milliseconds(delay_ms));
  timer->async_wait([this, id, task = std::move(task)](const boost::system::error_code& error) {
    // Cancelled timers are gone from the map already; a cancel after the expiry finds nothing and
    // the task must not run.
    if (error || impl_->timers.erase(id) == 0) return;
    task();
  });
  impl_->timers.emplace(id, std::move(timer));
  return id;
}

void EventLoop::cancel(std::uint64_t timer_id) { impl_->timers.erase(timer_id); }

}  // namespace weir::net
