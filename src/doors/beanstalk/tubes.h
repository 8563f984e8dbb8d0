// SPDX-License-Identifier: Apache-2.0
// The tubes that connections use and watch, and what the door counts of them. A tube is a queue of
// the engine once it has had a job; here it lives while a connection refers to it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weir::doors::beanstalk {

inline constexpr std::string_view kDefaultTube = "default";

struct Tube {
  std::string name;
  std::uint32_t using_count = 0;
  std::uint32_t watching_count = 0;
  std::uint32_t waiting_count = 0;  // connections that wait for a job of it
  bool is_referenced() const { return using_count + watching_count > 0; }
};

// One thread. Addresses of tubes stay while they are referenced.
class TubeTable {
 public:
  Tube& use(std::string_view name) {
    Tube& tube = get(name);
    ++tube.using_count;
    return tube;
  }
  void stop_using(Tube& tube) {
    --tube.using_count;
    drop_if_unused(tube);
  }
  Tube& watch(std::string_view name) {
    Tube& tube = get(name);
    ++tube.watching_count;
    return tube;
  }
  void stop_watching(Tube& tube) {
    --tube.watching_count;
    drop_if_unused(tube);
  }
  const Tube* find(std::string_view name) const {
    const auto at = tubes_.find(name);
    return at == tubes_.end() ? nullptr : &at->second;
  }
  const std::map<std::string, Tube, std::less<>>& all() const { return tubes_; }

 private:
  Tube& get(std::string_view name) {
    const auto at = tubes_.find(name);
    if (at != tubes_.end()) return at->second;
    Tube& tube = tubes_[std::string(name)];
    tube.name = name;
    return tube;
  }
  void drop_if_unused(Tube& tube) {
    if (!tube.is_referenced()) tubes_.erase(tubes_.find(tube.name));
  }

  std::map<std::string, Tube, std::less<>> tubes_;
};

}  // namespace weir::doors::beanstalk
