// SPDX-License-Identifier: Apache-2.0
// See parser.h. The words up to the command are found here, what follows is parsed by CLI11: so a
// queue may be called like a command, and an unknown command can be answered with the nearest one.
#include "cli/parser.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "base/log.h"
#include "base/text.h"
#include "cli/help.h"

namespace weir::cli {
namespace {

// CLI11 takes a value in brackets for a list of its own. Values travel with a mark in front, which
// no command line can hold by itself for long: it is taken off again here.
constexpr char kMark = '\x01';

std::string mark(const std::string& argument) {
  if (argument.starts_with('[')) return kMark + argument;
  const std::size_t equals = argument.starts_with("--") ? argument.find("=[") : std::string::npos;
  if (equals == std::string::npos) return argument;
  std::string marked = argument;
  marked.insert(equals + 1, 1, kMark);
  return marked;
}
std::string unmark(std::string value) {
  if (value.starts_with(kMark)) value.erase(0, 1);
  return value;
}

const Option* find_option(const Command& command, std::string_view name) {
  for (const Option& option : command.options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

struct Found {
  Parsed parsed;
  std::vector<std::string> left;  // arguments that belong to no command word
};

Parsed unknown_command(Parsed parsed, std::string_view word) {
  std::vector<std::string_view> words;
  for (const auto& command : parsed.command->commands) words.push_back(command->name);
  const std::string_view near = nearest_word(word, words);
  parsed.kind = Parsed::Kind::usage;
  parsed.problem =
      fmt::format("unknown command \"{}\"{}", cut_utf8(word, 64),
                  near.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", near));
  return parsed;
}

// Walks down the tree by the first words that are no options.
Found find_command(const Command& root, const std::vector<std::string>& arguments) {
  Found found{.parsed = {.kind = Parsed::Kind::run, .command = &root, .path = root.name}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const Command& here = *found.parsed.command;
    if (here.commands.empty()) {
      found.left.insert(found.left.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                        arguments.end());
      return found;
    }
    if (argument.starts_with('-')) {
      found.left.push_back(argument);
      const Option* option = find_option(root, argument);
      if (option != nullptr && option->takes_value() && i + 1 < arguments.size()) {
        found.left.push_back(arguments[++i]);
      }
      continue;
    }
    const Command* next = here.find(argument);
    if (next == nullptr) {
      found.parsed = unknown_command(std::move(found.parsed), argument);
      return found;
    }
    found.parsed.command = next;
    found.parsed.path += " " + argument;
  }
  return found;
}

// Takes an option of kind rest, with all that follows it, off the arguments.
std::string take_rest(const Command& command, std::vector<std::string>& arguments) {
  for (const Option& option : command.options) {
    if (option.kind != OptionKind::rest) continue;
    const auto at = std::find(arguments.begin(), arguments.end(), option.name);
    if (at == arguments.end()) continue;
    auto first = at + 1;
    if (first != arguments.end() && *first == "--") ++first;
    option.list->assign(first, arguments.end());
    arguments.erase(at, arguments.end());
    if (option.list->empty()) return fmt::format("{} needs {}", option.name, option.value_name);
  }
  return {};
}

bool asks_for_help(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

std::string check_choice(const Option& option, const std::string& value) {
  if (option.choices.empty()) return {};
  if (std::find(option.choices.begin(), option.choices.end(), value) != option.choices.end())
    return {};
  return fmt::format("{} must be one of {}, not \"{}\"", option.name,
                     fmt::join(option.choices, ", "), cut_utf8(value, 64));
}

// Hands the values of one option to its target; says what is wrong with them.
std::string assign(const Option& option, std::vector<std::string> values, bool is_given,
                   Session& session) {
  if (!is_given && !option.variable.empty()) {
    if (auto value = session.environment(option.variable); value && !value->empty())
      values = {std::move(*value)};
  }
  if (option.kind == OptionKind::flag) {
    *option.flag = is_given || (!values.empty() && values.front() != "0");
    return {};
  }
  if (option.given != nullptr) *option.given = !values.empty();
  if (values.empty()) {
    return option.required ? fmt::format("{} is needed",
                                         option.is_positional() ? option.value_name : option.name)
                           : std::string();
  }
  if (option.kind == OptionKind::text) {
    *option.text = unmark(values.back());
    return check_choice(option, *option.text);
  }
  option.list->clear();
  for (const std::string& value : values) {
    std::vector<std::string> parts =
        option.splits ? split(unmark(value), ',') : std::vector<std::string>{unmark(value)};
    for (std::string& part : parts) {
      if (option.splits && part.empty()) continue;
      if (std::string problem = check_choice(option, part); !problem.empty()) return problem;
      option.list->push_back(std::move(part));
    }
  }
  return {};
}

std::string nearest_option(const std::vector<const Option*>& options, std::string_view argument) {
  std::vector<std::string_view> names;
  for (const Option* option : options) {
    if (!option->is_positional()) names.push_back(option->name);
  }
  const std::string_view near = nearest_word(argument.substr(0, argument.find('=')), names);
  return near.empty() ? std::string() : fmt::format("; did you mean {}?", near);
}

// Parses `arguments` by the options of the command and of the root. Says what is wrong, or nothing.
std::string parse_options(const Command& root, const Command& command,
                          const std::vector<std::string>& arguments, Session& session) {
  std::vector<const Option*> options;
  for (const Option& option : command.options) options.push_back(&option);
  if (&command != &root) {
    for (const Option& option : root.options) options.push_back(&option);
  }
  CLI::App app;
  app.set_help_flag();
  std::vector<CLI::Option*> handles;
  for (const Option* option : options) {
    if (option->kind == OptionKind::rest) {
      handles.push_back(nullptr);
    } else if (option->kind == OptionKind::flag) {
      handles.push_back(app.add_flag(option->name));
    } else {
      CLI::Option* handle = app.add_option(option->name);
      // One value each time it is named; a positional list takes all that come.
      const bool takes_many = option->kind == OptionKind::list && option->is_positional();
      handle->expected(takes_many ? -1 : 1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
      if (option->kind == OptionKind::list && !takes_many) handle->allow_extra_args(false);
      handles.push_back(handle);
    }
  }
  std::vector<std::string> reversed;
  for (const std::string& argument : arguments) reversed.push_back(mark(argument));
  std::reverse(reversed.begin(), reversed.end());
  // CLI11 reports by exceptions; they end here.
  try {
    app.allow_extras();
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  for (const std::string& extra : app.remaining()) {
    const std::string word = unmark(extra);
    if (word == "--") continue;  // the mark itself, which CLI11 leaves among the extras
    if (word.starts_with('-') && word.size() > 1) {
      return fmt::format("unknown option {}{}", cut_utf8(word, 64), nearest_option(options, word));
    }
    return fmt::format("unexpected argument \"{}\"", cut_utf8(word, 64));
  }
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (handles[i] == nullptr) continue;
    const bool is_given = handles[i]->count() > 0;
    std::vector<std::string> values;
    if (is_given && options[i]->kind != OptionKind::flag) values = handles[i]->results();
    if (std::string problem = assign(*options[i], std::move(values), is_given, session);
        !problem.empty()) {
      return problem;
    }
  }
  return {};
}

void configure_log(const Session& session) {
  const auto format = session.log_format == "json" ? log::Format::json : log::Format::text;
  auto least = log::Level::info;
  if (session.log_level == "debug") least = log::Level::debug;
  if (session.log_level == "warning") least = log::Level::warning;
  if (session.log_level == "error") least = log::Level::error;
  log::configure(format, least);
}

}  // namespace

Parsed parse(const Command& root, const std::vector<std::string>& given, Session& session) {
  std::vector<std::string> arguments = given;
  // "weir help job ls" is what people try first.
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  Found found = find_command(root, arguments);
  Parsed& parsed = found.parsed;
  if (parsed.kind == Parsed::Kind::usage) return parsed;
  const std::string rest_problem = take_rest(*parsed.command, found.left);
  if (asks_for_help(found.left)) {
    parsed.kind = Parsed::Kind::help;
    return parsed;
  }
  parsed.problem = rest_problem;
  if (parsed.problem.empty())
    parsed.problem = parse_options(root, *parsed.command, found.left, session);
  if (parsed.problem.empty() && !parsed.command->run) {
    parsed.problem =
        parsed.command == &root ? "name a command" : fmt::format("{} needs a verb", parsed.path);
  }
  if (!parsed.problem.empty()) parsed.kind = Parsed::Kind::usage;
  return parsed;
}

int run(const Command& root, const std::vector<std::string>& arguments, Session& session) {
  const Parsed parsed = parse(root, arguments, session);
  switch (parsed.kind) {
    case Parsed::Kind::help:
      session.out << help_text(root, *parsed.command, parsed.path);
      return kExitOk;
    case Parsed::Kind::usage:
      session.err << "weir: " << parsed.problem << '\n';
      session.err << usage_lines(*parsed.command, parsed.path);
      session.err << "Run \"" << parsed.path << " --help\" for more.\n";
      return kExitUsage;
    case Parsed::Kind::run:
      configure_log(session);
      return parsed.command->run(session);
  }
  return kExitFailed;
}

}  // namespace weir::cli
