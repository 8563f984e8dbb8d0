// SPDX-License-Identifier: Apache-2.0
// See retry_after.h.
#include "worker/retry_after.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace weir::worker {
namespace {
constexpr std::int64_t kRetryAfterMsMax = 24 * kMsPerHour;
constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
}  // namespace

std::optional<WallTime> parse_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT": fixed places, so it is RFC 3339 in another order.
  constexpr std::size_t kLength = 29;
  if (text.size() != kLength || text.substr(3, 2) != ", " || text.substr(25) != " GMT" ||
      text[7] != ' ' || text[11] != ' ' || text[16] != ' ') {
    return std::nullopt;
  }
  const std::size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  const auto at = parse_rfc3339(fmt::format("{}-{:02}-{}T{}Z", text.substr(12, 4), month / 3 + 1,
                                            text.substr(5, 2), text.substr(17, 8)));
  if (!at) return std::nullopt;
  return *at;
}

std::optional<std::int64_t> parse_retry_after_ms(std::string_view text, WallTime now) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  if (const auto seconds = parse_u64("Retry-After", text)) {
    constexpr std::uint64_t kSecondsMax = kRetryAfterMsMax / kMsPerSecond;
    return static_cast<std::int64_t>(std::min(*seconds, kSecondsMax)) * kMsPerSecond;
  }
  const std::optional<WallTime> at = parse_http_date(text);
  if (!at) return std::nullopt;
  return std::clamp<std::int64_t>(at->since(now), 0, kRetryAfterMsMax);
}

}  // namespace weir::worker
