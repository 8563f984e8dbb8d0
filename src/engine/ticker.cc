// SPDX-License-Identifier: Apache-2.0
#include "engine/ticker.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace weir::engine {
namespace {

constexpr std::int64_t kHoldMs = 1000;
constexpr std::int64_t kLookMs =
    100;  // between two looks while something is held: others may fall due meanwhile
constexpr std::size_t kHeldMax = 4096;

core::Command command_of(const store::Due& due) {
  switch (due.kind) {
    case store::Due::Kind::run_at:
    case store::Due::Kind::retry:
      return core::BecomeDue{due.job};
    case store::Due::Kind::lease:
      return core::ExpireLease{due.job};
    case store::Due::Kind::ttl:
      return core::ExpireTtl{due.job};
    case store::Due::Kind::retention:
      return core::Retain{due.job};
    case store::Due::Kind::unique_key:
      return core::ForgetUnique{due.queue, due.key};
    case store::Due::Kind::idempotency:
      return core::ForgetIdempotency{due.scope};
  }
  return core::BecomeDue{due.job};
}

}  // namespace

Ticker::Key Ticker::key_of(const store::Due& due) {
  const std::uint64_t id = due.job ? due.job.value : due.queue.value;
  return {due.kind, id, due.scope, due.key};
}

void Ticker::forget_old_holds() {
  std::erase_if(held_, [&](const auto& entry) { return entry.second <= state_.time.boot_ms(); });
}

Result<bool> Ticker::run() {
  const std::int64_t boot_ms = state_.time.boot_ms();
  if (idle_until_boot_ms_ > boot_ms) return false;
  forget_old_holds();
  due_.clear();
  const std::size_t limit = kDuePerTurnMax + held_.size();
  state_.store.due(state_.time.now(), limit, due_);

  std::vector<Work> works;
  std::vector<std::size_t> owner;  // index into due_
  bool is_lease_waiting = false;
  for (std::size_t i = 0; i < due_.size(); ++i) {
    const store::Due& due = due_[i];
    if (due.kind == store::Due::Kind::lease && !state_.time.may_expire_leases()) {
      is_lease_waiting = true;
      continue;
    }
    if (held_.contains(key_of(due))) continue;
    Work work;
    work.request = core::Request{.command = command_of(due), .principal = {.id = "server"}};
    works.push_back(std::move(work));
    owner.push_back(i);
  }
  if (works.empty()) {
    if (!due_.empty() && !is_lease_waiting) idle_until_boot_ms_ = boot_ms + kLookMs;
    return is_lease_waiting;
  }
  WEIR_TRY(committer_.run(works));
  bool is_progress = false;
  for (std::size_t i = 0; i < works.size(); ++i) {
    if (works[i].seq != 0) {
      is_progress = true;
    } else {
      held_.emplace(key_of(due_[owner[i]]), boot_ms + kHoldMs);
    }
  }
  committer_.push_releases(works);
  // Too much that does not move: rest as a whole rather than remember each.
  if (held_.size() > kHeldMax) {
    held_.clear();
    idle_until_boot_ms_ = boot_ms + kHoldMs;
    return false;
  }
  return is_lease_waiting || (is_progress && due_.size() >= limit);
}

std::int64_t Ticker::next_in_ms() const {
  WallTime wall = WallTime::never();
  StoreTime store = StoreTime::never();
  state_.store.next_due(wall, store);
  const std::int64_t boot_ms = state_.clock.boot_ms();
  std::int64_t in_ms = std::numeric_limits<std::int64_t>::max();
  if (wall != WallTime::never()) in_ms = wall.since(state_.clock.wall_now());
  if (store != StoreTime::never())
    in_ms = std::min(in_ms, store.since(state_.time.store_time_at(boot_ms)));
  in_ms = std::max<std::int64_t>(in_ms, 0);
  // next_due() goes on naming what is held: do not come back at once for that alone.
  std::int64_t rest_ms = std::max<std::int64_t>(0, idle_until_boot_ms_ - boot_ms);
  if (!held_.empty()) rest_ms = std::max(rest_ms, kLookMs);
  return std::max(in_ms, rest_ms);
}

}  // namespace weir::engine
