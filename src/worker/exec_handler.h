// SPDX-License-Identifier: Apache-2.0
// Runs a command for each job: `weir work --exec CMD ARG…`.
//
// The command is an argv array from the worker's own command line, never from the job. The payload
// comes on stdin; the job is described in WEIR_* variables of an otherwise small environment; the
// exit code says how it went:
//   0 ack · 75 failed, to be retried · 65 dead, class deserialization · 78 dead, class
//   configuration another code: failed, class exit · killed by a signal: failed, class crash
// The last 64 KiB of stderr are the error message; a number of seconds in the file
// $WEIR_RETRY_AFTER_FILE sets the retry.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "worker/handler.h"
#include "worker/process.h"

namespace weir::worker {

struct ExecOptions {
  std::vector<std::string> argv;
  std::vector<std::string>
      pass_environment;         // names to hand on besides PATH, HOME, LANG, TZ, TMPDIR
  bool take_result = false;     // stdout is the result (JSON) of the job
  bool discard_output = false;  // neither stdout nor stderr is shown
  bool no_new_privileges = false;
  std::int64_t kill_after_ms = 5'000;  // between SIGTERM and SIGKILL
};

class ExecHandler final : public Handler {
 public:
  // `clock` must outlive the handler.
  // Makes the process ignore SIGPIPE: a command may stop reading its payload at any time.
  ExecHandler(ExecOptions options, const Clock& clock);

  HandlerResult run(const client::ClaimedJob& job, const Cancel& cancel) override;
  void kill_everything() override;

 private:
  const ExecOptions options_;
  const Clock& clock_;
  std::mutex mutex_;
  bool is_killed_ = false;  // guarded by mutex_
  std::set<pid_t> groups_;  // guarded by mutex_; alive and not yet reaped
};

// What a process that ended so means. `retry_after_text`: the content of the retry-after file.
HandlerResult result_of_exit(const ProcessEnd& end, const std::string& stderr_tail,
                             std::string_view retry_after_text);

// The WEIR_* variables of a job, "NAME=value" each.
std::vector<std::string> job_environment(const client::ClaimedJob& job);

}  // namespace weir::worker
