// SPDX-License-Identifier: Apache-2.0
// RFC 3339 instants and durations as text.
#include "base/time.h"

#include <fmt/format.h>

#include <array>
#include <chrono>

#include "base/text.h"

namespace weir {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// "ms" before "m": the longest name that fits is taken first.
constexpr std::array<Unit, 5> kUnits = {
    {{"ms", 1}, {"d", kMsPerDay}, {"h", kMsPerHour}, {"m", kMsPerMinute}, {"s", kMsPerSecond}}};

Failure bad_instant(std::string_view text) {
  return failure(
      ErrorCode::invalid_argument,
      fmt::format("{} is not a time; write RFC 3339 up to year 9999, such as 2030-01-31T09:30:00Z",
                  json_string(cut_utf8(text, 64))));
}

Failure bad_duration(std::string_view text) {
  return failure(
      ErrorCode::invalid_argument,
      fmt::format(
          "{} is not a duration; write \"250ms\", \"30s\", \"5m\", \"2h\", \"7d\", a sum such as "
          "\"1h30m\", or milliseconds as a number",
          json_string(cut_utf8(text, 64))));
}

// Takes exactly `count` digits from the front of `text`.
bool take_number(std::string_view& text, std::size_t count, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take_char(std::string_view& text, char lower) {
  if (text.empty() || (text.front() | 0x20) != (lower | 0x20)) return false;
  text.remove_prefix(1);
  return true;
}

// Fraction of a second, cut to milliseconds.
bool take_fraction(std::string_view& text, int& ms) {
  ms = 0;
  if (text.empty() || text.front() != '.') return true;
  text.remove_prefix(1);
  int scale = 100;
  std::size_t digits = 0;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    ms += (text.front() - '0') * scale;
    scale /= 10;
    ++digits;
    text.remove_prefix(1);
  }
  return digits > 0;
}

// "Z" or "+hh:mm".
bool take_offset(std::string_view& text, std::int64_t& offset_ms) {
  offset_ms = 0;
  if (take_char(text, 'z')) return true;
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return false;
  const std::int64_t sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  int hours = 0;
  int minutes = 0;
  if (!take_number(text, 2, hours) || !take_char(text, ':') || !take_number(text, 2, minutes))
    return false;
  if (hours > 23 || minutes > 59) return false;
  offset_ms = sign * (hours * kMsPerHour + minutes * kMsPerMinute);
  return true;
}

}  // namespace

std::string format_rfc3339(WallTime at) {
  namespace chrono = std::chrono;
  const chrono::sys_time<chrono::milliseconds> instant{chrono::milliseconds{at.ms}};
  const auto day = chrono::floor<chrono::days>(instant);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss time{instant - day};
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  time.hours().count(), time.minutes().count(), time.seconds().count());
  if (const auto ms = time.subseconds().count(); ms != 0) text += fmt::format(".{:03}", ms);
  return text + 'Z';
}

Result<WallTime> parse_rfc3339(std::string_view text) {
  namespace chrono = std::chrono;
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
  std::int64_t offset_ms = 0;
  const bool shaped = take_number(rest, 4, year) && take_char(rest, '-') &&
                      take_number(rest, 2, month) && take_char(rest, '-') &&
                      take_number(rest, 2, day) && (take_char(rest, 't') || take_char(rest, ' ')) &&
                      take_number(rest, 2, hour) && take_char(rest, ':') &&
                      take_number(rest, 2, minute) && take_char(rest, ':') &&
                      take_number(rest, 2, second) && take_fraction(rest, ms) &&
                      take_offset(rest, offset_ms) && rest.empty();
  if (!shaped || hour > 23 || minute > 59 || second > 60) return bad_instant(text);
  const chrono::year_month_day date{chrono::year{year}, chrono::month{static_cast<unsigned>(month)},
                                    chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return bad_instant(text);
  const std::int64_t days = chrono::sys_days{date}.time_since_epoch().count();
  const std::int64_t at = days * kMsPerDay + hour * kMsPerHour + minute * kMsPerMinute +
                          second * kMsPerSecond + ms - offset_ms;
  if (at > kWallTimeMax.ms) return bad_instant(text);
  // 1970-01-01T00:00:00Z itself would read as "none"; nobody can tell it from one millisecond
  // later.
  return WallTime{at == 0 ? 1 : at};
}

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  if (text.empty()) return bad_duration(text);
  std::string_view rest = text;
  std::int64_t total = 0;
  bool any_unit = false;
  while (!rest.empty()) {
    std::size_t digits = 0;
    std::int64_t value = 0;
    while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') {
      value = saturating_add(saturating_mul(value, 10), rest[digits] - '0');
      ++digits;
    }
    if (digits == 0) return bad_duration(text);
    rest.remove_prefix(digits);
    if (rest.empty()) {
      if (any_unit) return bad_duration(text);
      return value;
    }
    const Unit* found = nullptr;
    for (const Unit& unit : kUnits) {
      if (rest.starts_with(unit.name)) {
        found = &unit;
        break;
      }
    }
    if (found == nullptr) return bad_duration(text);
    rest.remove_prefix(found->name.size());
    total = saturating_add(total, saturating_mul(value, found->ms));
    any_unit = true;
  }
  return total;
}

Result<void> check_duration(std::string_view what, std::int64_t duration_ms, std::int64_t min_ms,
                            std::int64_t max_ms) {
  if (duration_ms >= min_ms && duration_ms <= max_ms) return {};
  return failure(ErrorCode::invalid_argument,
                 fmt::format("{} is {}; it must be {} to {}", what, format_duration(duration_ms),
                             format_duration(min_ms), format_duration(max_ms)));
}

std::string format_duration(std::int64_t duration_ms) {
  if (duration_ms == 0) return "0s";
  std::string text;
  if (duration_ms < 0) {
    text += '-';
    duration_ms = duration_ms == INT64_MIN ? INT64_MAX : -duration_ms;
  }
  constexpr std::array<Unit, 5> kLargestFirst = {
      {{"d", kMsPerDay}, {"h", kMsPerHour}, {"m", kMsPerMinute}, {"s", kMsPerSecond}, {"ms", 1}}};
  for (const Unit& unit : kLargestFirst) {
    if (const std::int64_t count = duration_ms / unit.ms; count > 0) {
      text += fmt::format("{}{}", count, unit.name);
      duration_ms %= unit.ms;
    }
  }
  return text;
}

}  // namespace weir
