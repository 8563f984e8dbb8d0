// SPDX-License-Identifier: Apache-2.0
// One child process in a session and process group of its own: started without a shell, waited for
// by descriptor, ended with all its descendants that stayed in the group.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace weir::worker {

enum class OutputTo : std::uint8_t { inherit, discard, pipe };

struct ProcessOptions {
  std::vector<std::string> argv;  // argv[0] is a path or is looked for in PATH; never a shell
  std::vector<std::string> environment;  // "NAME=value": all that the child gets
  OutputTo output = OutputTo::inherit;   // its stdout; stderr is always a pipe
  bool no_new_privileges = false;        // set-user-id programs gain nothing
};

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // > 0: killed by it
};

// One thread, but kill_group(), which may come from any while the object lives.
class Process {
 public:
  // Errors: io_error (no descriptors, no process), not_found (no such program), permission_denied
  // (not executable). The child's descriptors are stdin, stdout, stderr and no other.
  static Result<Process> start(const ProcessOptions& options);

  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  // Kills the whole group and reaps the child, if that was not done.
  ~Process();

  pid_t pid() const { return pid_; }
  // Non-blocking; -1 when closed or not a pipe.
  int stdin_descriptor() const { return in_; }
  int stdout_descriptor() const { return out_; }
  int stderr_descriptor() const { return err_; }
  // Readable once the child has ended.
  int end_descriptor() const { return pidfd_; }
  void close_stdin();
  void close_stdout();
  void close_stderr();

  // Signals the whole group. No effect after wait().
  void signal_group(int signal_number) const;

  // Waits for the child, kills what is left of its group before its id can be anyone else's, and
  // reaps it.
  ProcessEnd wait();

 private:
  Process() = default;

  pid_t pid_ = -1;  // also the group; -1 once reaped
  int pidfd_ = -1;
  int in_ = -1;
  int out_ = -1;
  int err_ = -1;
};

// The path of `program`: itself when it has a slash, else from `search_path` ("/usr/bin:/bin").
// Errors: not_found, permission_denied.
Result<std::string> find_program(const std::string& program, const std::string& search_path);

}  // namespace weir::worker
