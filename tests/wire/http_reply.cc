// SPDX-License-Identifier: Apache-2.0
#include "wire/http_reply.h"

#include <cstdlib>

#include "base/text.h"

namespace weir::wire {
namespace {

void read_chunks(std::string_view bytes, HttpReply& reply) {
  std::size_t at = reply.head_bytes;
  while (true) {
    const std::size_t line_end = bytes.find("\r\n", at);
    if (line_end == std::string_view::npos) return;
    const std::size_t size =
        std::strtoul(std::string(bytes.substr(at, line_end - at)).c_str(), nullptr, 16);
    if (line_end + 2 + size + 2 > bytes.size()) return;
    reply.body.append(bytes.substr(line_end + 2, size));
    at = line_end + 2 + size + 2;
    reply.all_bytes = at;
    if (size == 0) {
      reply.is_whole = true;
      return;
    }
  }
}

}  // namespace

std::optional<HttpReply> take_reply(std::string_view bytes, bool to_head) {
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  HttpReply reply;
  reply.head_bytes = reply.all_bytes = end + 4;
  std::size_t length = 0;
  bool is_chunked = false;
  std::size_t at = bytes.find("\r\n");
  reply.status_line = bytes.substr(0, at);
  while (at < end) {
    const std::size_t line_end = bytes.find("\r\n", at + 2);
    const std::string_view line = bytes.substr(at + 2, line_end - at - 2);
    at = line_end;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    reply.headers.emplace_back(to_lower(line.substr(0, colon)), trim(line.substr(colon + 1)));
    if (reply.headers.back().first == "content-length")
      length = std::strtoul(reply.headers.back().second.c_str(), nullptr, 10);
    if (reply.headers.back().first == "transfer-encoding") is_chunked = true;
  }
  const std::string status = reply.status_line.substr(0, 12).substr(9);
  if (to_head || status.starts_with('1') || status == "204" || status == "304") {
    reply.is_whole = true;
  } else if (is_chunked) {
    read_chunks(bytes, reply);
  } else {
    if (bytes.size() - reply.head_bytes < length) return std::nullopt;
    reply.body = bytes.substr(reply.head_bytes, length);
    reply.all_bytes += length;
    reply.is_whole = true;
  }
  return reply;
}

}  // namespace weir::wire
