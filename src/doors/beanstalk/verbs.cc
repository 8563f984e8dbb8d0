// SPDX-License-Identifier: Apache-2.0
#include "doors/beanstalk/verbs.h"

namespace weir::doors::beanstalk {

const std::array<VerbInfo, kVerbCount> kVerbs = {{
    {Verb::put, "put ", Form::put, Waits::reserves},
    {Verb::reserve, "reserve", Form::none, Waits::nothing},
    {Verb::reserve_with_timeout, "reserve-with-timeout ", Form::seconds, Waits::nothing},
    {Verb::reserve_job, "reserve-job ", Form::id, Waits::reserves},
    {Verb::delete_job, "delete ", Form::id, Waits::reserves},
    {Verb::release, "release ", Form::release, Waits::reserves},
    {Verb::bury, "bury ", Form::bury, Waits::reserves},
    {Verb::touch, "touch ", Form::id, Waits::reserves},
    {Verb::use, "use ", Form::tube, Waits::reserves},
    {Verb::watch, "watch ", Form::tube, Waits::reserves},
    {Verb::ignore, "ignore ", Form::tube, Waits::reserves},
    {Verb::kick, "kick ", Form::bound, Waits::all},
    {Verb::kick_job, "kick-job ", Form::id, Waits::reserves},
    {Verb::peek, "peek ", Form::id, Waits::all},
    {Verb::peek_ready, "peek-ready", Form::none, Waits::all},
    {Verb::peek_delayed, "peek-delayed", Form::none, Waits::all},
    {Verb::peek_buried, "peek-buried", Form::none, Waits::all},
    {Verb::stats, "stats", Form::none, Waits::all},
    {Verb::stats_job, "stats-job ", Form::id, Waits::all},
    {Verb::stats_tube, "stats-tube ", Form::tube, Waits::all},
    {Verb::list_tubes, "list-tubes", Form::none, Waits::all},
    {Verb::list_tube_used, "list-tube-used", Form::none, Waits::reserves},
    {Verb::list_tubes_watched, "list-tubes-watched", Form::none, Waits::reserves},
    {Verb::pause_tube, "pause-tube", Form::pause, Waits::all},
    {Verb::quit, "quit", Form::none, Waits::reserves},
    {Verb::unknown, "", Form::none, Waits::reserves},
}};

Verb find_verb(std::string_view line) {
  // The longest name that the line begins with: "peek-ready" is no "peek" with a bad argument, and
  // "stats-job 1" no "stats" with something behind it.
  const VerbInfo* best = &info(Verb::unknown);
  for (const VerbInfo& verb : kVerbs) {
    if (!verb.name.empty() && line[0] == verb.name[0] && verb.name.size() > best->name.size() &&
        line.starts_with(verb.name)) {
      best = &verb;
    }
  }
  return best->verb;
}

}  // namespace weir::doors::beanstalk
