// SPDX-License-Identifier: Apache-2.0
// The Date header, formatted once a second.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace weir::net {

// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string format_http_date(WallTime at);

// One thread.
class HttpDateCache {
 public:
  explicit HttpDateCache(const Clock& clock) : clock_(clock) {}
  // Lives until the next call.
  std::string_view now();

 private:
  const Clock& clock_;
  std::int64_t second_ = -1;
  std::string text_;
};

}  // namespace weir::net
