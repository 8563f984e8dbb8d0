// SPDX-License-Identifier: Apache-2.0
// The time of a turn: read once at its start. Also sees stalls of the loop: after one, leases are
// not expired before one more round of input was taken, and the verbs of workers are judged by the
// time before the stall, since their heartbeats may have arrived while nobody read.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/time.h"

namespace weir::engine {

inline constexpr std::int64_t kStallMs = 100;

// One thread. The clock must outlive it.
class TurnClock {
 public:
  explicit TurnClock(const Clock& clock) : clock_(clock) {}

  // The store's clock goes on from `store_time`.
  void start(StoreTime store_time);

  // Reads the clocks for a turn.
  void begin_turn();
  // The caller may sleep for so long without that being a stall.
  void end_turn(std::int64_t next_turn_in_ms) { planned_idle_ms_ = next_turn_in_ms; }

  Now now() const { return now_; }                   // of the turn
  std::int64_t boot_ms() const { return boot_ms_; }  // of the turn
  // By which instant shown leases are judged in this turn.
  StoreTime judged_at() const { return judged_at_; }
  // False in the first turn after a stall.
  bool may_expire_leases() const { return may_expire_leases_; }

  // The store's time of this very moment, for planning a sleep.
  StoreTime store_time_at(std::int64_t boot_ms) const {
    return store_start_.plus(boot_ms - boot_start_ms_);
  }

 private:
  const Clock& clock_;
  StoreTime store_start_;
  std::int64_t boot_start_ms_ = 0;
  std::int64_t boot_ms_ = 0;
  std::int64_t planned_idle_ms_ = 0;
  Now now_;
  StoreTime judged_at_;
  bool may_expire_leases_ = true;
};

}  // namespace weir::engine
