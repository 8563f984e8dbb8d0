// SPDX-License-Identifier: Apache-2.0
// How a running handler is told to stop, and why. Works for those that look at a flag (HTTP calls)
// and for those that poll descriptors (processes).
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

namespace weir::worker {

// Why a handler should stop. The first reason stays.
enum class CancelReason : std::uint8_t {
  none = 0,
  lease_lost,  // the job is another's now: whatever comes out is dropped
  timeout,     // the attempt has had its time: it fails as such
  stopping,    // the worker goes: the job is given back
};
std::string_view to_string(CancelReason reason);

// Thread-safe. Lives as long as the run of the handler.
class Cancel {
 public:
  Cancel();
  ~Cancel();
  Cancel(const Cancel&) = delete;
  Cancel& operator=(const Cancel&) = delete;

  // True when this call was the first to cancel.
  bool cancel(CancelReason reason);

  CancelReason reason() const { return static_cast<CancelReason>(reason_.load()); }
  bool is_cancelled() const { return flag_.load(); }
  const std::atomic<bool>& flag() const { return flag_; }
  // A descriptor that becomes readable once cancelled; -1 when the kernel had none to give (then
  // poll the flag).
  int descriptor() const { return event_; }

 private:
  std::atomic<std::uint8_t> reason_{0};
  std::atomic<bool> flag_{false};
  int event_ = -1;
};

}  // namespace weir::worker
