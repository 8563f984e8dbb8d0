// SPDX-License-Identifier: Apache-2.0
// Everything that time drives: what fell due becomes commands, decided and committed like those of
// clients, in bounded slices so that a flood never starves input. What makes no progress (changed
// elsewhere, unreadable) is left alone for a second.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "engine/committer.h"
#include "engine/state.h"

namespace weir::engine {

inline constexpr std::size_t kDuePerTurnMax = 1024;

// One thread.
class Ticker {
 public:
  Ticker(State& state, Committer& committer) : state_(state), committer_(committer) {}

  // One slice. True when there may be more at once. Errors: io_error, corruption (stopped).
  Result<bool> run();

  // Until something falls due, judged by the machine's clocks now.
  std::int64_t next_in_ms() const;

 private:
  // What a due thing is known by.
  using Key = std::tuple<store::Due::Kind, std::uint64_t, Hash128, std::string>;
  static Key key_of(const store::Due& due);
  void forget_old_holds();

  State& state_;
  Committer& committer_;
  std::map<Key, std::int64_t> held_;     // without progress: not before this boot time
  std::int64_t idle_until_boot_ms_ = 0;  // all that is due is held
  std::vector<store::Due> due_;
};

}  // namespace weir::engine
