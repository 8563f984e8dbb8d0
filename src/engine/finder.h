// SPDX-License-Identifier: Apache-2.0
// Finds the jobs that stand first in a queue by an order that no lane has: dead ones by their end,
// those that wait by their time. Walks the queue's jobs in slices of a turn each, and stops as soon
// as it has seen as many as the counts say there are.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "engine/engine.h"
#include "engine/state.h"

namespace weir::engine {

inline constexpr std::int64_t kFindSliceUs = 1000;  // of a turn, for all that is looked for

// One thread.
class Finder {
 public:
  explicit Finder(State& state) : state_(state) {}

  // `found` is called once, from a later run(), with ids in order; none when there is no such
  // queue.
  void add(FirstJobs wanted, FoundCallback found);
  // One slice. Errors: io_error (stopped); what concerns one search is told to it.
  Result<void> run();
  bool is_idle() const { return searches_.empty(); }

 private:
  struct Place {
    std::int64_t at = 0;
    std::uint64_t id = 0;
    bool operator<(const Place& other) const {
      return at != other.at ? at < other.at : id < other.id;
    }
  };
  struct Search {
    FirstJobs wanted;
    FoundCallback found;
    std::uint64_t after_id = 0;
    std::uint64_t seen = 0;
    std::vector<Place> best;  // a heap, the last of them in front
  };

  // True when the search is over.
  Result<bool> look_at_page(Search& search);
  void keep(Search& search, const core::Job& job) const;

  State& state_;
  std::deque<Search> searches_;
};

}  // namespace weir::engine
