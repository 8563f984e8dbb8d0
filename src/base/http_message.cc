// SPDX-License-Identifier: Apache-2.0
#include "base/http_message.h"

#include "base/text.h"

namespace weir {

std::string_view HttpRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

bool HttpRequest::has_header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return true;
  }
  return false;
}

bool is_loopback_host(std::string_view host) {
  if (host == "::1" || equals_ignore_case(host, "localhost")) return true;
  // A name such as 127.0.0.1.example is not one: digits and dots only.
  return host.starts_with("127.") &&
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace weir
