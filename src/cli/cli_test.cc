// SPDX-License-Identifier: Apache-2.0
// Command lines: what they parse to, what is refused and how, and what the tree promises of every
// command.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/help.h"
#include "cli/parser.h"
#include "cli/table.h"

namespace weir::cli {
namespace {

// A session over strings, and a run of a command line in it. No server is there: port 9 of loopback
// refuses.
struct Shell {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  SystemClock clock;
  std::map<std::string, std::string> environment = {{"WEIR_URL", "http://127.0.0.1:9"}};

  int run(const std::vector<std::string>& arguments) {
    out.str("");
    err.str("");
    Session session{.in = in,
                    .out = out,
                    .err = err,
                    .clock = clock,
                    .environment = [this](const std::string& name) {
                      const auto found = environment.find(name);
                      return found == environment.end() ? std::nullopt
                                                        : std::optional(found->second);
                    }};
    const auto tree = command_tree(session);
    return cli::run(*tree, arguments, session);
  }
};

void for_each_command(
    const std::function<void(const Command& root, const Command&, const std::string& path)>& look) {
  Shell shell;
  Session session{
      .in = shell.in, .out = shell.out, .err = shell.err, .clock = shell.clock, .environment = {}};
  const auto tree = command_tree(session);
  const std::function<void(const Command&, const std::string&)> walk =
      [&](const Command& command, const std::string& path) {
        look(*tree, command, path);
        for (const auto& child : command.commands) walk(*child, path + " " + child->name);
      };
  walk(*tree, tree->name);
}

TEST(Cli, every_command_has_help_with_examples_that_parse) {
  for_each_command([](const Command& root, const Command& command, const std::string& path) {
    EXPECT_FALSE(command.summary.empty()) << path;
    ASSERT_FALSE(command.examples.empty()) << path;
    const std::string help = help_text(root, command, path);
    for (const std::string& example : command.examples)
      EXPECT_NE(help.find(example), std::string::npos);
    EXPECT_TRUE(command.run || !command.commands.empty()) << path;
    for (const Option& option : command.options) {
      EXPECT_FALSE(option.help.empty()) << path << option.name;
      EXPECT_NE(help.find(option.is_positional() ? option.value_name : option.name),
                std::string::npos);
    }
    Shell shell;
    std::vector<std::string> words;
    std::istringstream stream(path.substr(std::string("weir").size()));
    for (std::string word; stream >> word;) words.push_back(word);
    words.emplace_back("--help");
    EXPECT_EQ(shell.run(words), kExitOk) << path;
    EXPECT_EQ(shell.out.str(), help) << path;
  });
}

TEST(Cli, help_may_stand_in_front) {
  Shell shell;
  EXPECT_EQ(shell.run({"help", "job", "ls"}), kExitOk);
  EXPECT_NE(shell.out.str().find("weir job ls"), std::string::npos);
  EXPECT_EQ(shell.run({"help"}), kExitOk);
}

TEST(Cli, every_verb_of_the_contract_is_there) {
  std::string all;
  for_each_command(
      [&all](const Command&, const Command&, const std::string& path) { all += path + "\n"; });
  for (const char* path :
       {"weir serve",        "weir enqueue",      "weir work",         "weir job ls",
        "weir job get",      "weir job cancel",   "weir job promote",  "weir job replay",
        "weir job delete",   "weir queue ls",     "weir queue get",    "weir queue set",
        "weir queue pause",  "weir queue resume", "weir queue purge",  "weir queue rm",
        "weir dead ls",      "weir dead show",    "weir dead replay",  "weir token create",
        "weir token ls",     "weir token revoke", "weir events",       "weir check",
        "weir completion",   "weir version",      "weir store verify", "weir store backup",
        "weir store restore"}) {
    EXPECT_NE(all.find(std::string(path) + "\n"), std::string::npos) << path;
  }
}

TEST(Cli, command_lines_that_are_wrong_exit_with_2_and_say_what_would_be_right) {
  struct Row {
    std::vector<std::string> arguments;
    const char* text;
  };
  const std::vector<Row> rows = {
      {{}, "name a command"},
      {{"enqeue"}, "did you mean \"enqueue\"?"},
      {{"job", "lst"}, "did you mean \"ls\"?"},
      {{"job"}, "needs a verb"},
      {{"enqueue"}, "QUEUE is needed"},
      {{"enqueue", "q", "1", "2"}, "unexpected argument \"2\""},
      {{"enqueue", "q", "--clas", "P0"}, "did you mean --class?"},
      {{"enqueue", "q", "--class", "P7"}, "P0, P1, P2, P3, P4"},
      {{"enqueue", "q", "--delay", "soon"}, "write 30s"},
      {{"enqueue", "q", "--delay", "1s", "--at", "2030-01-01T00:00:00Z"}, "exclude each other"},
      {{"enqueue", "q", "--at", "tomorrow"}, "--at"},
      {{"enqueue", "q", "--priority", "high"}, "whole number"},
      {{"enqueue", "q", "--header", "x"}, "NAME=VALUE"},
      {{"enqueue", "q", "--kind"}, "--kind"},
      {{"enqueue", "q", "--batch", "--kind", "k"}, "--kind does not go with --batch"},
      {{"work", "--exec", "true"}, "--queue is needed"},
      {{"work", "--queue", "q"}, "one of --exec"},
      {{"work", "--queue", "q", "--exec"}, "--exec needs"},
      {{"work", "--queue", "q", "--post", "http://x", "--exec", "true"}, "one of --exec"},
      {{"work", "--queue", "q", "--class", "P0,P1", "--exec", "true"},
       "never shared between classes"},
      {{"work", "--queue", "q", "--class", "P0", "--class", "P1", "--exec", "true"},
       "never shared between classes"},
      {{"work", "--queue", "q", "--concurrency", "0", "--exec", "true"}, "--concurrency"},
      {{"work", "--queue", "q", "--lease", "10ms", "--exec", "true"}, "at least 1s"},
      {{"work", "--queue", "q", "--result", "--post", "http://x"}, "go with --exec"},
      {{"job", "ls", "--status", "done"}, "completed"},
      {{"job", "ls", "--limit", "0"}, "--limit"},
      {{"queue", "set", "emails", "retry"}, "NAME=VALUE"},
      {{"token", "create"}, "--scope is needed"},
      {{"token", "create", "--scope", "root"}, "enqueue, work, read, operate, admin"},
      {{"token", "create", "--scope", "read", "--expires", "never"}, "--expires"},
      {{"completion", "tcsh"}, "bash, zsh, fish"},
      {{"--log-level", "loud", "version"}, "debug, info, warning, error"},
  };
  for (const Row& row : rows) {
    Shell shell;
    EXPECT_EQ(shell.run(row.arguments), kExitUsage) << testing::PrintToString(row.arguments);
    EXPECT_NE(shell.err.str().find(row.text), std::string::npos)
        << testing::PrintToString(row.arguments) << shell.err.str();
    EXPECT_TRUE(shell.out.str().empty());
  }
}

TEST(Cli, a_server_that_is_not_reached_is_69_and_a_bad_set_up_78) {
  Shell shell;
  EXPECT_EQ(shell.run({"job", "get", "1"}), 69);
  EXPECT_EQ(shell.run({"enqueue", "q", "{}"}), 69);
  EXPECT_EQ(shell.run({"--json", "queue", "ls"}), 69);
  EXPECT_NE(shell.err.str().find("\"code\":\"unavailable\""), std::string::npos) << shell.err.str();
  EXPECT_EQ(shell.run({"work", "--queue", "q", "--exec", "no-such-program-anywhere"}), 78);
  EXPECT_EQ(shell.run({"work", "--queue", "q", "--post", "ftp://x"}), 78);
  EXPECT_EQ(shell.run({"work", "--queue", "q", "--post", "http://x", "--secret-file", "/nowhere"}),
            78);
  shell.environment["WEIR_WEBHOOK_SECRET"] = "not a secret";
  EXPECT_EQ(shell.run({"work", "--queue", "q", "--post", "http://x"}), 78);
}

TEST(Cli, batches_with_bad_lines_are_65_and_name_the_line) {
  Shell shell;
  shell.in.str("{\"payload\":1}\n\n{broken\n");
  EXPECT_EQ(shell.run({"enqueue", "q", "--batch"}), kExitBadData);
  EXPECT_NE(shell.err.str().find("line 3"), std::string::npos) << shell.err.str();
}

TEST(Cli, options_of_every_command_stand_before_and_behind_it) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--json", "version"},
                                             {"version", "--json"},
                                             {"--url", "http://x", "version", "--json"}}) {
    Shell shell;
    EXPECT_EQ(shell.run(arguments), kExitOk);
    EXPECT_EQ(shell.out.str(), "{\"version\":\"" WEIR_VERSION "\"}\n");
  }
}

// A tree of its own, to see what arrives at a command.
struct ParserTest : testing::Test {
  std::istringstream in;
  std::ostringstream out, err;
  SystemClock clock;
  Session session{
      .in = in, .out = out, .err = err, .clock = clock, .environment = [](const std::string& name) {
        return name == "KIND" ? std::optional<std::string>("from-environment") : std::nullopt;
      }};
  Command root;
  std::string queue, data, kind;
  std::vector<std::string> tags, classes, exec, ids;
  bool drain = false, has_data = false;

  ParserTest() {
    root.name = "weir";
    root.add_text("--url", "URL", session.url, "Server");
    Command& command = root.add("put", "Put");
    command.add_text("queue", "QUEUE", queue, "Queue").required = true;
    command.add_text("data", "DATA", data, "Data").given = &has_data;
    command.add_text("--kind", "KIND", kind, "Kind").variable = "KIND";
    command.add_list("--tag", "TAG", tags, "Tag");
    command.add_list("--class", "CLASS", classes, "Class").splits = true;
    command.add_flag("--drain", drain, "Drain");
    command.options.push_back({.name = "--exec",
                               .value_name = "CMD",
                               .help = "Run",
                               .kind = OptionKind::rest,
                               .list = &exec});
    command.run = [](Session&) { return kExitOk; };
    Command& many = root.add("many", "Many");
    many.add_list("id", "ID", ids, "Ids").required = true;
    many.run = [](Session&) { return kExitOk; };
  }
  std::string problem(const std::vector<std::string>& arguments) {
    const Parsed parsed = parse(root, arguments, session);
    return parsed.kind == Parsed::Kind::usage ? parsed.problem : std::string();
  }
};

TEST_F(ParserTest, values_arrive_as_they_were_typed) {
  for (const char* value :
       {"[1,2,3]", "[]", "{\"a\":[1]}", "-", "@file", "a=b", "", " x ", "\"q\"", "[a"}) {
    data = "unset";
    EXPECT_EQ(problem({"put", "q", value}), "") << value;
    EXPECT_EQ(data, value);
  }
  EXPECT_EQ(problem({"put", "q", "--kind=[x,y]", "--tag", "[1,2]"}), "");
  EXPECT_EQ(kind, "[x,y]");
  EXPECT_EQ(tags, std::vector<std::string>{"[1,2]"});
  EXPECT_EQ(problem({"put", "q", "--", "-5"}), "");
  EXPECT_EQ(data, "-5");
}

TEST_F(ParserTest, a_queue_may_be_called_like_a_command) {
  EXPECT_EQ(problem({"put", "put", "many"}), "");
  EXPECT_EQ(queue, "put");
  EXPECT_EQ(data, "many");
}

TEST_F(ParserTest, lists_repeat_and_split_only_where_they_say_so) {
  EXPECT_EQ(problem({"put", "q", "--tag", "a,b", "--tag", "c", "--class", "P0,P1", "--class", "P2",
                     "data"}),
            "");
  EXPECT_EQ(tags, (std::vector<std::string>{"a,b", "c"}));
  EXPECT_EQ(classes, (std::vector<std::string>{"P0", "P1", "P2"}));
  EXPECT_EQ(data, "data");
  EXPECT_EQ(problem({"many", "1", "2", "3"}), "");
  EXPECT_EQ(ids, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(problem({"many"}), "ID is needed");
}

TEST_F(ParserTest, the_rest_belongs_to_the_command_with_its_options) {
  EXPECT_EQ(
      problem({"put", "q", "--drain", "--exec", "cmd", "--tag", "x", "--help", "--exec", "[1]"}),
      "");
  EXPECT_TRUE(drain);
  EXPECT_EQ(exec, (std::vector<std::string>{"cmd", "--tag", "x", "--help", "--exec", "[1]"}));
  EXPECT_TRUE(tags.empty());
  EXPECT_EQ(problem({"put", "q", "--exec", "--", "cmd"}), "");
  EXPECT_EQ(exec, std::vector<std::string>{"cmd"});
}

TEST_F(ParserTest, variables_stand_in_for_options_that_are_not_given) {
  EXPECT_EQ(problem({"put", "q"}), "");
  EXPECT_EQ(kind, "from-environment");
  EXPECT_FALSE(has_data);
  EXPECT_EQ(problem({"put", "q", "--kind", "given"}), "");
  EXPECT_EQ(kind, "given");
}

TEST(Completion, every_command_and_option_is_in_every_script) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    for_each_command([shell](const Command& root, const Command& command, const std::string& path) {
      const auto script = completion_script(root, shell);
      ASSERT_TRUE(script);
      EXPECT_NE(script->find(path), std::string::npos) << shell << path;
      for (const Option& option : command.options) {
        if (option.is_positional()) continue;
        const std::string word =
            std::string(shell) == "fish" ? "-l " + option.name.substr(2) : option.name;
        EXPECT_NE(script->find(word), std::string::npos)
            << shell << " " << path << " " << option.name;
      }
    });
  }
}

TEST(TableText, columns_line_up_by_characters_and_control_characters_are_harmless) {
  Table table({"A", "LONG", "LAST"});
  table.add(
      {"\xC2\xB0"
       "C",
       "x", "end"});
  table.add({"ab", "", "\x1B[31mred\xC2\x9B"});
  EXPECT_EQ(table.text(),
            "A   LONG  LAST\n\xC2\xB0"
            "C  x     end\nab  -     ?[31mred?\n");
}

}  // namespace
}  // namespace weir::cli
