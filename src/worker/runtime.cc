// SPDX-License-Identifier: Apache-2.0
// See runtime.h.
#include "worker/runtime.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/log.h"
#include "worker/lease_book.h"
#include "worker/pool.h"

namespace weir::worker {
namespace {

constexpr std::size_t kExtendItemsMax = 1'000;
constexpr std::int64_t kWaitMsMax = 60'000;
// How long outcomes may still be told after the grace: handlers that were stopped then release
// their jobs.
constexpr std::int64_t kSettleAfterGraceMs = 5'000;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

}  // namespace

struct Runtime::Impl {
  Impl(Options given, client::JobApi& job_api, Handler& job_handler, const Clock& job_clock)
      : options(std::move(given)), api(job_api), handler(job_handler), clock(job_clock) {
    std::uint64_t seed = options.seed;
    for (const std::string& priority_class : options.pool_classes) {
      seed += options.concurrency + 1;
      pools.push_back(std::make_unique<Pool>(priority_class, seed, pool_context()));
    }
  }

  PoolContext pool_context() {
    return {.options = options,
            .api = api,
            .handler = handler,
            .clock = clock,
            .leases = leases,
            .leases_changed = [this] { wake(); },
            .refused = [this](Error error) { refuse(std::move(error)); },
            .settle_wait = [this](std::int64_t wait_ms) { return wait_to_settle(wait_ms); }};
  }

  void wake() {
    const std::lock_guard lock(mutex);
    ++changes;
    changed.notify_all();
  }
  void refuse(Error error) {
    {
      const std::lock_guard lock(mutex);
      if (!refusal) refusal = std::move(error);
    }
    request_stop();
  }
  void request_stop() {
    {
      const std::lock_guard lock(mutex);
      if (is_stopping) return;
      is_stopping = true;
      stop_at_ms = clock.boot_ms();
      ++changes;
      log::info("draining", {log::field("running", std::uint64_t{leases.size()})});
      changed.notify_all();
    }
    for (const auto& pool : pools) pool->stop();
  }
  bool has_settle_time() const {  // with mutex held
    return !is_killed &&
           (!is_stopping || clock.boot_ms() < stop_at_ms + options.grace_ms + kSettleAfterGraceMs);
  }
  bool wait_to_settle(std::int64_t wait_ms) {
    std::unique_lock lock(mutex);
    if (!has_settle_time()) return false;
    changed.wait_for(lock, std::chrono::milliseconds(wait_ms), [this] { return is_killed; });
    return has_settle_time();
  }

  void heartbeat_loop();
  void watch_loop();
  void drain_loop();
  bool are_queues_empty();
  // Waits until `at_ms`, a change after `seen`, or the end; false at the end. Take `seen` before
  // looking at what decides `at_ms`: else a change in between is slept through.
  bool wait_until(std::int64_t at_ms, std::uint64_t seen);
  std::uint64_t changes_seen() {
    const std::lock_guard lock(mutex);
    return changes;
  }

  const Options options;
  client::JobApi& api;
  Handler& handler;
  const Clock& clock;
  LeaseBook leases;
  std::vector<std::unique_ptr<Pool>> pools;

  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t changes = 0;     // guarded by mutex
  bool is_stopping = false;      // guarded by mutex
  bool is_killed = false;        // guarded by mutex
  bool has_ended = false;        // guarded by mutex
  std::int64_t stop_at_ms = 0;   // guarded by mutex
  std::optional<Error> refusal;  // guarded by mutex

  std::vector<std::thread> helpers;  // heartbeat, watch, drain; they end once has_ended
};

bool Runtime::Impl::wait_until(std::int64_t at_ms, std::uint64_t seen) {
  std::unique_lock lock(mutex);
  const std::int64_t now_ms = clock.boot_ms();
  const std::int64_t wait_ms = at_ms <= now_ms ? 0 : std::min(at_ms - now_ms, kWaitMsMax);
  changed.wait_for(lock, std::chrono::milliseconds(wait_ms),
                   [this, seen] { return has_ended || changes != seen; });
  return !has_ended;
}

void Runtime::Impl::heartbeat_loop() {
  while (true) {
    const std::uint64_t seen = changes_seen();
    if (!wait_until(leases.next_due_ms(), seen)) return;
    const std::vector<client::ExtendItem> due = leases.take_due(clock.boot_ms(), kExtendItemsMax);
    if (due.empty()) continue;
    const Result<std::vector<Result<WallTime>>> answers = api.extend(due);
    if (!answers) {
      log::warning("leases could not be extended, trying again",
                   {log::field("count", std::uint64_t{due.size()}),
                    log::field("detail", answers.error().detail)});
      continue;
    }
    const std::int64_t now_ms = clock.boot_ms();
    for (std::size_t i = 0; i < due.size(); ++i)
      leases.answered(due[i].lease, (*answers)[i], now_ms);
  }
}

void Runtime::Impl::watch_loop() {
  bool has_cancelled = false;
  while (true) {
    const std::uint64_t seen = changes_seen();
    std::int64_t grace_ends_ms = kNever;
    {
      const std::lock_guard lock(mutex);
      if (is_stopping && !has_cancelled) grace_ends_ms = stop_at_ms + options.grace_ms;
    }
    if (!wait_until(std::min(leases.next_timeout_ms(), grace_ends_ms), seen)) return;
    const std::int64_t now_ms = clock.boot_ms();
    leases.cancel_overdue(now_ms);
    if (now_ms < grace_ends_ms) continue;
    has_cancelled = true;
    if (leases.size() > 0) {
      log::warning("the grace is over, stopping what still runs",
                   {log::field("running", std::uint64_t{leases.size()})});
    }
    leases.cancel_all(CancelReason::stopping);
  }
}

bool Runtime::Impl::are_queues_empty() {
  for (const std::string& queue : options.queues) {
    const Result<std::uint64_t> unfinished = api.unfinished(queue);
    // Not knowing is not empty.
    if (!unfinished || *unfinished > 0) return false;
  }
  return true;
}

void Runtime::Impl::drain_loop() {
  while (true) {
    {
      std::unique_lock lock(mutex);
      changed.wait_for(lock, std::chrono::milliseconds(options.drain_check_ms),
                       [this] { return is_stopping; });
      if (is_stopping) return;
    }
    if (leases.size() > 0 || !are_queues_empty()) continue;
    log::info("queues are empty");
    request_stop();
    return;
  }
}

Runtime::Runtime(Options options, client::JobApi& api, Handler& handler, const Clock& clock)
    : impl_(std::make_unique<Impl>(std::move(options), api, handler, clock)) {}

Runtime::~Runtime() = default;

void Runtime::start() {
  for (const auto& pool : impl_->pools) pool->start();
  impl_->helpers.emplace_back([impl = impl_.get()] { impl->heartbeat_loop(); });
  impl_->helpers.emplace_back([impl = impl_.get()] { impl->watch_loop(); });
  if (impl_->options.drain)
    impl_->helpers.emplace_back([impl = impl_.get()] { impl->drain_loop(); });
}

void Runtime::request_stop() { impl_->request_stop(); }

bool Runtime::wait_ended(std::int64_t wait_ms) {
  constexpr std::int64_t kLookEveryMs = 20;
  const std::int64_t until_ms = impl_->clock.boot_ms() + wait_ms;
  while (true) {
    const bool all_idle =
        std::all_of(impl_->pools.begin(), impl_->pools.end(),
                    [](const std::unique_ptr<Pool>& pool) { return pool->is_idle(); });
    if (all_idle) return true;
    const std::int64_t left_ms = until_ms - impl_->clock.boot_ms();
    if (left_ms <= 0) return false;
    std::unique_lock lock(impl_->mutex);
    impl_->changed.wait_for(lock, std::chrono::milliseconds(std::min(left_ms, kLookEveryMs)));
  }
}

Result<void> Runtime::join() {
  for (const auto& pool : impl_->pools) pool->join();
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->has_ended = true;
    impl_->changed.notify_all();
  }
  for (std::thread& helper : impl_->helpers) helper.join();
  impl_->helpers.clear();
  if (impl_->refusal) return failure(*impl_->refusal);
  log::info("drained, exiting");
  return {};
}

void Runtime::kill() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->is_killed = true;
    impl_->changed.notify_all();
  }
  impl_->handler.kill_everything();
}

std::size_t Runtime::running() const { return impl_->leases.size(); }

}  // namespace weir::worker
