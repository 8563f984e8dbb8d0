// SPDX-License-Identifier: Apache-2.0
// See completion.h. The scripts of bash and zsh look the words up by the path of commands typed so
// far; fish has a rule for each word. Options of fixed choices complete those.
#include "cli/completion.h"

#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <vector>

#include "cli/answer.h"
#include "cli/commands.h"

namespace weir::cli {
namespace {

struct Node {
  std::string path;  // "weir job ls"
  const Command* command;
};

void walk(const Command& command, const std::string& path, std::vector<Node>& out) {
  out.push_back({.path = path, .command = &command});
  for (const auto& child : command.commands) walk(*child, path + " " + child->name, out);
}

std::vector<std::string> words_at(const Command& root, const Command& command) {
  std::vector<std::string> words;
  for (const auto& child : command.commands) words.push_back(child->name);
  for (const Command* owner : {&command, &root}) {
    for (const Option& option : owner->options) {
      if (!option.is_positional()) words.push_back(option.name);
    }
    if (&command == &root) break;
  }
  words.emplace_back("--help");
  return words;
}

// Options that take one of a few words, with those words; each name once.
std::vector<const Option*> options_with_choices(const std::vector<Node>& nodes) {
  std::vector<const Option*> found;
  for (const Node& node : nodes) {
    for (const Option& option : node.command->options) {
      if (option.choices.empty() || option.is_positional()) continue;
      bool is_known = false;
      for (const Option* known : found) is_known = is_known || known->name == option.name;
      if (!is_known) found.push_back(&option);
    }
  }
  return found;
}

// The function that both shells share: prints the words that may come after `words` (all but the
// one being typed).
std::string lookup_function(const Command& root, const std::vector<Node>& nodes) {
  std::string out =
      "_weir_words() {\n  local path=weir previous=\"\" word\n  for word in \"${@:2}\"; do\n    "
      "case \"$path $word\" in\n";
  for (const Node& node : nodes) {
    if (node.command != &root) out += fmt::format("      \"{0}\") path=\"{0}\" ;;\n", node.path);
  }
  out += "    esac\n    previous=\"$word\"\n  done\n  case \"$previous\" in\n";
  for (const Option* option : options_with_choices(nodes)) {
    out += fmt::format("    {}) echo \"{}\"; return ;;\n", option->name,
                       fmt::join(option->choices, " "));
  }
  out += "  esac\n  case \"$path\" in\n";
  for (const Node& node : nodes) {
    out += fmt::format("    \"{}\") echo \"{}\" ;;\n", node.path,
                       fmt::join(words_at(root, *node.command), " "));
  }
  return out + "  esac\n}\n";
}

std::string bash_script(const Command& root, const std::vector<Node>& nodes) {
  return "# bash completion of weir. Load it with: source <(weir completion bash)\n" +
         lookup_function(root, nodes) +
         "_weir() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\"\n"
         "  COMPREPLY=($(compgen -W \"$(_weir_words \"${COMP_WORDS[@]:0:COMP_CWORD}\")\" -- "
         "\"$current\"))\n"
         "}\n"
         "complete -o default -F _weir weir\n";
}

std::string zsh_script(const Command& root, const std::vector<Node>& nodes) {
  return "#compdef weir\n# zsh completion of weir. Load it with: source <(weir completion zsh)\n" +
         lookup_function(root, nodes) +
         "_weir() {\n"
         "  local -a found\n"
         "  found=(${(s: :)\"$(_weir_words \"${(@)words[1,CURRENT-1]}\")\"})\n"
         "  compadd -a found || _files\n"
         "}\n"
         "compdef _weir weir\n";
}

std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string fish_script(const Command& root, const std::vector<Node>& nodes) {
  std::string out =
      "# fish completion of weir. Load it with: weir completion fish | source\n"
      "function __weir_path\n"
      "  set -l path weir\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$path $word\"\n"
      "      case";
  for (const Node& node : nodes) {
    if (node.command != &root) out += " " + fish_quoted(node.path);
  }
  out +=
      "\n        set path \"$path $word\"\n    end\n  end\n  echo $path\nend\n"
      "function __weir_at\n  test (__weir_path) = \"$argv\"\nend\n"
      "complete -c weir -f\n";
  for (const Node& node : nodes) {
    const std::string at = "-n " + fish_quoted("__weir_at " + node.path);
    for (const auto& child : node.command->commands) {
      out += fmt::format("complete -c weir {} -a {} -d {}\n", at, child->name,
                         fish_quoted(child->summary));
    }
    for (const Option& option : node.command->options) {
      if (option.is_positional()) continue;
      // The options of every command are offered everywhere.
      const std::string where = node.command == &root ? std::string() : at + " ";
      std::string line = fmt::format("complete -c weir {}-l {} -d {}", where, option.name.substr(2),
                                     fish_quoted(option.help));
      if (option.takes_value())
        line += option.choices.empty()
                    ? " -r -F"
                    : " -x -a " + fish_quoted(fmt::format("{}", fmt::join(option.choices, " ")));
      out += line + "\n";
    }
  }
  return out + "complete -c weir -l help -d 'Show help'\n";
}

}  // namespace

Result<std::string> completion_script(const Command& root, std::string_view shell) {
  std::vector<Node> nodes;
  walk(root, root.name, nodes);
  if (shell == "bash") return bash_script(root, nodes);
  if (shell == "zsh") return zsh_script(root, nodes);
  if (shell == "fish") return fish_script(root, nodes);
  return failure(ErrorCode::invalid_argument, "completion is there for bash, zsh and fish");
}

void add_completion(Command& root) {
  Command& command = root.add("completion", "Print a completion script for a shell");
  const auto shell = std::make_shared<std::string>();
  command.examples = {"source <(weir completion bash)", "weir completion zsh > ~/.zfunc/_weir",
                      "weir completion fish | source"};
  Option& option = command.add_text("shell", "SHELL", *shell, "The shell");
  option.required = true;
  option.choices = {"bash", "zsh", "fish"};
  // The tree outlives its own actions.
  command.run = [shell, tree = &root](Session& session) {
    const auto script = completion_script(*tree, *shell);
    if (!script) return usage(session, script.error().detail);
    session.out << *script;
    return kExitOk;
  };
}

}  // namespace weir::cli
