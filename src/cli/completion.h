// SPDX-License-Identifier: Apache-2.0
// Completion scripts of shells, made from the tree of commands.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/command.h"

namespace weir::cli {

// Errors: invalid_argument (no such shell).
Result<std::string> completion_script(const Command& root, std::string_view shell);

}  // namespace weir::cli
