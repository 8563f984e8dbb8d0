// SPDX-License-Identifier: Apache-2.0
// The only door to the machine's clocks. Everything that waits or dates takes a Clock; tests pass a
// ManualClock.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weir {

// Thread-safe. An implementation is either the machine's clock or a manual one.
class Clock {
 public:
  virtual ~Clock() = default;

  // The wall clock; may step in both directions.
  virtual WallTime wall_now() const = 0;

  // Milliseconds since an arbitrary start that go on during suspend and never go back
  // (CLOCK_BOOTTIME).
  virtual std::int64_t boot_ms() const = 0;

  // The same in microseconds, for measuring.
  virtual std::int64_t boot_us() const = 0;
};

// The machine's clocks. Stateless.
class SystemClock final : public Clock {
 public:
  WallTime wall_now() const override;
  std::int64_t boot_ms() const override;
  std::int64_t boot_us() const override;
};

// A clock that moves by call only. One thread.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime wall = WallTime{1'800'000'000'000}) : wall_(wall) {}
  WallTime wall_now() const override { return wall_; }
  std::int64_t boot_ms() const override { return boot_us_ / 1000; }
  std::int64_t boot_us() const override { return boot_us_; }

  // Both clocks go forward.
  void advance(std::int64_t duration_ms) {
    wall_ = wall_.plus(duration_ms);
    boot_us_ += duration_ms * 1000;
  }
  // Only the wall clock steps, either way.
  void step_wall(std::int64_t duration_ms) { wall_ = wall_.plus(duration_ms); }

 private:
  WallTime wall_;
  std::int64_t boot_us_ = 1'000'000'000;
};

}  // namespace weir
