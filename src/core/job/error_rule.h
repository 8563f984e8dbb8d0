// SPDX-License-Identifier: Apache-2.0
// The ordered rule table that decides from an error whether a job is retried; the same for every
// language and door. First match wins; configured rules stand before the built-in ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::core {

// What a worker says of a failed attempt. Value.
struct JobError {
  std::string error_class;  // "timeout", "connection", "deserialization", "authentication",
                            // "business", "crash", free text
  std::string code;         // the handler's own code
  std::int32_t http_status = 0;
  std::string message;  // cut at 64 KiB

  bool operator==(const JobError&) const = default;
};

enum class ErrorVerdict : std::uint8_t { retry = 1, dead = 2 };

// Value. Every set field must match; globs in text fields.
struct ErrorRule {
  std::string name;
  std::optional<std::string> error_class;
  std::optional<std::string> code;
  std::optional<std::string> message;
  std::int32_t http_status_min = 0;  // 0: any
  std::int32_t http_status_max = 0;
  ErrorVerdict then = ErrorVerdict::retry;

  bool operator==(const ErrorRule&) const = default;
};

// Network timeouts, connection errors, 408, 425, 429, 5xx: retry. Other 4xx, authentication,
// deserialization, business: dead. Anything else: retry.
const std::vector<ErrorRule>& built_in_rules();

bool matches(const ErrorRule& rule, const JobError& error);
// The first match of `configured`, then of the built-in rules; the last built-in rule matches
// everything.
const ErrorRule& classify(const std::vector<ErrorRule>& configured, const JobError& error);
// Parses "404", "5xx", "400-499". Errors: invalid_argument.
Result<void> parse_http_status_range(std::string_view text, ErrorRule& into);

}  // namespace weir::core
