// SPDX-License-Identifier: Apache-2.0
// The bounded mailbox: commands that have arrived and not been decided. The last quarter of it is
// kept for the verbs by which workers end or keep what they hold: a flood of enqueues must not make
// leases run out.
#pragma once

#include <cstddef>
#include <vector>

#include "core/command.h"
#include "core/limits.h"
#include "engine/fifo.h"
#include "engine/work.h"

namespace weir::engine {

// Payloads wait in memory: so many bytes of them at most, the last quarter for workers like the
// places.
inline constexpr std::size_t kMailboxBytesMax = 16 * core::kTurnBytesMax;

// ack, fail, release, snooze, extend, progress: served while draining, and from the last quarter of
// the mailbox.
bool is_worker_verb(const core::Command& command);

// About what the changes of `command` will weigh in a commit, never less than they do but for a
// bounded record overhead.
std::size_t command_bytes(const core::Command& command);

// One thread.
class Mailbox {
 public:
  explicit Mailbox(std::size_t commands_max) : commands_max_(commands_max) {}

  // Errors: unavailable with retry_after_ms when there is no room for such a command.
  Result<void> put(core::Request&& request, AnswerCallback&& answered);
  // The engine's own commands go first and are not bounded here (their makers bound them).
  void put_own(core::Request request);

  // Moves the next turn's share to `out`, which is empty, in order: at most kTurnCommandsMax or
  // kTurnBytesMax, a larger command alone.
  void take(std::vector<Work>& out);

  bool is_empty() const { return works_.empty() && own_.empty(); }
  std::size_t size() const { return works_.size() + own_.size(); }

 private:
  std::size_t commands_max_;
  std::size_t bytes_ = 0;  // of works_
  Fifo<Work> own_;
  Fifo<Work> works_;
};

}  // namespace weir::engine
