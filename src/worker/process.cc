// SPDX-License-Identifier: Apache-2.0
// See process.h. Between fork and exec the child of a process with threads may call
// async-signal-safe functions only: all it needs is made before.
#include "worker/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/text.h"

namespace weir::worker {
namespace {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { reset(); }
  int get() const { return number_; }
  int give() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return failure(ErrorCode::io_error, std::string("no pipe: ") + std::strerror(errno));
  }
  return Pipe{.read = Descriptor(ends[0]), .write = Descriptor(ends[1])};
}

void set_nonblocking(int descriptor) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags >= 0) fcntl(descriptor, F_SETFL, flags | O_NONBLOCK);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

struct ChildPlan {
  const char* path;
  char* const* argv;
  char* const* environment;
  int in, out, err, report;
  pid_t parent;
  bool no_new_privileges;
};

// Async-signal-safe only. Moves the three descriptors into place; each is above 2, because the
// parent keeps 0 to 2 open.
[[noreturn]] void become_child(const ChildPlan& plan) {
  const auto give_up = [&plan] {
    const int code = errno;
    if (write(plan.report, &code, sizeof code) < 0) _exit(126);
    _exit(126);
  };
  if (setsid() < 0) give_up();
  // A worker that is killed takes its commands along: their leases run out, and a second run must
  // not meet the first.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) give_up();
  if (getppid() != plan.parent) _exit(126);
  if (plan.no_new_privileges && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up();
  if (dup2(plan.in, 0) < 0 || (plan.out != 1 && dup2(plan.out, 1) < 0) || dup2(plan.err, 2) < 0)
    give_up();
  close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(plan.path, plan.argv, plan.environment);
  give_up();
  _exit(126);
}

Failure start_failure(const std::string& path, int code) {
  const std::string detail = "cannot start " + path + ": " + std::strerror(code);
  if (code == ENOENT || code == ENOTDIR) return failure(ErrorCode::not_found, detail);
  if (code == EACCES || code == EPERM) return failure(ErrorCode::permission_denied, detail);
  return failure(ErrorCode::io_error, detail);
}

std::string search_path_of(const std::vector<std::string>& environment) {
  constexpr std::string_view kName = "PATH=";
  for (const std::string& entry : environment) {
    if (entry.starts_with(kName)) return entry.substr(kName.size());
  }
  return "/usr/local/bin:/usr/bin:/bin";
}

}  // namespace

Result<std::string> find_program(const std::string& program, const std::string& search_path) {
  bool is_there = false;
  const auto is_runnable = [&is_there](const std::string& path) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
    is_there = true;
    return access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != std::string::npos) {
    if (is_runnable(program)) return program;
  } else if (!program.empty()) {
    for (const std::string& folder : split(search_path, ':')) {
      if (folder.empty()) continue;
      std::string path = folder + "/" + program;
      if (is_runnable(path)) return path;
    }
  }
  if (is_there) return failure(ErrorCode::permission_denied, program + " is not executable");
  return failure(ErrorCode::not_found, "no such program: " + program);
}

Result<Process> Process::start(const ProcessOptions& options) {
  if (options.argv.empty()) return failure(ErrorCode::invalid_argument, "no command");
  WEIR_TRY_ASSIGN(const std::string path,
                  find_program(options.argv[0], search_path_of(options.environment)));
  WEIR_TRY_ASSIGN(Pipe in, make_pipe());
  WEIR_TRY_ASSIGN(Pipe err, make_pipe());
  WEIR_TRY_ASSIGN(Pipe report, make_pipe());
  Pipe out;
  Descriptor null;
  int child_out = 1;
  if (options.output == OutputTo::pipe) {
    WEIR_TRY_ASSIGN(out, make_pipe());
    child_out = out.write.get();
  } else if (options.output == OutputTo::discard) {
    null = Descriptor(open("/dev/null", O_WRONLY | O_CLOEXEC));
    if (null.get() < 0) return failure(ErrorCode::io_error, "cannot open /dev/null");
    child_out = null.get();
  }
  const std::vector<char*> argv = pointers(options.argv);
  const std::vector<char*> environment = pointers(options.environment);
  const ChildPlan plan{.path = path.c_str(),
                       .argv = argv.data(),
                       .environment = environment.data(),
                       .in = in.read.get(),
                       .out = child_out,
                       .err = err.write.get(),
                       .report = report.write.get(),
                       .parent = getpid(),
                       .no_new_privileges = options.no_new_privileges};
  const pid_t pid = fork();
  if (pid < 0)
    return failure(ErrorCode::io_error, std::string("no process: ") + std::strerror(errno));
  if (pid == 0) become_child(plan);

  report.write.reset();
  int code = 0;
  ssize_t got = 0;
  do {
    got = read(report.read.get(), &code, sizeof code);
  } while (got < 0 && errno == EINTR);
  Process process;
  process.pid_ = pid;
  if (got == static_cast<ssize_t>(sizeof code)) {
    process.wait();
    return start_failure(path, code);
  }
  process.pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (process.pidfd_ < 0) return failure(ErrorCode::io_error, "no descriptor for the process");
  process.in_ = in.write.give();
  process.out_ = out.read.give();
  process.err_ = err.read.give();
  for (const int descriptor : {process.in_, process.out_, process.err_}) {
    if (descriptor >= 0) set_nonblocking(descriptor);
  }
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::exchange(other.pidfd_, -1)),
      in_(std::exchange(other.in_, -1)),
      out_(std::exchange(other.out_, -1)),
      err_(std::exchange(other.err_, -1)) {}

Process::~Process() {
  if (pid_ > 0) {
    signal_group(SIGKILL);
    wait();
  }
  close_stdin();
  close_stdout();
  close_stderr();
  if (pidfd_ >= 0) close(pidfd_);
}

void Process::close_stdin() {
  if (in_ >= 0) close(std::exchange(in_, -1));
}
void Process::close_stdout() {
  if (out_ >= 0) close(std::exchange(out_, -1));
}
void Process::close_stderr() {
  if (err_ >= 0) close(std::exchange(err_, -1));
}

void Process::signal_group(int signal_number) const {
  if (pid_ > 0) kill(-pid_, signal_number);
}

ProcessEnd Process::wait() {
  siginfo_t info = {};
  // WNOWAIT: as long as the child is not reaped its id stays its group's, so the kill can't meet
  // strangers.
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  signal_group(SIGKILL);
  while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED) != 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (info.si_code == CLD_EXITED) return {.exit_code = info.si_status};
  return {.exit_code = -1, .signal = info.si_status};
}

}  // namespace weir::worker
