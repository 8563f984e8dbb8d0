// SPDX-License-Identifier: Apache-2.0
// See environment.h.
#include "cli/environment.h"

#include <unistd.h>

#include <string_view>

namespace weir::cli {

config::Environment process_environment() {
  config::Environment out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const bool is_ours = name.starts_with("WEIR_") || name == "STATE_DIRECTORY" ||
                         name == "NOTIFY_SOCKET" || name.starts_with("WATCHDOG_");
    if (is_ours) out.emplace(name, text.substr(equals + 1));
  }
  return out;
}

}  // namespace weir::cli
