// SPDX-License-Identifier: Apache-2.0
#include "core/job/error_rule.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weir::core {
namespace {

ErrorRule class_rule(std::string_view error_class, ErrorVerdict verdict) {
  return ErrorRule{
      .name = std::string(error_class), .error_class = std::string(error_class), .then = verdict};
}

ErrorRule status_rule(std::string_view name, std::int32_t min, std::int32_t max,
                      ErrorVerdict verdict) {
  return ErrorRule{
      .name = std::string(name), .http_status_min = min, .http_status_max = max, .then = verdict};
}

bool text_matches(const std::optional<std::string>& pattern, std::string_view text) {
  return !pattern || glob_match(*pattern, text);
}

}  // namespace

const std::vector<ErrorRule>& built_in_rules() {
  static const std::vector<ErrorRule> rules = {
      class_rule("timeout", ErrorVerdict::retry),
      class_rule("connection", ErrorVerdict::retry),
      status_rule("http 408", 408, 408, ErrorVerdict::retry),
      status_rule("http 425", 425, 425, ErrorVerdict::retry),
      status_rule("http 429", 429, 429, ErrorVerdict::retry),
      status_rule("http 5xx", 500, 599, ErrorVerdict::retry),
      status_rule("http 4xx", 400, 499, ErrorVerdict::dead),
      class_rule("authentication", ErrorVerdict::dead),
      class_rule("deserialization", ErrorVerdict::dead),
      class_rule("business", ErrorVerdict::dead),
      ErrorRule{.name = "other", .then = ErrorVerdict::retry},
  };
  return rules;
}

bool matches(const ErrorRule& rule, const JobError& error) {
  if (!text_matches(rule.error_class, error.error_class)) return false;
  if (!text_matches(rule.code, error.code)) return false;
  if (rule.http_status_min != 0 || rule.http_status_max != 0) {
    if (error.http_status < rule.http_status_min || error.http_status > rule.http_status_max) {
      return false;
    }
  }
  return text_matches(rule.message, error.message);
}

const ErrorRule& classify(const std::vector<ErrorRule>& configured, const JobError& error) {
  for (const ErrorRule& rule : configured) {
    if (matches(rule, error)) return rule;
  }
  const std::vector<ErrorRule>& built_in = built_in_rules();
  for (const ErrorRule& rule : built_in) {
    if (matches(rule, error)) return rule;
  }
  return built_in.back();
}

Result<void> parse_http_status_range(std::string_view text, ErrorRule& into) {
  const auto refuse = [text] {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("http_status \"{}\" is not of the form 404, 5xx or 400-499", text));
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number = [&](std::string_view part) -> std::int32_t {
    if (part.size() != 3 || !digit(part[0]) || !digit(part[1]) || !digit(part[2])) return 0;
    const int value = (part[0] - '0') * 100 + (part[1] - '0') * 10 + (part[2] - '0');
    return value >= 100 && value <= 599 ? value : 0;
  };
  std::int32_t min = 0;
  std::int32_t max = 0;
  if (text.size() == 3 && text[0] >= '1' && text[0] <= '5' &&
      equals_ignore_case(text.substr(1), "xx")) {
    min = (text[0] - '0') * 100;
    max = min + 99;
  } else if (text.size() == 7 && text[3] == '-') {
    min = number(text.substr(0, 3));
    max = number(text.substr(4));
  } else {
    min = max = number(text);
  }
  if (min == 0 || max < min) return refuse();
  into.http_status_min = min;
  into.http_status_max = max;
  return {};
}

}  // namespace weir::core
