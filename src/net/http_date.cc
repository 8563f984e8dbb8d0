// SPDX-License-Identifier: Apache-2.0
#include "net/http_date.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

namespace weir::net {

std::string format_http_date(WallTime at) {
  static constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed",
                                                    "Thu", "Fri", "Sat"};
  static constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::chrono::sys_time<std::chrono::milliseconds> instant{std::chrono::milliseconds(at.ms)};
  const auto day = std::chrono::floor<std::chrono::days>(instant);
  const std::chrono::year_month_day date{day};
  const std::chrono::weekday weekday{day};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(instant - day).count();
  return fmt::format(
      "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kDays[weekday.c_encoding()],
      static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
      static_cast<int>(date.year()), seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string_view HttpDateCache::now() {
  const std::int64_t second = clock_.wall_now().ms / kMsPerSecond;
  if (second != second_) {
    second_ = second;
    text_ = format_http_date(WallTime{second * kMsPerSecond});
  }
  return text_;
}

}  // namespace weir::net
