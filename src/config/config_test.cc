// SPDX-License-Identifier: Apache-2.0
// weir.toml: every mistake is named with file, line and what would be right; variables win over the
// file.
#include "config/config.h"

namespace weir::config {
namespace {

std::string problems(std::string_view text, const Environment& environment = {}) {
  std::string all;
  for (const Problem& p : load("weir.toml", text, environment).problems) all += p.format() + "\n";
  return all;
}

TEST(config, an_empty_file_gives_the_defaults) {
  const Loaded loaded = load("", "", {});
  EXPECT_TRUE(loaded.problems.empty());
  EXPECT_EQ(loaded.config.server.listen, "127.0.0.1:7350");
  EXPECT_EQ(loaded.config.policy.queue_defaults, core::QueueSettings{});
}

TEST(config, the_reference_page_loads_and_equals_the_defaults) {
  const Loaded loaded = load("reference", reference(), {});
  EXPECT_EQ(problems(reference()), "");
  EXPECT_EQ(loaded.config.policy.queue_defaults, core::QueueSettings{});
  EXPECT_EQ(loaded.config.server.probe_listen, "127.0.0.1:7351");
}

TEST(config, a_full_file_is_read) {
  const Loaded loaded = load("weir.toml", R"(
[server]
listen = "127.0.0.1:9000"
durability = "interval:100"
shutdown_grace = "10s"
[defaults]
lease = "2m"
retry = "exp2"
[queues.emails]
class = "P1"
retry = { base = "1s", factor = 2, cap = "15m", jitter = 0.2 }
max_depth = 1000
[retry.slow]
delays = ["1m", "10m"]
[queues.reports]
retry = "slow"
[[rules]]
when = { http_status = "404" }
then = "retry"
[[rules]]
when = { class = "card*", code = "declined" }
then = "dead"
[pools.critical]
queues = ["emails"]
classes = ["P0"]
exec = ["./send"]
)",
                             {});
  for (const Problem& p : loaded.problems) ADD_FAILURE() << p.format();
  const core::QueueSettings& defaults = loaded.config.policy.queue_defaults;
  EXPECT_EQ(defaults.durability, core::Durability::interval);
  EXPECT_EQ(defaults.durability_interval_ms, 100);
  EXPECT_EQ(defaults.lease_ms, 120'000);
  EXPECT_EQ(defaults.max_attempts, 5U);
  ASSERT_EQ(loaded.config.queues.size(), 2U);
  EXPECT_EQ(loaded.config.queues[0].patch.retry->base_ms, 1000);
  EXPECT_EQ(loaded.config.queues[1].patch.retry->max_attempts, 3U);
  ASSERT_EQ(loaded.config.policy.rules.size(), 2U);
  EXPECT_EQ(loaded.config.policy.rules[1].then, core::ErrorVerdict::dead);
  ASSERT_EQ(loaded.config.pools.size(), 1U);
}

TEST(config, unknown_keys_are_named_with_line_and_the_nearest_known_one) {
  EXPECT_EQ(problems("[server]\n\nlistne = \"x\"\n"),
            "weir.toml:3: server.listne: unknown key listne; did you mean listen?\n");
  EXPECT_NE(problems("[sevrer]\nlisten = \"x\"\n")
                .find("weir.toml:1: sevrer: unknown key sevrer; did you mean server?"),
            std::string::npos);
  EXPECT_NE(
      problems("[queues.mail]\ncolour = 1\n").find("weir.toml:2: queues.mail.colour: unknown key"),
      std::string::npos);
}

TEST(config, impossible_values_say_what_would_be_right) {
  struct Case {
    std::string_view text;
    std::string_view says;
  };
  const Case cases[] = {
      {"[server]\nlisten = 7350\n",
       "weir.toml:2: server.listen: is a whole number; it must be a text in quotes"},
      {"[defaults]\nlease = \"soon\"\n", "is not a duration; write"},
      {"[defaults]\nlease = \"1ms\"\n", "lease"},
      {"[defaults]\nmax_attempts = 0\n", "max_attempts"},
      {"[defaults]\nmax_attempts = -1\n", "is negative"},
      {"[defaults]\nclass = \"P9\"\n", "must be P0, P1, P2, P3 or P4"},
      {"[defaults]\ndurability = \"never\"\n", "must be \"sync\" or \"interval:<ms>\""},
      {"[defaults]\nretry = \"forever\"\n", "ladder"},
      {"[retry.x]\nbase = \"1s\"\nfactor = 0.5\ncap = \"1m\"\n", "factor"},
      {"[retry.x]\nbase = \"1s\"\njitter = 0\ncap = \"1m\"\n", "jitter"},
      {"[retry.x]\nbase = \"1s\"\n", "cap"},
      {"[retry.ladder]\nbase = \"1s\"\n", "built-in"},
      {"[[rules]]\nthen = \"retry\"\n", "a rule needs both"},
      {"[[rules]]\nwhen = { http_status = \"9xx\" }\nthen = \"retry\"\n", "rules[0]"},
      {"[pools.a]\nqueues = [\"q\"]\nclasses = [\"P0\", \"P1\"]\nexec = [\"x\"]\n",
       "a pool serves one class"},
      {"[pools.a]\nqueues = [\"q\"]\n", "set exec"},
      {"[server]\ntls_cert = \"a.pem\"\n", "belong together"},
      {"[doors]\nbeanstalkd = \"127.0.0.1:11300\"\n", "did you mean beanstalk?"},
      {"[doors]\nbeanstalk_job_max = \"2MiB\"\n", "at most 1MiB"},
      {"[server\n", "line 1"},
  };
  for (const Case& c : cases) {
    const std::string said = problems(c.text);
    EXPECT_NE(said.find(c.says), std::string::npos) << c.text << "said: " << said;
    EXPECT_FALSE(load("weir.toml", c.text, {}).is_usable()) << c.text;
  }
}

TEST(config, many_attempts_are_warned_about_but_allowed) {
  const Loaded loaded = load("weir.toml", "[defaults]\nmax_attempts = 25\n", {});
  EXPECT_TRUE(loaded.is_usable());
  ASSERT_EQ(loaded.problems.size(), 1U);
  EXPECT_TRUE(loaded.problems[0].is_warning);
}

TEST(config, variables_win_over_the_file_and_are_checked_too) {
  const Environment environment = {{"WEIR_SERVER_LISTEN", "127.0.0.1:1"},
                                   {"WEIR_DEFAULTS_LEASE", "5m"},
                                   {"WEIR_SERVER_ALLOWED_HOSTS", "a.example, b.example"},
                                   {"WEIR_URL", "ignored"}};
  const Loaded loaded = load("weir.toml", "[server]\nlisten = \"127.0.0.1:2\"\n", environment);
  EXPECT_TRUE(loaded.problems.empty());
  EXPECT_EQ(loaded.config.server.listen, "127.0.0.1:1");
  EXPECT_EQ(loaded.config.policy.queue_defaults.lease_ms, 300'000);
  EXPECT_EQ(loaded.config.server.allowed_hosts.size(), 2U);
  EXPECT_NE(problems("", {{"WEIR_SERVER_LISTNE", "x"}})
                .find("environment: WEIR_SERVER_LISTNE: unknown key"),
            std::string::npos);
}

}  // namespace
}  // namespace weir::config
