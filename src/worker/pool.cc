// SPDX-License-Identifier: Apache-2.0
// See pool.h.
#include "worker/pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "worker/guard.h"
#include "worker/settle.h"

namespace weir::worker {
namespace {

// Will the same claim never be answered otherwise? Then a worker that has just been started should
// say so and end.
bool is_for_good(ErrorCode code) {
  return code == ErrorCode::unauthenticated || code == ErrorCode::permission_denied ||
         code == ErrorCode::invalid_argument || code == ErrorCode::unsupported;
}

// The bound on a run: the worker's own, or the job's, whichever ends first; 0: none. The job's is
// kept a little short: at its very end the server fails the attempt by itself, and what the handler
// had to say would come too late.
std::int64_t timeout_of(std::int64_t own_ms, std::int64_t job_ms) {
  constexpr std::int64_t kTellMsMax = 200;
  constexpr std::int64_t kTellShare = 20;
  if (job_ms > 0) job_ms -= std::min(job_ms / kTellShare, kTellMsMax);
  return own_ms > 0 && job_ms > 0 ? std::min(own_ms, job_ms) : std::max(own_ms, job_ms);
}

}  // namespace

Pool::Pool(std::string priority_class, std::uint64_t seed, PoolContext context)
    : class_(std::move(priority_class)),
      context_(std::move(context)),
      backoff_(context_.options.backoff, seed),
      seed_(seed) {}

Pool::~Pool() { WEIR_ASSERT(!claimer_.joinable() && slots_.empty()); }

void Pool::start() {
  for (std::size_t i = 0; i < context_.options.concurrency; ++i) {
    slots_.emplace_back([this, i] { slot_loop(seed_ + i + 1); });
  }
  claimer_ = std::thread([this] { claim_loop(); });
}

void Pool::stop() {
  const std::lock_guard lock(mutex_);
  stopping_.store(true);
  changed_.notify_all();
}

void Pool::join() {
  if (claimer_.joinable()) claimer_.join();
  for (std::thread& slot : slots_) slot.join();
  slots_.clear();
}

bool Pool::is_idle() const {
  const std::lock_guard lock(mutex_);
  return claims_ended_ && busy_ == 0;
}

std::size_t Pool::wait_for_idle_slots() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_.load() || busy_ < context_.options.concurrency; });
  return stopping_ ? 0 : context_.options.concurrency - busy_;
}

void Pool::claim_loop() {
  client::ClaimRequest request;
  request.queues = context_.options.queues;
  request.kinds = context_.options.kinds;
  if (!class_.empty()) request.classes = {class_};
  request.wait_ms = context_.options.poll_wait_ms;
  request.lease_ms = context_.options.lease_ms;
  request.worker_id = context_.options.worker_id;
  while (true) {
    const std::size_t idle = wait_for_idle_slots();
    if (idle == 0) break;
    request.max = static_cast<std::uint32_t>(idle);
    Result<std::vector<client::ClaimedJob>> jobs = context_.api.claim(request, &stopping_);
    if (!jobs) {
      if (!stopping_) claim_failed(jobs.error());
      continue;
    }
    if (!backoff_.is_reset()) {
      backoff_.reset();
      log::info("claiming again", {log::field("pool", class_)});
    }
    has_ever_claimed_ = true;
    accept(std::move(*jobs));
  }
  const std::lock_guard lock(mutex_);
  claims_ended_ = true;
  changed_.notify_all();
}

void Pool::claim_failed(const Error& error) {
  if (!has_ever_claimed_ && is_for_good(error.code)) {
    context_.refused(error);
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_.load(); });
    return;
  }
  const bool is_first = backoff_.is_reset();
  const std::int64_t wait_ms = backoff_.next_ms(error.retry_after_ms);
  if (is_first) {
    log::warning("claiming failed, trying again until it works",
                 {log::field("pool", class_), log::field("code", to_string(error.code)),
                  log::field("detail", error.detail)});
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(wait_ms), [this] { return stopping_.load(); });
}

void Pool::accept(std::vector<client::ClaimedJob> jobs) {
  const std::int64_t now_ms = context_.clock.boot_ms();
  for (client::ClaimedJob& job : jobs) {
    Running running{.job = std::move(job), .cancel = std::make_shared<Cancel>()};
    running.timeout_ms = timeout_of(context_.options.timeout_ms, running.job.timeout_ms);
    running.job.deadline_at = running.timeout_ms > 0
                                  ? context_.clock.wall_now().plus(running.timeout_ms)
                                  : running.job.lease_expires_at;
    context_.leases.add({.lease = running.job.lease(),
                         .lease_ms = context_.options.lease_ms,
                         .timeout_ms = running.timeout_ms,
                         .cancel = running.cancel},
                        now_ms);
    const std::lock_guard lock(mutex_);
    ++busy_;
    ready_.push_back(std::move(running));
    changed_.notify_all();
  }
  if (!jobs.empty()) context_.leases_changed();
}

void Pool::slot_loop(std::uint64_t seed) {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !ready_.empty() || claims_ended_; });
    if (ready_.empty()) return;
    Running running = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    // What came while the worker was already stopping is given back untouched.
    HandlerResult result = stopping_ ? HandlerResult::release()
                                     : run_guarded(context_.handler, running.job, *running.cancel);
    finish(running, std::move(result), seed++);
  }
}

void Pool::finish(Running& running, HandlerResult result, std::uint64_t seed) {
  const CancelReason reason = running.cancel->reason();
  const std::optional<HandlerResult> outcome =
      outcome_to_tell(std::move(result), reason, running.timeout_ms);
  if (outcome) {
    settle({.api = context_.api,
            .clock = context_.clock,
            .backoff = Backoff(context_.options.backoff, seed),
            .lease_ms = context_.options.lease_ms,
            .wait = context_.settle_wait,
            .cancel = *running.cancel},
           running.job, *outcome);
  } else {
    log::warning("lease lost, result dropped",
                 {log::field("job", running.job.id), log::field("queue", running.job.queue)});
  }
  context_.leases.remove(running.job.lease());
  const std::lock_guard lock(mutex_);
  --busy_;
  changed_.notify_all();
}

}  // namespace weir::worker
