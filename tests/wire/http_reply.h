// SPDX-License-Identifier: Apache-2.0
// One HTTP answer off the front of received bytes, for transcripts. Shares no code with the
// server's parser.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::wire {

struct HttpReply {
  std::string status_line;
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;
  bool is_whole = false;  // false: a chunked answer that goes on
  std::size_t head_bytes = 0;
  std::size_t all_bytes = 0;  // with the body
};

// Nothing when the head or a counted body is not all there. `to_head`: the answer to a HEAD
// request.
std::optional<HttpReply> take_reply(std::string_view bytes, bool to_head);

}  // namespace weir::wire
