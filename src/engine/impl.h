// SPDX-License-Identifier: Apache-2.0
// The parts of the engine together, and the order of a turn (turn.cc).
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/committer.h"
#include "engine/dispatch.h"
#include "engine/engine.h"
#include "engine/finder.h"
#include "engine/kicks.h"
#include "engine/mailbox.h"
#include "engine/slices.h"
#include "engine/state.h"
#include "engine/ticker.h"

namespace weir::engine {

// One thread, but for `published`.
struct Engine::Impl {
  Impl(store::Store& store, const Clock& clock, const Options& options);

  Result<void> start();
  Result<bool> turn();
  std::int64_t next_turn_in_ms() const;
  void publish(bool at_once);

  State state;
  Mailbox mailbox;
  Committer committer;
  Ticker ticker;
  Slices slices;
  Finder finder;
  Kicks kicks;
  Dispatcher dispatcher;
  Published published;
  std::optional<Error> stopped;  // why nothing goes any more
  bool is_draining = false;
  bool has_more_work = false;  // the store has housekeeping left
  std::int64_t start_boot_ms = 0;
  std::int64_t published_boot_ms = 0;
  std::vector<std::function<void()>> looks;

 private:
  Result<void> decide_input();
  Result<void> sync_and_release();
  void run_looks();
};

}  // namespace weir::engine
