// SPDX-License-Identifier: Apache-2.0
// See exec_handler.h.
#include "worker/exec_handler.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "client/json_slice.h"
#include "worker/tail.h"

namespace weir::worker {
namespace {

constexpr std::size_t kErrorBytesMax = 64 * 1024;
constexpr std::size_t kResultBytesMax = 256 * 1024;
constexpr std::size_t kRetryAfterBytesMax = 64;
constexpr int kPollMs = 100;  // how often the flag is looked at when it has no descriptor

constexpr int kExitBadData = 65;
constexpr int kExitRetry = 75;
constexpr int kExitConfiguration = 78;

// The file that a handler may write a number of seconds to; removed at the end.
class RetryAfterFile {
 public:
  RetryAfterFile() {
    const char* folder = getenv("TMPDIR");
    path_ =
        std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/weir-retry-XXXXXX";
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) {
      path_.clear();
    } else {
      close(file);
    }
  }
  ~RetryAfterFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  RetryAfterFile(const RetryAfterFile&) = delete;
  RetryAfterFile& operator=(const RetryAfterFile&) = delete;

  const std::string& path() const { return path_; }
  std::string content() const {
    std::array<char, kRetryAfterBytesMax> buffer{};
    // O_NONBLOCK: a handler that replaced the file by a pipe must not hold us.
    const int file = path_.empty() ? -1 : open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return {};
    const ssize_t got = read(file, buffer.data(), buffer.size());
    close(file);
    return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
  }

 private:
  std::string path_;
};

// Everything that flows between the worker and one command.
class Conversation {
 public:
  Conversation(Process& process, const client::ClaimedJob& job, bool show_stderr)
      : process_(process), payload_(job.payload), show_stderr_(show_stderr) {
    if (payload_.empty()) process_.close_stdin();
  }

  // Waits for the end of the process, at most `wait_ms` (< 0: for ever) or until `cancel` (watched
  // if `watch_cancel`); moves bytes meanwhile. True at the end.
  bool step(const Cancel& cancel, bool watch_cancel, std::int64_t wait_ms) {
    std::array<pollfd, 5> watched{};
    watched[0] = {.fd = process_.end_descriptor(), .events = POLLIN, .revents = 0};
    watched[1] = {.fd = watch_cancel ? cancel.descriptor() : -1, .events = POLLIN, .revents = 0};
    watched[2] = {.fd = process_.stderr_descriptor(), .events = POLLIN, .revents = 0};
    watched[3] = {.fd = process_.stdout_descriptor(), .events = POLLIN, .revents = 0};
    watched[4] = {.fd = process_.stdin_descriptor(), .events = POLLOUT, .revents = 0};
    int timeout = static_cast<int>(std::min<std::int64_t>(wait_ms < 0 ? -1 : wait_ms, 60'000));
    if (watch_cancel && cancel.descriptor() < 0)
      timeout = timeout < 0 ? kPollMs : std::min(timeout, kPollMs);
    if (poll(watched.data(), watched.size(), timeout) < 0) return false;
    if (watched[4].revents != 0) write_payload();
    if (watched[2].revents != 0) read_stderr();
    if (watched[3].revents != 0) read_stdout();
    return watched[0].revents != 0;
  }

  // What is still in the pipes after the end; descendants that hold them open are not waited for.
  void finish() {
    while (process_.stderr_descriptor() >= 0 && read_stderr()) {
    }
    while (process_.stdout_descriptor() >= 0 && read_stdout()) {
    }
  }

  std::string error_text() const { return errors_.text(); }
  const std::string& output() const { return output_; }
  bool is_output_cut() const { return is_output_cut_; }

 private:
  void write_payload() {
    const ssize_t sent = write(process_.stdin_descriptor(), payload_.data(), payload_.size());
    if (sent < 0) {
      // EPIPE: the command reads no further, which is its right.
      if (errno != EAGAIN && errno != EINTR) process_.close_stdin();
      return;
    }
    payload_.remove_prefix(static_cast<std::size_t>(sent));
    if (payload_.empty()) process_.close_stdin();
  }
  bool read_stderr() {
    const ssize_t got = read(process_.stderr_descriptor(), buffer_.data(), buffer_.size());
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) process_.close_stderr();
      return false;
    }
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    errors_.append(bytes);
    // Our own stderr may be slow or gone; the command must not feel it.
    if (show_stderr_ && write(STDERR_FILENO, bytes.data(), bytes.size()) < 0) show_stderr_ = false;
    return true;
  }
  bool read_stdout() {
    const ssize_t got = read(process_.stdout_descriptor(), buffer_.data(), buffer_.size());
    if (got <= 0) {
      if (got == 0 || (errno != EAGAIN && errno != EINTR)) process_.close_stdout();
      return false;
    }
    const std::size_t room = kResultBytesMax - output_.size();
    is_output_cut_ = is_output_cut_ || static_cast<std::size_t>(got) > room;
    output_.append(buffer_.data(), std::min(room, static_cast<std::size_t>(got)));
    return true;
  }

  Process& process_;
  std::string_view payload_;
  bool show_stderr_;
  Tail errors_{kErrorBytesMax};
  std::string output_;
  bool is_output_cut_ = false;
  std::array<char, 16 * 1024> buffer_{};
};

std::string error_message(const std::string& stderr_tail, const std::string& otherwise) {
  const std::string_view text = trim(stderr_tail);
  return text.empty() ? otherwise : std::string(text);
}

// "1.5" or "30": seconds as a handler writes them.
std::optional<std::int64_t> parse_seconds_ms(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  const std::size_t dot = text.find('.');
  const auto whole = parse_u64("seconds", dot == 0 ? "0" : text.substr(0, dot));
  constexpr std::uint64_t kSecondsMax = 24ULL * 3600;
  if (!whole) return std::nullopt;
  std::int64_t ms = static_cast<std::int64_t>(std::min(*whole, kSecondsMax)) * kMsPerSecond;
  if (dot != std::string_view::npos) {
    const std::string fraction = (std::string(text.substr(dot + 1)) + "000").substr(0, 3);
    const auto part = parse_u64("seconds", fraction);
    if (!part) return std::nullopt;
    ms += static_cast<std::int64_t>(*part);
  }
  return ms;
}

HandlerResult result_of_output(const client::ClaimedJob& job, const Conversation& conversation) {
  const std::string_view output = trim(conversation.output());
  if (!output.empty() && !conversation.is_output_cut() && client::is_json(output)) {
    return HandlerResult::ack(std::string(output));
  }
  // The work is done: a result that can't be kept is no reason to do it again.
  log::warning("the result is not JSON of at most 256 KiB and is not kept",
               {log::field("job", job.id)});
  return HandlerResult::ack();
}

}  // namespace

std::vector<std::string> job_environment(const client::ClaimedJob& job) {
  std::vector<std::string> environment = {
      "WEIR_JOB_ID=" + job.id,
      "WEIR_QUEUE=" + job.queue,
      "WEIR_KIND=" + job.kind,
      fmt::format("WEIR_ATTEMPT={}", job.attempt),
      fmt::format("WEIR_MAX_ATTEMPTS={}", job.max_attempts),
      fmt::format("WEIR_FENCE={}", job.fence),
      "WEIR_LEASE_TOKEN=" + job.lease_token,
      "WEIR_CONTENT_TYPE=" + job.content_type,
  };
  if (job.deadline_at.is_set())
    environment.push_back("WEIR_DEADLINE=" + format_rfc3339(job.deadline_at));
  for (const auto& [name, value] : job.headers) {
    // The trace context is what instrumented commands look for.
    if (equals_ignore_case(name, "traceparent")) environment.push_back("TRACEPARENT=" + value);
  }
  // A NUL would end the variable early and hide what follows.
  for (std::string& entry : environment)
    entry.erase(std::find(entry.begin(), entry.end(), '\0'), entry.end());
  return environment;
}

HandlerResult result_of_exit(const ProcessEnd& end, const std::string& stderr_tail,
                             std::string_view retry_after_text) {
  if (end.signal != 0) {
    const char* name = sigabbrev_np(end.signal);
    const std::string code =
        name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", end.signal);
    return HandlerResult::fail({.error_class = "crash",
                                .code = code,
                                .message = error_message(stderr_tail, "killed by " + code),
                                .retry_after_ms = parse_seconds_ms(retry_after_text)});
  }
  if (end.exit_code == 0) return HandlerResult::ack();
  client::FailReport report;
  report.code = fmt::format("{}", end.exit_code);
  report.message = error_message(stderr_tail, "exit code " + report.code);
  report.retry_after_ms = parse_seconds_ms(retry_after_text);
  switch (end.exit_code) {
    case kExitBadData:
      report.error_class = "deserialization";
      report.dead = true;
      break;
    case kExitConfiguration:
      report.error_class = "configuration";
      report.dead = true;
      break;
    case kExitRetry:
      report.error_class = "temporary";
      break;
    default:
      report.error_class = "exit";
      break;
  }
  return HandlerResult::fail(std::move(report));
}

ExecHandler::ExecHandler(ExecOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  signal(SIGPIPE, SIG_IGN);
}

HandlerResult ExecHandler::run(const client::ClaimedJob& job, const Cancel& cancel) {
  const RetryAfterFile retry_after;
  ProcessOptions start{.argv = options_.argv,
                       .environment = job_environment(job),
                       .output = options_.take_result      ? OutputTo::pipe
                                 : options_.discard_output ? OutputTo::discard
                                                           : OutputTo::inherit,
                       .no_new_privileges = options_.no_new_privileges};
  start.environment.push_back("WEIR_RETRY_AFTER_FILE=" + retry_after.path());
  std::vector<std::string> passed = {"PATH", "HOME", "LANG", "TZ", "TMPDIR"};
  passed.insert(passed.end(), options_.pass_environment.begin(), options_.pass_environment.end());
  for (const std::string& name : passed) {
    if (const char* value = getenv(name.c_str())) start.environment.push_back(name + "=" + value);
  }
  Result<Process> process = Process::start(start);
  if (!process) {
    return HandlerResult::fail(
        {.error_class = "crash", .code = "start", .message = process.error().detail});
  }
  const pid_t group = process->pid();
  {
    const std::lock_guard lock(mutex_);
    groups_.insert(group);
    if (is_killed_) process->signal_group(SIGKILL);  // it was started while all others were killed
  }
  Conversation conversation(*process, job, !options_.discard_output);
  bool is_told = false;
  bool is_killed = false;
  std::int64_t kill_at_ms = 0;
  while (true) {
    const std::int64_t wait_ms =
        is_told && !is_killed ? std::max<std::int64_t>(kill_at_ms - clock_.boot_ms(), 0) : -1;
    if (conversation.step(cancel, !is_told, wait_ms)) break;
    if (!is_told && cancel.is_cancelled()) {
      is_told = true;
      kill_at_ms = clock_.boot_ms() + options_.kill_after_ms;
      process->signal_group(SIGTERM);
      process->signal_group(SIGCONT);  // a stopped process would never see the SIGTERM
    } else if (is_told && !is_killed && clock_.boot_ms() >= kill_at_ms) {
      is_killed = true;
      process->signal_group(SIGKILL);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    groups_.erase(group);
  }
  const ProcessEnd end = process->wait();
  conversation.finish();
  HandlerResult result = result_of_exit(end, conversation.error_text(), retry_after.content());
  if (result.kind == HandlerResult::Kind::ack && options_.take_result) {
    return result_of_output(job, conversation);
  }
  return result;
}

void ExecHandler::kill_everything() {
  const std::lock_guard lock(mutex_);
  is_killed_ = true;
  for (const pid_t group : groups_) kill(-group, SIGKILL);
}

}  // namespace weir::worker
