// SPDX-License-Identifier: Apache-2.0
// TERM and INT as something to poll for: blocked in every thread that is started after, and read
// one by one.
#pragma once

#include <cstdint>

namespace weir::cli {

// Make it before any thread. One thread.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // Waits up to `wait_ms` for a signal: its number, or 0.
  int wait(std::int64_t wait_ms);

 private:
  int descriptor_ = -1;
};

}  // namespace weir::cli
