// SPDX-License-Identifier: Apache-2.0
// The closed table of everything weir can refuse or fail with.
//
// One row per code: its text (also the word on the wire and in the CLI), the HTTP status, whether
// the same call may be retried, and the process exit code of the CLI. A new code is a new row here;
// base_test.cc walks the enum, and every door's map switches over it without a default, so that no
// door can forget one. When several codes apply to one call, the first in the enum wins.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

enum class ErrorCode : std::uint8_t {
  unauthenticated,
  permission_denied,
  invalid_argument,
  too_large,
  unsupported_media_type,
  not_found,
  gone,
  lease_lost,
  idempotency_mismatch,
  conflict,
  queue_saturated,
  rate_limited,
  store_full,
  unavailable,
  corruption,
  io_error,
  unsupported,
  internal,
};
inline constexpr int kErrorCodeCount = static_cast<int>(ErrorCode::internal) + 1;

enum class RetryAdvice : std::uint8_t { never, later };

struct ErrorInfo {
  ErrorCode code;
  std::string_view text;   // the code as printed everywhere
  std::string_view title;  // one sentence for people
  int http_status;
  RetryAdvice retry;
  int exit_code;  // of the CLI (docs/errors.md)
};

// The row of `code`. Never fails.
const ErrorInfo& error_info(ErrorCode code);
inline std::string_view to_string(ErrorCode code) { return error_info(code).text; }

// Value. A refusal or a fault: the code decides what callers do, the detail is for people and never
// compared.
struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string detail;
  std::int64_t retry_after_ms =
      0;  // > 0: when a repeat may work (queue_saturated, rate_limited, unavailable)
  std::int64_t depth = -1;      // queue_saturated: how many wait, and
  std::int64_t max_depth = -1;  // how many may

  bool operator==(const Error&) const = default;
};

}  // namespace weir
