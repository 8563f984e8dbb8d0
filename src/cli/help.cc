// SPDX-License-Identifier: Apache-2.0
// See help.h.
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir::cli {
namespace {

struct Row {
  std::string left;
  std::string right;
};

std::string option_words(const Option& option) {
  if (option.is_positional()) return option.value_name;
  return option.takes_value() ? fmt::format("{} {}", option.name, option.value_name) : option.name;
}

Row option_row(const Option& option) {
  std::string help = option.help;
  if (!option.choices.empty()) help += fmt::format(" ({})", fmt::join(option.choices, ", "));
  if (option.kind == OptionKind::list && !option.is_positional() && !option.splits)
    help += " (may be repeated)";
  if (!option.variable.empty()) help += fmt::format(" [{}]", option.variable);
  return {.left = option_words(option), .right = std::move(help)};
}

void add_rows(std::string& out, std::string_view title, const std::vector<Row>& rows) {
  if (rows.empty()) return;
  constexpr std::size_t kLeftMax = 28;
  std::size_t width = 0;
  for (const Row& row : rows) {
    if (row.left.size() <= kLeftMax) width = std::max(width, row.left.size());
  }
  out += fmt::format("\n{}:\n", title);
  for (const Row& row : rows) {
    if (row.left.size() > width) {
      out += fmt::format("  {}\n  {:<{}}  {}\n", row.left, "", width, row.right);
    } else {
      out += fmt::format("  {:<{}}  {}\n", row.left, width, row.right);
    }
  }
}

}  // namespace

std::string usage_lines(const Command& command, const std::string& path) {
  if (!command.commands.empty()) {
    std::string verbs;
    for (const auto& child : command.commands) verbs += (verbs.empty() ? "" : "|") + child->name;
    return fmt::format("Usage: {} {}\n", path, command.commands.size() > 8 ? "COMMAND" : verbs);
  }
  std::string line = "Usage: " + path;
  bool has_options = false;
  for (const Option& option : command.options) {
    if (option.is_positional()) {
      const std::string words = option.value_name + (option.kind == OptionKind::list ? "…" : "");
      line += option.required ? " " + words : fmt::format(" [{}]", words);
    } else if (option.required) {
      line += " " + option_words(option);
    } else {
      has_options = true;
    }
  }
  return line + (has_options ? " [OPTIONS]\n" : "\n");
}

std::string help_text(const Command& root, const Command& command, const std::string& path) {
  std::string out = command.summary + "\n\n" + usage_lines(command, path);
  if (!command.details.empty()) out += "\n" + command.details + "\n";
  std::vector<Row> rows;
  for (const auto& child : command.commands)
    rows.push_back({.left = child->name, .right = child->summary});
  add_rows(out, "Commands", rows);
  if (&command != &root) {
    rows.clear();
    for (const Option& option : command.options) rows.push_back(option_row(option));
    add_rows(out, "Options", rows);
  }
  if (!command.examples.empty()) {
    out += "\nExamples:\n";
    for (const std::string& example : command.examples) out += "  " + example + "\n";
  }
  rows.clear();
  for (const Option& option : root.options) rows.push_back(option_row(option));
  rows.push_back({.left = "--help", .right = "This page"});
  add_rows(out, "Options of every command", rows);
  return out;
}

}  // namespace weir::cli
