// SPDX-License-Identifier: Apache-2.0
// The machine's clocks: the only file that asks them.
#include "base/clock.h"

#include <ctime>

namespace weir {
namespace {

std::int64_t read_us(clockid_t clock) {
  timespec at{};
  clock_gettime(clock, &at);
  return static_cast<std::int64_t>(at.tv_sec) * 1'000'000 + at.tv_nsec / 1'000;
}

}  // namespace

WallTime SystemClock::wall_now() const { return WallTime{read_us(CLOCK_REALTIME) / 1'000}; }
std::int64_t SystemClock::boot_ms() const { return read_us(CLOCK_BOOTTIME) / 1'000; }
std::int64_t SystemClock::boot_us() const { return read_us(CLOCK_BOOTTIME); }

}  // namespace weir
