// SPDX-License-Identifier: Apache-2.0
// See sse.h.
#include "client/sse.h"

namespace weir::client {
namespace {
constexpr std::size_t kLineBytesMax = 1024 * 1024;
}  // namespace

bool SseParser::feed(std::string_view bytes) {
  pending_.append(bytes);
  std::size_t begin = 0;
  for (std::size_t end = pending_.find('\n'); end != std::string::npos;
       end = pending_.find('\n', begin)) {
    std::string_view text = std::string_view(pending_).substr(begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    begin = end + 1;
    if (!line(text)) return false;
  }
  pending_.erase(0, begin);
  return pending_.size() <= kLineBytesMax;
}

bool SseParser::line(std::string_view text) {
  if (text.empty()) {
    if (!has_data_) return true;  // a blank line after a comment is no event
    if (event_.name.empty()) event_.name = "message";
    const bool goes_on = callback_(event_);
    event_.name.clear();
    event_.data.clear();
    has_data_ = false;
    return goes_on;
  }
  const std::size_t colon = text.find(':');
  if (colon == 0) return true;  // a comment keeps the connection alive
  const std::string_view field = text.substr(0, colon);
  std::string_view value =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = event_.data.size() <= kLineBytesMax;
    return has_data_;
  }
  if (field == "event") event_.name = value;
  if (field == "id") event_.id = value;
  return true;
}

}  // namespace weir::client
