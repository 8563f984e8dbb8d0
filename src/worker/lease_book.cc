// SPDX-License-Identifier: Apache-2.0
// See lease_book.h.
#include "worker/lease_book.h"

#include <algorithm>
#include <limits>

#include "base/log.h"

namespace weir::worker {
namespace {
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kRepeatMsMax = 2'000;

std::int64_t extend_every_ms(std::int64_t lease_ms) {
  return std::max<std::int64_t>(lease_ms / 3, 1);
}
// How soon an extend that got no answer is sent again.
std::int64_t repeat_after_ms(std::int64_t lease_ms) {
  return std::clamp<std::int64_t>(lease_ms / 12, 1, kRepeatMsMax);
}
}  // namespace

void LeaseBook::add(HeldLease held, std::int64_t claimed_at_ms) {
  const std::lock_guard lock(mutex_);
  Entry entry;
  entry.due_ms = claimed_at_ms + extend_every_ms(held.lease_ms);
  entry.timeout_at_ms = held.timeout_ms > 0 ? claimed_at_ms + held.timeout_ms : kNever;
  Key key = held.lease.token;
  entry.held = std::move(held);
  entries_.insert_or_assign(std::move(key), std::move(entry));
}

void LeaseBook::remove(const client::LeaseRef& lease) {
  const std::lock_guard lock(mutex_);
  entries_.erase(lease.token);
}

std::vector<client::ExtendItem> LeaseBook::take_due(std::int64_t now_ms, std::size_t max) {
  const std::lock_guard lock(mutex_);
  std::vector<client::ExtendItem> due;
  for (auto& [key, entry] : entries_) {
    if (due.size() >= max) break;
    if (entry.due_ms > now_ms) continue;
    due.push_back({.lease = entry.held.lease, .lease_ms = entry.held.lease_ms});
    entry.due_ms = now_ms + repeat_after_ms(entry.held.lease_ms);
  }
  return due;
}

void LeaseBook::answered(const client::LeaseRef& lease, const Result<WallTime>& answer,
                         std::int64_t now_ms) {
  std::shared_ptr<Cancel> lost;
  {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(lease.token);
    if (found == entries_.end()) return;  // settled in the meantime
    if (answer) {
      found->second.due_ms = now_ms + extend_every_ms(found->second.held.lease_ms);
      return;
    }
    const ErrorCode code = answer.error().code;
    if (code != ErrorCode::lease_lost && code != ErrorCode::gone && code != ErrorCode::not_found)
      return;
    found->second.due_ms = kNever;
    lost = found->second.held.cancel;
  }
  if (lost->cancel(CancelReason::lease_lost)) {
    log::warning("lease lost, stopping the handler", {log::field("job", lease.job_id)});
  }
}

std::int64_t LeaseBook::next_due_ms() const {
  const std::lock_guard lock(mutex_);
  std::int64_t next = kNever;
  for (const auto& [key, entry] : entries_) next = std::min(next, entry.due_ms);
  return next;
}

std::size_t LeaseBook::cancel_overdue(std::int64_t now_ms) {
  const std::lock_guard lock(mutex_);
  std::size_t cancelled = 0;
  for (auto& [key, entry] : entries_) {
    if (entry.timeout_at_ms > now_ms) continue;
    entry.timeout_at_ms = kNever;
    if (entry.held.cancel->cancel(CancelReason::timeout)) ++cancelled;
  }
  return cancelled;
}

std::int64_t LeaseBook::next_timeout_ms() const {
  const std::lock_guard lock(mutex_);
  std::int64_t next = kNever;
  for (const auto& [key, entry] : entries_) next = std::min(next, entry.timeout_at_ms);
  return next;
}

void LeaseBook::cancel_all(CancelReason reason) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, entry] : entries_) entry.held.cancel->cancel(reason);
}

std::size_t LeaseBook::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace weir::worker
