// SPDX-License-Identifier: Apache-2.0
// weir version
#include <fmt/format.h>

#include <ostream>

#include "cli/commands.h"

namespace weir::cli {

void add_version(Command& root) {
  Command& command = root.add("version", "Print the version");
  command.examples = {"weir version", "weir version --json"};
  command.run = [](Session& session) {
    session.out << (session.json ? "{\"version\":\"" WEIR_VERSION "\"}\n"
                                 : "weir " WEIR_VERSION "\n");
    return kExitOk;
  };
}

}  // namespace weir::cli
