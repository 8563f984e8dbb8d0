// SPDX-License-Identifier: Apache-2.0
#include "engine/turn_clock.h"

namespace weir::engine {

void TurnClock::start(StoreTime store_time) {
  store_start_ = store_time;
  boot_start_ms_ = boot_ms_ = clock_.boot_ms();
  now_ = Now{clock_.wall_now(), store_time};
  judged_at_ = store_time;
}

void TurnClock::begin_turn() {
  const std::int64_t boot_ms = clock_.boot_ms();
  const StoreTime before = now_.store;
  const bool is_stalled = boot_ms - boot_ms_ - planned_idle_ms_ > kStallMs;
  const bool was_held = !may_expire_leases_;
  boot_ms_ = boot_ms;
  now_ = Now{clock_.wall_now(), store_time_at(boot_ms)};
  if (was_held) {
    // The round after: its input is judged as that of the first one was, then leases may end. Also
    // when this turn comes late again: a loop that is always slow must still expire leases.
    may_expire_leases_ = true;
    return;
  }
  may_expire_leases_ = !is_stalled;
  judged_at_ = is_stalled ? before : now_.store;
}

}  // namespace weir::engine
