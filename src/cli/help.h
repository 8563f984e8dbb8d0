// SPDX-License-Identifier: Apache-2.0
// --help, from the same tree that is parsed.
#pragma once

#include <string>

#include "cli/command.h"

namespace weir::cli {

// The whole page. `path`: "weir job ls".
std::string help_text(const Command& root, const Command& command, const std::string& path);

// "Usage: …", one line; for a noun with its verbs below.
std::string usage_lines(const Command& command, const std::string& path);

}  // namespace weir::cli
