// SPDX-License-Identifier: Apache-2.0
// The weir program: sets up the process and hands the arguments to the commands.
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/parser.h"

namespace {

// A program started without stdin, stdout or stderr would give their numbers to the next file it
// opens.
void hold_standard_descriptors() {
  int file = open("/dev/null", O_RDWR);
  while (file >= 0 && file <= STDERR_FILENO) file = dup(file);
  if (file > STDERR_FILENO) close(file);
}

std::optional<std::string> environment_value(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace

int main(int argc, char** argv) {
  hold_standard_descriptors();
  // One of the three edges where exceptions end.
  try {
    const weir::SystemClock clock;
    weir::cli::Session session{.in = std::cin,
                               .out = std::cout,
                               .err = std::cerr,
                               .clock = clock,
                               .environment = environment_value};
    const auto tree = weir::cli::command_tree(session);
    const int code = weir::cli::run(*tree, {argv + 1, argv + argc}, session);
    std::cout.flush();
    return code == weir::cli::kExitOk && !std::cout ? weir::cli::kExitFailed : code;
  } catch (const std::exception& error) {
    std::cerr << "weir: " << error.what() << '\n';
    return weir::cli::kExitFailed;
  }
}
