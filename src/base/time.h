// SPDX-License-Identifier: Apache-2.0
// Two kinds of time that cannot be mixed up.
//
// WallTime is what people mean (run_at, created_at, cron): milliseconds since 1970-01-01 UTC, up to
// the end of year 9999. StoreTime is what leases, backoff, TTL and retention run on: milliseconds
// of the store's own clock, which only moves forward (boot-time driven; after a restart it goes on
// at last + max(0, wall elapsed)). A step of the wall clock does not touch it. Durations are plain
// std::int64_t milliseconds named *_ms, with saturating arithmetic.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir {

inline constexpr std::int64_t kMsPerSecond = 1000;
inline constexpr std::int64_t kMsPerMinute = 60 * kMsPerSecond;
inline constexpr std::int64_t kMsPerHour = 60 * kMsPerMinute;
inline constexpr std::int64_t kMsPerDay = 24 * kMsPerHour;

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}
constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max()
                            : std::numeric_limits<std::int64_t>::min();
}

// An instant of one clock. `none()` is the absent instant (0): no real instant of weir is 0.
template <typename Tag>
struct Instant {
  std::int64_t ms = 0;

  static constexpr Instant none() { return Instant{0}; }
  static constexpr Instant never() { return Instant{std::numeric_limits<std::int64_t>::max()}; }
  constexpr bool is_set() const { return ms != 0; }
  constexpr Instant plus(std::int64_t duration_ms) const {
    return Instant{saturating_add(ms, duration_ms)};
  }
  constexpr std::int64_t since(Instant earlier) const { return saturating_add(ms, -earlier.ms); }
  constexpr auto operator<=>(const Instant&) const = default;
};

using WallTime = Instant<struct WallTag>;
using StoreTime = Instant<struct StoreTag>;

// 9999-12-31T23:59:59.999Z, the last instant that weir keeps.
inline constexpr WallTime kWallTimeMax{253402300799999};

// What a turn knows of time: read once, passed down.
struct Now {
  WallTime wall;
  StoreTime store;
  constexpr bool operator==(const Now&) const = default;
};

// The wall-clock instant that corresponds to a store instant, seen from `now`. For display only.
constexpr WallTime to_wall(StoreTime at, Now now) {
  return at.is_set() ? WallTime{saturating_add(now.wall.ms, at.since(now.store))}
                     : WallTime::none();
}

// "2026-11-29T16:30:00.123Z" (milliseconds left out when zero). Requires: at.is_set(), within year
// 9999.
std::string format_rfc3339(WallTime at);

// Parses RFC 3339 with offset or Z, fraction cut to milliseconds. Errors: invalid_argument (also
// beyond year 9999).
Result<WallTime> parse_rfc3339(std::string_view text);

// "30s", "5m", "2h", "7d", "250ms", also sums such as "1h30m"; a plain number is milliseconds.
// Never negative. Errors: invalid_argument, which says what would be right.
Result<std::int64_t> parse_duration_ms(std::string_view text);

// Errors: invalid_argument, "<what> is 1ms; it must be 1s to 1d".
Result<void> check_duration(std::string_view what, std::int64_t duration_ms, std::int64_t min_ms,
                            std::int64_t max_ms);

// The shortest text that parses back to the same duration: "1m", "1m30s", "250ms", "0s".
std::string format_duration(std::int64_t duration_ms);

}  // namespace weir
