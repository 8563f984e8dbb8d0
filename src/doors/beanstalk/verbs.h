// SPDX-License-Identifier: Apache-2.0
// The verb table of the beanstalkd protocol: names, and what a verb has to wait for when it comes
// behind others of its connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::doors::beanstalk {

enum class Verb : std::uint8_t {
  put,
  reserve,
  reserve_with_timeout,
  reserve_job,
  delete_job,
  release,
  bury,
  touch,
  use,
  watch,
  ignore,
  kick,
  kick_job,
  peek,
  peek_ready,
  peek_delayed,
  peek_buried,
  stats,
  stats_job,
  stats_tube,
  list_tubes,
  list_tube_used,
  list_tubes_watched,
  pause_tube,
  quit,
  unknown,
};
inline constexpr std::size_t kVerbCount = static_cast<std::size_t>(Verb::unknown) + 1;

// What must be answered before a verb may run. Answers leave in order in any case.
enum class Waits : std::uint8_t {
  nothing,   // goes to the engine with those before it, in the same turn
  reserves,  // a reserve that waits holds it up, as it does in beanstalkd
  all,       // looks at what those before it have done
};

// The arguments behind the name.
enum class Form : std::uint8_t {
  none,
  put,      // <pri> <delay> <ttr> <bytes>
  id,       // <id>
  release,  // <id> <pri> <delay>
  bury,     // <id> <pri>
  tube,     // <tube>
  pause,    // <tube> <delay>
  seconds,  // <seconds>
  bound,    // <bound>
};

struct VerbInfo {
  Verb verb = Verb::unknown;
  std::string_view name;
  Form form = Form::none;
  Waits waits = Waits::reserves;
};

// In the order of Verb.
extern const std::array<VerbInfo, kVerbCount> kVerbs;
inline const VerbInfo& info(Verb verb) { return kVerbs[static_cast<std::size_t>(verb)]; }

// The verb that a line begins with; `unknown` when there is none.
Verb find_verb(std::string_view line);

}  // namespace weir::doors::beanstalk
