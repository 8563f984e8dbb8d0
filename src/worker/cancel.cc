// SPDX-License-Identifier: Apache-2.0
// See cancel.h.
#include "worker/cancel.h"

#include <sys/eventfd.h>
#include <unistd.h>

namespace weir::worker {

std::string_view to_string(CancelReason reason) {
  switch (reason) {
    case CancelReason::none:
      return "none";
    case CancelReason::lease_lost:
      return "lease_lost";
    case CancelReason::timeout:
      return "timeout";
    case CancelReason::stopping:
      return "stopping";
  }
  return "none";
}

Cancel::Cancel() : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Cancel::~Cancel() {
  if (event_ >= 0) close(event_);
}

bool Cancel::cancel(CancelReason reason) {
  std::uint8_t none = 0;
  if (!reason_.compare_exchange_strong(none, static_cast<std::uint8_t>(reason))) return false;
  flag_.store(true);
  const std::uint64_t one = 1;
  // A full or missing counter does no harm: the flag is set.
  if (event_ >= 0 && write(event_, &one, sizeof one) < 0) return true;
  return true;
}

}  // namespace weir::worker
