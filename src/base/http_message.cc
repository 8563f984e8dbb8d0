// SPDX-License-Identifier: Apache-2.0
#include "base/http_message.h"

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

}  // namespace weir
