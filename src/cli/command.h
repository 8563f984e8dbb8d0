// SPDX-License-Identifier: Apache-2.0
// A command of the CLI as a value: name, words for people, options, what it does. Parsing
// (parser.h), help (help.h) and completion (completion.h) all read the same tree, so that none can
// forget an option.
//
// To add a command: a file that fills a Command, its add_… in commands.h, its line in
// command_tree(). cli_test then holds it to having a summary and examples, and completion knows it.
#pragma once

#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"

namespace weir::cli {

// What a command may read and write besides the network. Values of the environment come through
// here, so that tests can give their own.
struct Session {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  const Clock& clock;
  std::function<std::optional<std::string>(const std::string& name)> environment;

  // The options that every command has.
  std::string url = "http://127.0.0.1:7350";
  std::string token;
  std::string ca;
  std::string log_format = "text";
  std::string log_level = "info";
  bool json = false;
};

enum class OptionKind : std::uint8_t {
  flag,  // --drain
  text,  // --url URL, or a positional
  list,  // may be given again; commas separate when `splits`
  rest,  // takes every argument behind it, options too: --exec CMD ARG…
};

// Value. Exactly the target of its kind is set; targets outlive the command.
struct Option {
  std::string name;  // "--kind", or "queue" for a positional
  std::string value_name;
  std::string help;
  OptionKind kind = OptionKind::text;
  bool required = false;
  bool splits = false;               // list: "a,b" is two
  std::vector<std::string> choices;  // empty: anything
  std::string variable;  // environment variable that is read when the option is not given
  bool* flag = nullptr;
  std::string* text = nullptr;
  std::vector<std::string>* list = nullptr;
  bool* given = nullptr;  // text: was it given at all?

  bool is_positional() const { return !name.starts_with('-'); }
  bool takes_value() const { return kind != OptionKind::flag; }
};

struct Command {
  std::string name;
  std::string summary;                // one line
  std::string details;                // paragraphs for --help, may be empty
  std::vector<std::string> examples;  // whole command lines
  std::vector<Option> options;        // positionals in their order
  std::vector<std::unique_ptr<Command>> commands;
  std::function<int(Session&)> run;  // empty for a noun that only has verbs

  Command& add(std::string child_name, std::string child_summary);
  const Command* find(std::string_view child_name) const;

  void add_flag(std::string option, bool& target, std::string help);
  Option& add_text(std::string option, std::string value_name, std::string& target,
                   std::string help);
  Option& add_list(std::string option, std::string value_name, std::vector<std::string>& target,
                   std::string help);
};

// Exit codes besides those of the error table.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitBadData = 65;
inline constexpr int kExitBadConfiguration = 78;

}  // namespace weir::cli
