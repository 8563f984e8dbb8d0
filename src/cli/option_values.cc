// SPDX-License-Identifier: Apache-2.0
// See option_values.h.
#include "cli/option_values.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"

namespace weir::cli {

Result<std::optional<std::int64_t>> duration_option(std::string_view option,
                                                    const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> value = parse_duration_ms(text);
  if (!value) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{}: \"{}\" is no duration; write 30s, 5m, 2h or 7d", option,
                               cut_utf8(text, 64)));
  }
  return std::optional(*value);
}

Result<std::optional<std::uint64_t>> count_option(std::string_view option, const std::string& text,
                                                  std::uint64_t min, std::uint64_t max) {
  if (text.empty()) return std::optional<std::uint64_t>();
  const Result<std::uint64_t> value = parse_u64(option, text);
  if (!value || *value < min || *value > max) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} must be a whole number from {} to {}, not \"{}\"", option, min,
                               max, cut_utf8(text, 64)));
  }
  return std::optional(*value);
}

Result<std::optional<std::int64_t>> integer_option(std::string_view option,
                                                   const std::string& text) {
  if (text.empty()) return std::optional<std::int64_t>();
  const Result<std::int64_t> value = parse_i64(option, text);
  if (!value) {
    return failure(ErrorCode::invalid_argument, fmt::format("{} must be a whole number, not \"{}\"",
                                                            option, cut_utf8(text, 64)));
  }
  return std::optional(*value);
}

}  // namespace weir::cli
