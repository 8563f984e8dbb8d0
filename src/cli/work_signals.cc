// SPDX-License-Identifier: Apache-2.0
// See work_signals.h.
#include "cli/work_signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/assert.h"

namespace weir::cli {

StopSignals::StopSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  WEIR_ASSERT(descriptor_ >= 0);
}

StopSignals::~StopSignals() { close(descriptor_); }

int StopSignals::wait(std::int64_t wait_ms) {
  pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
  if (poll(&watched, 1, static_cast<int>(wait_ms)) <= 0) return 0;
  signalfd_siginfo info = {};
  return read(descriptor_, &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
}

}  // namespace weir::cli
