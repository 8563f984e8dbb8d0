// SPDX-License-Identifier: Apache-2.0
// The Retry-After header: a number of seconds or an HTTP date.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"

namespace weir::worker {

// The wait that the header asks for, seen from `now`; at most 24 h, a date in the past is 0.
// Nothing when it says nothing.
std::optional<std::int64_t> parse_retry_after_ms(std::string_view text, WallTime now);

// "Sun, 06 Nov 1994 08:49:37 GMT", the one form that senders may use today.
std::optional<WallTime> parse_http_date(std::string_view text);

}  // namespace weir::worker
