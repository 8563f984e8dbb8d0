// SPDX-License-Identifier: Apache-2.0
// weir check: says what is wrong with a configuration before a server has to.
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "server/serve.h"

namespace weir::cli {
namespace {

struct Flags {
  std::string config;
  bool defaults = false;
};

int check(Session& session, const Flags& flags) {
  if (flags.defaults) {
    session.out << config::reference();
    return kExitOk;
  }
  server::ServeOptions options;
  options.config_file = flags.config;
  options.environment = process_environment();
  const config::Loaded loaded = server::load_configuration(options);
  const bool is_usable = loaded.is_usable();
  if (session.json) {
    session.out << fmt::format("{{\"ok\":{},\"problems\":[", is_usable);
    for (std::size_t i = 0; i < loaded.problems.size(); ++i) {
      const config::Problem& problem = loaded.problems[i];
      session.out << fmt::format(
          "{}{{\"file\":{},\"line\":{},\"key\":{},\"text\":{},\"warning\":{}}}", i == 0 ? "" : ",",
          json_string(problem.file), problem.line, json_string(problem.key),
          json_string(problem.text), problem.is_warning);
    }
    session.out << "]}\n";
  } else {
    for (const config::Problem& problem : loaded.problems) session.err << problem.format() << '\n';
    if (is_usable)
      session.out << (flags.config.empty() ? "configuration" : flags.config) << ": ok\n";
  }
  return is_usable ? kExitOk : kExitBadConfiguration;
}

}  // namespace

void add_check(Command& root) {
  Command& command = root.add("check", "Check a configuration");
  const auto flags = std::make_shared<Flags>();
  command.details =
      "Reads weir.toml and the WEIR_* variables as the server would, and names every mistake with "
      "its line.";
  command.examples = {"weir check --config weir.toml", "weir check --defaults > weir.toml"};
  command.add_text("--config", "FILE", flags->config, "The configuration").variable = "WEIR_CONFIG";
  command.add_flag("--defaults", flags->defaults, "Print every key with its default instead");
  command.run = [flags](Session& session) { return check(session, *flags); };
}

}  // namespace weir::cli
