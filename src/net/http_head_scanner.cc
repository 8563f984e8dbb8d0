// SPDX-License-Identifier: Apache-2.0
#include "net/http_head_scanner.h"

#include <algorithm>

namespace weir::net {

void HttpHeadScanner::start_head() { start(true); }
void HttpHeadScanner::start_trailer() { start(false); }

void HttpHeadScanner::start(bool skips_empty) {
  bytes_ = lines_ = line_bytes_ = 0;
  last_ = 0;
  skips_empty_ = skips_empty;
}

HttpHeadScanner::State HttpHeadScanner::scan(std::string_view bytes, std::size_t& used) {
  used = 0;
  while (used < bytes.size()) {
    const std::string_view rest = bytes.substr(used);
    // The second and later lines must not begin with white space (obs-fold), nor may the first.
    if (line_bytes_ == 0 && (rest.front() == ' ' || rest.front() == '\t')) return State::bad_line;
    const std::size_t end = rest.find('\n');
    const std::size_t count = end == std::string_view::npos ? rest.size() : end + 1;
    // Cut at the limit, so that it is met at the same byte however the input is split.
    if (bytes_ + count > bytes_max_) {
      used += bytes_max_ - bytes_;
      bytes_ = bytes_max_;
      return State::too_large;
    }
    bytes_ += count;
    used += count;
    if (end == std::string_view::npos) {
      line_bytes_ += count;
      last_ = rest.back();
      return State::more;
    }
    const char before = count > 1 ? rest[count - 2] : last_;
    if (line_bytes_ + count < 2 || before != '\r') {
      --used;
      return State::bad_line;
    }
    const bool is_empty = line_bytes_ + count == 2;
    line_bytes_ = 0;
    last_ = 0;
    if (is_empty) {
      if (lines_ > 0 || !skips_empty_) return State::done;
    } else if (++lines_ > lines_max_) {
      return State::too_large;
    }
  }
  return State::more;
}

}  // namespace weir::net
