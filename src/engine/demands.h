// SPDX-License-Identifier: Apache-2.0
// Standing demands, indexed so that a change of a queue costs by the number of different demands on
// it, never by the number of those who wait: demands that ask for the same (queues, classes, kinds)
// form one line, first come first served, and each queue name knows its lines. A line is looked at
// only when it is stirred: one of its queues may have something, or a demand is new.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/engine.h"

namespace weir::engine {

struct Standing {
  Demand demand;
  DeliveryCallback delivered;
  std::int64_t deadline_boot_ms = 0;
};

// Demands that ask for the same, in the order in which they came.
struct DemandLine {
  std::uint64_t serial = 0;
  std::string key;
  std::uint32_t namespace_id = 0;
  std::vector<std::string> queues;  // sorted, each once
  std::vector<core::PriorityClass> classes;
  std::vector<std::string> kinds;
  std::map<DemandId, Standing> waiting;
  std::uint64_t credit = 0;  // of all that wait
  bool is_stirred = false;
};

// One thread.
class DemandBook {
 public:
  DemandId add(Demand demand, DeliveryCallback delivered, std::int64_t boot_ms);
  // False when it is not here (any more).
  bool withdraw(DemandId id);
  bool contains(DemandId id) const { return where_.contains(id); }
  // Requires: it is here.
  const Demand& demand(DemandId id) const { return where_.at(id)->waiting.at(id).demand; }
  // Takes it out to be answered. Requires: it is here.
  Standing take(DemandId id);
  // Takes out everybody, in order.
  std::vector<Standing> take_all();
  // Takes out those whose time is over. Without `with_stirred` those whose line is stirred stay:
  // they are looked at first.
  std::vector<Standing> take_expired(std::int64_t boot_ms, bool with_stirred = false);

  void stir_queue(std::uint32_t namespace_id, std::string_view name);
  void stir(DemandLine& line);
  void stir_line_of(DemandId id) { stir(*where_.at(id)); }
  void settle(DemandLine& line);  // nothing more for it until it is stirred again
  // Lines with something to look at, by serial.
  const std::map<std::uint64_t, DemandLine*>& stirred() const { return stirred_; }

  std::size_t size() const { return where_.size(); }
  // The largest number when nobody waits.
  std::int64_t next_deadline_boot_ms() const;

 private:
  DemandLine& line_of(const Demand& demand);
  void drop_if_empty(DemandLine& line);
  static std::string name_key(std::uint32_t namespace_id, std::string_view name);

  std::unordered_map<std::string, std::unique_ptr<DemandLine>> lines_;  // by key
  std::unordered_map<std::string, std::map<std::uint64_t, DemandLine*>> by_queue_;
  std::unordered_map<DemandId, DemandLine*> where_;
  std::set<std::pair<std::int64_t, DemandId>> deadlines_;
  std::map<std::uint64_t, DemandLine*> stirred_;
  DemandId last_id_ = 0;
  std::uint64_t last_serial_ = 0;
};

}  // namespace weir::engine
