// SPDX-License-Identifier: Apache-2.0
// Parser of server-sent events: bytes in, events out, wherever the bytes are split.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace weir::client {

struct ServerEvent {
  std::string id;
  std::string name;  // "message" when the stream names none
  std::string data;
};

// One thread.
class SseParser {
 public:
  using Callback = std::function<bool(const ServerEvent&)>;  // false: no more
  explicit SseParser(Callback callback) : callback_(std::move(callback)) {}

  // False once the callback said so, or when a line is longer than any event of ours may be.
  bool feed(std::string_view bytes);

 private:
  bool line(std::string_view text);

  Callback callback_;
  std::string pending_;
  ServerEvent event_;
  bool has_data_ = false;
};

}  // namespace weir::client
