// SPDX-License-Identifier: Apache-2.0
// What the parts of the engine share in a turn. No rules here; each part says which of it it
// changes.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "base/prng.h"
#include "core/decide.h"
#include "engine/counters.h"
#include "engine/engine.h"
#include "engine/events.h"
#include "engine/id_pool.h"
#include "engine/pauses.h"
#include "engine/registry.h"
#include "engine/release_queue.h"
#include "engine/sync_book.h"
#include "engine/turn_clock.h"

namespace weir::engine {

// One thread.
struct State {
  State(store::Store& store_, const Clock& clock_, Options options_, std::uint64_t seed)
      : store(store_),
        clock(clock_),
        options(std::move(options_)),
        prng(seed),
        ids(store_),
        time(clock_) {}

  // Does anyone want the events?
  bool is_heard() const { return !events.is_empty() || !waiters.is_empty(); }

  store::Store& store;
  const Clock& clock;
  Options options;
  Prng prng;
  IdPool ids;
  TurnClock time;
  Registry registry;
  SyncBook sync;
  ReleaseQueue releases;
  EventBus events;
  Waiters waiters;
  Counters counters;
  Pauses pauses;

  std::int64_t leases = 0;                         // jobs in processing
  std::unordered_set<core::QueueId> dirty_queues;  // may have something for demands that wait
  std::unordered_set<core::QueueId>
      deleted_queues;  // marked is_deleted: their jobs are removed in slices
};

}  // namespace weir::engine
