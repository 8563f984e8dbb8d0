// SPDX-License-Identifier: Apache-2.0
// Commands as handlers: real processes, synchronised by named pipes, never by sleeping.
#include "worker/exec_handler.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace weir::worker {
namespace {

struct ExecTest : testing::Test {
  ExecTest() {
    std::string pattern = testing::TempDir() + "weir-exec-XXXXXX";
    folder = mkdtemp(pattern.data());
    mkfifo(pipe_path().c_str(), 0600);
    // Opened for both directions, so that neither side waits for the other.
    pipe = open(pipe_path().c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  }
  ~ExecTest() override {
    close(pipe);
    std::filesystem::remove_all(folder);
  }
  std::string pipe_path() const { return folder + "/pipe"; }

  // What the command has written to "$PIPE", up to a line's end.
  std::string read_line() {
    std::string line;
    char c = 0;
    while (true) {
      pollfd watched{.fd = pipe, .events = POLLIN, .revents = 0};
      if (poll(&watched, 1, 60'000) != 1) {
        ADD_FAILURE() << "the command never wrote a line";
        return line;
      }
      if (read(pipe, &c, 1) == 1) {
        if (c == '\n') return line;
        line += c;
      }
    }
  }

  ExecOptions shell(const std::string& script) {
    return {.argv = {"/bin/sh", "-c", "PIPE='" + pipe_path() + "'; " + script},
            .kill_after_ms = 60'000};
  }
  HandlerResult run(ExecOptions options) {
    ExecHandler handler(std::move(options), clock);
    return handler.run(job, cancel);
  }
  HandlerResult run(const std::string& script) { return run(shell(script)); }
  // Starts the command on a thread; the test says when it is told to stop.
  std::thread start(ExecOptions options, HandlerResult& result) {
    return std::thread([this, options = std::move(options), &result] { result = run(options); });
  }

  SystemClock clock;
  client::ClaimedJob job{.id = "42",
                         .queue = "q",
                         .kind = "k",
                         .payload = "{\"n\":1}",
                         .content_type = "application/json",
                         .attempt = 2,
                         .max_attempts = 6,
                         .fence = 4294967298,
                         .lease_token = "tok",
                         .deadline_at = WallTime{1'800'000'000'000}};
  Cancel cancel;
  std::string folder;
  int pipe = -1;
};

// Does that process still run? A zombie that nobody has reaped yet does not.
bool is_running(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return false;
  const std::size_t close_at = text.rfind(')');
  return close_at != std::string::npos && text.substr(close_at + 2, 1) != "Z" &&
         text.substr(close_at + 2, 1) != "X";
}

// Killed is not gone at once: waits for it, not for a time.
void expect_gone(const std::string& pid) {
  ASSERT_FALSE(pid.empty());
  const SystemClock clock;
  const std::int64_t until = clock.boot_ms() + 60'000;
  while (is_running(pid) && clock.boot_ms() < until) poll(nullptr, 0, 1);
  EXPECT_FALSE(is_running(pid)) << pid;
}

TEST_F(ExecTest, exit_codes_mean_what_the_contract_says) {
  struct Row {
    const char* script;
    HandlerResult::Kind kind;
    const char* error_class;
    const char* code;
    bool dead;
  };
  const Row rows[] = {
      {"exit 0", HandlerResult::Kind::ack, "", "", false},
      {"exit 75", HandlerResult::Kind::fail, "temporary", "75", false},
      {"exit 65", HandlerResult::Kind::fail, "deserialization", "65", true},
      {"exit 78", HandlerResult::Kind::fail, "configuration", "78", true},
      {"exit 1", HandlerResult::Kind::fail, "exit", "1", false},
      {"exit 2", HandlerResult::Kind::fail, "exit", "2", false},
      {"exit 255", HandlerResult::Kind::fail, "exit", "255", false},
      {"kill -9 $$", HandlerResult::Kind::fail, "crash", "SIGKILL", false},
      {"kill -SEGV $$", HandlerResult::Kind::fail, "crash", "SIGSEGV", false},
  };
  for (const Row& row : rows) {
    const HandlerResult result = run(row.script);
    EXPECT_EQ(result.kind, row.kind) << row.script;
    EXPECT_EQ(result.report.error_class, row.error_class) << row.script;
    EXPECT_EQ(result.report.code, row.code) << row.script;
    EXPECT_EQ(result.report.dead, row.dead) << row.script;
    EXPECT_EQ(result.report.message.empty(), result.kind == HandlerResult::Kind::ack) << row.script;
  }
}

TEST_F(ExecTest, the_payload_comes_on_stdin_whole) {
  job.payload = std::string(1024 * 1024, 'x');
  ExecOptions options = shell("wc -c");
  options.take_result = true;
  EXPECT_EQ(run(options).result, "1048576");
}

TEST_F(ExecTest, a_command_that_reads_nothing_is_not_waited_for) {
  job.payload = std::string(1024 * 1024, 'x');
  EXPECT_EQ(run("exit 0").kind, HandlerResult::Kind::ack);
  job.payload = "";
  EXPECT_EQ(run("cat").kind, HandlerResult::Kind::ack) << "stdin ends for an empty payload too";
}

TEST_F(ExecTest, arguments_are_never_seen_by_a_shell) {
  ExecOptions options{.argv = {"printf", "\"%s\"", "$(id); `id` && *"}, .take_result = true};
  EXPECT_EQ(run(options).result, "\"$(id); `id` && *\"");
}

TEST_F(ExecTest, the_environment_is_the_job_and_little_else) {
  setenv("SECRET_OF_THE_WORKER", "x", 1);
  setenv("WANTED", "y", 1);
  ExecOptions options = shell("env | sort > '" + folder + "/env'");
  options.pass_environment = {"WANTED", "NOT_THERE"};
  ASSERT_EQ(run(options).kind, HandlerResult::Kind::ack);
  std::ifstream file(folder + "/env");
  std::string text(std::istreambuf_iterator<char>(file), {});
  text = "\n" + text;
  for (const char* line : {"WEIR_JOB_ID=42", "WEIR_QUEUE=q", "WEIR_KIND=k", "WEIR_ATTEMPT=2",
                           "WEIR_MAX_ATTEMPTS=6", "WEIR_FENCE=4294967298", "WEIR_LEASE_TOKEN=tok",
                           "WEIR_DEADLINE=2027-01-15T08:00:00Z", "WANTED=y"}) {
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line << text;
  }
  EXPECT_NE(text.find("\nWEIR_RETRY_AFTER_FILE=/"), std::string::npos);
  EXPECT_EQ(text.find("SECRET_OF_THE_WORKER"), std::string::npos);
  EXPECT_EQ(text.find("NOT_THERE"), std::string::npos);
}

TEST_F(ExecTest, the_command_has_a_session_of_its_own) {
  ExecOptions options = shell(
      "read -r pid comm state ppid pgrp session rest < /proc/self/stat; echo \"[$pgrp,$session]\"");
  options.take_result = true;
  const HandlerResult result = run(options);
  ASSERT_TRUE(result.result);
  const std::vector<std::string> parts =
      split(result.result->substr(1, result.result->size() - 2), ',');
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0], parts[1]);
  EXPECT_NE(parts[0], std::to_string(getpgrp()));
}

TEST_F(ExecTest, the_command_gets_none_of_our_descriptors) {
  const int ours = open("/dev/null", O_RDONLY);  // without close-on-exec, as a library might
  ASSERT_EQ(run("exec ls /proc/self/fd > \"$PIPE.fd\"").kind, HandlerResult::Kind::ack);
  close(ours);
  std::ifstream file(pipe_path() + ".fd");
  std::vector<std::string> found;
  for (std::string line; std::getline(file, line);) found.push_back(line);
  EXPECT_EQ(found, (std::vector<std::string>{"0", "1", "2", "3"}))
      << "3 is the folder that ls reads";
}

TEST_F(ExecTest, the_last_64_kib_of_stderr_are_the_message) {
  const HandlerResult result =
      run("i=0; while [ $i -lt 3000 ]; do "
          "echo \"line $i ...............................................\" >&2; i=$((i+1)); done; "
          "exit 3");
  EXPECT_LE(result.report.message.size(), 64U * 1024);
  EXPECT_GT(result.report.message.size(), 60U * 1024);
  EXPECT_NE(result.report.message.find("line 2999 "), std::string::npos);
  EXPECT_EQ(result.report.message.find("line 0 "), std::string::npos);
}

TEST_F(ExecTest, the_retry_after_file_sets_the_retry) {
  EXPECT_EQ(run("echo 30 > \"$WEIR_RETRY_AFTER_FILE\"; exit 75").report.retry_after_ms, 30'000);
  EXPECT_EQ(run("printf 1.5 > \"$WEIR_RETRY_AFTER_FILE\"; exit 1").report.retry_after_ms, 1'500);
  EXPECT_EQ(run("printf 99999999999 > \"$WEIR_RETRY_AFTER_FILE\"; exit 1").report.retry_after_ms,
            24 * 3600 * 1000);
  EXPECT_EQ(run("echo soon > \"$WEIR_RETRY_AFTER_FILE\"; exit 1").report.retry_after_ms,
            std::nullopt);
  EXPECT_EQ(run("exit 1").report.retry_after_ms, std::nullopt);
  ExecOptions options = shell("echo \"\\\"$WEIR_RETRY_AFTER_FILE\\\"\"");
  options.take_result = true;
  const std::string path = *run(options).result;
  EXPECT_FALSE(std::filesystem::exists(path.substr(1, path.size() - 2))) << "removed afterwards";
}

TEST_F(ExecTest, the_result_is_kept_when_it_is_json_and_the_ack_stands_anyway) {
  ExecOptions options = shell("echo '{\"n\": 12345678901234567890123}'");
  options.take_result = true;
  EXPECT_EQ(run(options).result, "{\"n\": 12345678901234567890123}");
  options = shell("echo done");
  options.take_result = true;
  EXPECT_EQ(run(options).kind, HandlerResult::Kind::ack);
  EXPECT_EQ(run(options).result, std::nullopt);
  options = shell("head -c 300000 /dev/zero | tr '\\0' 1");
  options.take_result = true;
  EXPECT_EQ(run(options).result, std::nullopt) << "over 256 KiB";
}

TEST_F(ExecTest, a_program_that_is_not_there_is_a_failure_that_may_be_retried) {
  const HandlerResult result = run(ExecOptions{.argv = {"/nowhere/at-all"}});
  EXPECT_EQ(result.kind, HandlerResult::Kind::fail);
  EXPECT_EQ(result.report.code, "start");
  EXPECT_FALSE(result.report.dead);
}

TEST_F(ExecTest, a_stop_asks_first_and_what_then_ends_well_is_an_ack) {
  HandlerResult result;
  std::thread thread =
      start(shell("trap 'exit 0' TERM; echo ready > \"$PIPE\"; sleep 1000 & wait"), result);
  EXPECT_EQ(read_line(), "ready");
  cancel.cancel(CancelReason::stopping);
  thread.join();
  EXPECT_EQ(result.kind, HandlerResult::Kind::ack);
}

TEST_F(ExecTest, a_timeout_kills_the_whole_group_also_what_ignores_the_asking) {
  HandlerResult result;
  ExecOptions options = shell(
      "trap '' TERM; (sh -c 'echo $$ > \"$0\"; while :; do sleep 1000; done' \"$PIPE\" & wait) & "
      "wait; while :; do sleep 1000; done");
  options.kill_after_ms = 5;
  std::thread thread = start(options, result);
  const std::string grandchild = read_line();
  EXPECT_TRUE(is_running(grandchild));
  cancel.cancel(CancelReason::timeout);
  thread.join();
  EXPECT_EQ(result.report.code, "SIGKILL");
  expect_gone(grandchild);
}

TEST_F(ExecTest, what_a_finished_command_leaves_behind_is_killed) {
  mkfifo((pipe_path() + ".go").c_str(), 0600);
  const int go = open((pipe_path() + ".go").c_str(), O_RDWR | O_CLOEXEC);
  HandlerResult result;
  std::thread thread = start(shell("sh -c 'echo $$ > \"$0\"; while :; do sleep 1000; done' "
                                   "\"$PIPE\" & read -r go < \"$PIPE.go\""),
                             result);
  const std::string grandchild = read_line();
  EXPECT_EQ(write(go, "go\n", 3), 3);
  thread.join();
  close(go);
  EXPECT_EQ(result.kind, HandlerResult::Kind::ack);
  expect_gone(grandchild);
}

TEST_F(ExecTest, a_stopped_process_is_ended_too) {
  HandlerResult result;
  ExecOptions options = shell("echo ready > \"$PIPE\"; kill -STOP $$");
  std::thread thread = start(options, result);
  EXPECT_EQ(read_line(), "ready");
  cancel.cancel(CancelReason::timeout);
  thread.join();
  EXPECT_EQ(result.kind, HandlerResult::Kind::fail);
}

TEST_F(ExecTest, kill_everything_ends_the_runs_of_all_threads) {
  ExecHandler handler(shell("echo $$ > \"$PIPE\"; while :; do sleep 1000; done"), clock);
  HandlerResult result;
  std::thread thread([&] { result = handler.run(job, cancel); });
  const std::string pid = read_line();
  handler.kill_everything();
  thread.join();
  EXPECT_EQ(result.report.code, "SIGKILL");
  expect_gone(pid);
}

TEST_F(ExecTest, new_privileges_can_be_shut_off) {
  ExecOptions options = shell("sed -n 's/^NoNewPrivs:[^0-9]*//p' /proc/self/status");
  options.take_result = true;
  options.no_new_privileges = true;
  EXPECT_EQ(run(options).result, "1");
}

}  // namespace
}  // namespace weir::worker
