// SPDX-License-Identifier: Apache-2.0
// What runs a job. Handlers are written here (commands, webhooks) or in C++ by whoever links this
// library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/job_api.h"
#include "worker/cancel.h"

namespace weir::worker {

// How a run ended. Value.
struct HandlerResult {
  enum class Kind : std::uint8_t { ack, fail, release };

  Kind kind = Kind::ack;
  std::optional<std::string> result;  // ack: JSON text to keep with the job
  client::FailReport report;          // fail

  static HandlerResult ack(std::optional<std::string> result = std::nullopt) {
    return {.kind = Kind::ack, .result = std::move(result)};
  }
  static HandlerResult fail(client::FailReport report) {
    return {.kind = Kind::fail, .report = std::move(report)};
  }
  // Gives the job back, uncharged: nothing was begun.
  static HandlerResult release() { return {.kind = Kind::release}; }
};

class Handler {
 public:
  virtual ~Handler() = default;

  // Runs one job to its end. Must return soon after `cancel` was raised; what it then returns
  // counts only when the reason was `timeout` or `stopping` and it says ack or fails for another
  // reason (the work was finished after all). Thread: many at once, one for each slot.
  virtual HandlerResult run(const client::ClaimedJob& job, const Cancel& cancel) = 0;

  // The process ends now: everything that runs outside of it is killed. Thread: any, while runs are
  // under way.
  virtual void kill_everything() {}
};

}  // namespace weir::worker
