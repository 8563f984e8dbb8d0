// SPDX-License-Identifier: Apache-2.0
// Reserves: demands on the engine, deliveries, timeouts, DEADLINE_SOON.
//
// All reserves that wait are one demand. What comes answers them in order; when the time of the
// first is over it is told so, and the next one's time begins.
#include <algorithm>
#include <utility>

#include "doors/beanstalk/map.h"
#include "doors/beanstalk/session.h"

namespace weir::doors::beanstalk {
namespace {

// beanstalkd warns a client that has a job in its last second instead of letting it wait.
constexpr std::int64_t kDeadlineMarginMs = 1 * kMsPerSecond;
// Nothing more is asked for while so much of what was delivered has not been sent.
constexpr std::size_t kUnsentMax = 1 * core::kMiB;
constexpr std::int64_t kForEverMs = 365 * kMsPerDay;

}  // namespace

void Session::reserve(std::int64_t timeout_ms) {
  note_worker();
  // One verb for both: what carries a job is told by it.
  waiting_.push_back({.sequence = add_slot(Verb::reserve), .timeout_ms = timeout_ms});
  count_waiting();
  if (has_read_end_) end_reserves(Reply::timed_out);
}

// A connection counts as waiting in every tube that it watches.
void Session::count_waiting() {
  const bool is_waiting = !waiting_.empty() && !is_gone_;
  if (is_waiting == is_counted_waiting_) return;
  is_counted_waiting_ = is_waiting;
  door_.waiting += is_waiting ? 1 : ~std::size_t{0};
  for (Tube* tube : watched_) tube->waiting_count += is_waiting ? 1U : ~0U;
}

void Session::place_demand() {
  if (has_demand_ || waiting_.empty() || is_gone_ || is_closing_) return;
  if (output().size() > kUnsentMax) return;
  const std::int64_t now_ms = door_.clock.boot_ms();
  held_.drop_ended(now_ms);
  WaitingReserve& first = waiting_.front();
  if (first.until_ms < 0) {
    first.until_ms =
        first.timeout_ms == kForEver ? kNoDeadline : saturating_add(now_ms, first.timeout_ms);
  }
  const std::int64_t horizon_ms = std::min(first.until_ms, saturating_add(now_ms, kForEverMs));
  const std::int64_t warn_ms =
      held_.soonest_deadline(now_ms, saturating_add(horizon_ms, kDeadlineMarginMs)) -
      kDeadlineMarginMs;
  engine::Demand demand{
      .credit = static_cast<std::uint32_t>(waiting_.size()),
      .wait_ms = std::max<std::int64_t>(0, std::min(horizon_ms, warn_ms) - now_ms),
      .worker_id = worker_,
      .owner = core::OwnerKind::connection,
      .connection = connection_,
      .principal = door_.principal,
      .body_bytes_max = kUnsentMax};
  demand.queues.reserve(watched_.size());
  for (const Tube* tube : watched_) demand.queues.push_back(tube->name);
  has_demand_ = true;
  demand_ = door_.engine.demand(
      std::move(demand),
      [this](Result<std::vector<engine::Delivery>> got) { delivered(std::move(got)); });
}

void Session::withdraw_demand() {
  if (!std::exchange(has_demand_, false)) return;
  door_.engine.withdraw(demand_);
}

void Session::delivered(Result<std::vector<engine::Delivery>> got) {
  has_demand_ = false;
  if (!got) {
    // The server stops: beanstalkd has no word for a reserve that will never come.
    is_closing_ = true;
    while (!waiting_.empty()) {
      const std::uint64_t sequence = waiting_.front().sequence;
      waiting_.pop_front();
      end_answer(sequence);
    }
    return count_waiting();
  }
  for (engine::Delivery& delivery : *got) deliver(delivery);
  if (got->empty()) nothing_came();
  count_waiting();
  place_demand();
  announce();
}

void Session::deliver(engine::Delivery& delivery) {
  const core::Job& job = delivery.job;
  const std::uint64_t sequence = waiting_.front().sequence;
  waiting_.pop_front();
  hold(delivery.job, delivery.claimed.token);
  slot(sequence).number = job.id.value;
  append_job(begin_answer(sequence), Reply::reserved, job.id.value, delivery.body.payload);
  end_answer(sequence);
}

void Session::hold(const core::Job& job, const core::LeaseToken& token) {
  HeldJob held{.id = job.id.value, .token = token};
  if (const auto& lease = job.lease) {
    held.lease_ms = lease->deadline_at.since(lease->started_at);
    held.deadline_ms = saturating_add(door_.clock.boot_ms(), held.lease_ms);
  }
  held_.put(held);
}

void Session::claimed_by_id(std::uint64_t sequence, const core::Claimed& claimed) {
  const Result<core::JobBody> body = is_gone_ ? Result<core::JobBody>(failure(ErrorCode::gone, ""))
                                              : door_.engine.job_body(claimed.job);
  const Result<engine::JobView> job = door_.engine.job(claimed.job);
  if (!body || !job) {
    door_.engine.abandon(claimed.job, claimed.token, door_.principal,
                         engine::Engine::LeaseEnd::undelivered);
    slot(sequence).number = 0;
    answer(sequence, reply_of(body ? job.error().code : body.error().code));
    return forget_if_over();
  }
  hold(job->job, claimed.token);
  append_job(begin_answer(sequence), Reply::reserved, claimed.job.value, body->payload);
  end_answer(sequence);
}

// The wait of the first reserve is over.
void Session::nothing_came() {
  const std::int64_t now_ms = door_.clock.boot_ms();
  const std::int64_t soonest_ms =
      held_.soonest_deadline(now_ms, saturating_add(now_ms, kDeadlineMarginMs));
  const bool is_soon = soonest_ms <= saturating_add(now_ms, kDeadlineMarginMs);
  // Those behind the first that do not wait at all were asked at the same instant.
  bool is_first = true;
  while (!waiting_.empty()) {
    WaitingReserve& next = waiting_.front();
    const bool is_over = is_first ? next.until_ms <= now_ms : next.timeout_ms == 0;
    if (!is_over && !is_soon) break;
    const std::uint64_t sequence = next.sequence;
    waiting_.pop_front();
    answer(sequence, is_soon ? Reply::deadline_soon : Reply::timed_out);
    is_first = false;
  }
}

void Session::end_reserves(Reply reply) {
  withdraw_demand();
  while (!waiting_.empty()) {
    const std::uint64_t sequence = waiting_.front().sequence;
    waiting_.pop_front();
    answer(sequence, reply);
  }
  count_waiting();
}

}  // namespace weir::doors::beanstalk
