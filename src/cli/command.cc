// SPDX-License-Identifier: Apache-2.0
// See command.h.
#include "cli/command.h"

#include <utility>

namespace weir::cli {

Command& Command::add(std::string child_name, std::string child_summary) {
  commands.push_back(std::make_unique<Command>());
  commands.back()->name = std::move(child_name);
  commands.back()->summary = std::move(child_summary);
  return *commands.back();
}

const Command* Command::find(std::string_view child_name) const {
  for (const auto& command : commands) {
    if (command->name == child_name) return command.get();
  }
  return nullptr;
}

void Command::add_flag(std::string option, bool& target, std::string help) {
  options.push_back({.name = std::move(option),
                     .help = std::move(help),
                     .kind = OptionKind::flag,
                     .flag = &target});
}

Option& Command::add_text(std::string option, std::string value_name, std::string& target,
                          std::string help) {
  options.push_back({.name = std::move(option),
                     .value_name = std::move(value_name),
                     .help = std::move(help),
                     .kind = OptionKind::text,
                     .text = &target});
  return options.back();
}

Option& Command::add_list(std::string option, std::string value_name,
                          std::vector<std::string>& target, std::string help) {
  options.push_back({.name = std::move(option),
                     .value_name = std::move(value_name),
                     .help = std::move(help),
                     .kind = OptionKind::list,
                     .list = &target});
  return options.back();
}

}  // namespace weir::cli
