// SPDX-License-Identifier: Apache-2.0
// From arguments to a command that is ready to run. CLI11 stays behind parser.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace weir::cli {

// What the arguments ask for.
struct Parsed {
  enum class Kind : std::uint8_t { run, help, usage };
  Kind kind = Kind::usage;
  const Command* command = nullptr;  // the deepest that was named
  std::string path;                  // "weir job ls"
  std::string problem;               // usage: what is wrong
};

// Finds the command, fills its options' targets and the session's. `arguments` are without the
// program's name; they may end in what an option of kind rest takes.
Parsed parse(const Command& root, const std::vector<std::string>& arguments, Session& session);

// Parses and runs: the whole of main but its surroundings. Returns the exit code.
int run(const Command& root, const std::vector<std::string>& arguments, Session& session);

}  // namespace weir::cli
