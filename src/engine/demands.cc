// SPDX-License-Identifier: Apache-2.0
#include "engine/demands.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace weir::engine {
namespace {

template <typename T>
void sort_unique(std::vector<T>& list) {
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

std::string line_key(const Demand& demand) {
  std::string key;
  ByteWriter writer(key);
  writer.u32(demand.principal.namespace_id);
  writer.varint(demand.queues.size());
  for (const std::string& queue : demand.queues) writer.text(queue);
  writer.varint(demand.classes.size());
  for (const core::PriorityClass c : demand.classes) writer.u8(static_cast<std::uint8_t>(c));
  for (const std::string& kind : demand.kinds) writer.text(kind);
  return key;
}

}  // namespace

std::string DemandBook::name_key(std::uint32_t namespace_id, std::string_view name) {
  std::string key;
  ByteWriter(key).u32(namespace_id);
  key.append(name);
  return key;
}

DemandLine& DemandBook::line_of(const Demand& demand) {
  std::string key = line_key(demand);
  const auto found = lines_.find(key);
  if (found != lines_.end()) return *found->second;
  auto made = std::make_unique<DemandLine>();
  made->serial = ++last_serial_;
  made->key = key;
  made->namespace_id = demand.principal.namespace_id;
  made->queues = demand.queues;
  made->classes = demand.classes;
  made->kinds = demand.kinds;
  DemandLine& line = *made;
  lines_.emplace(std::move(key), std::move(made));
  for (const std::string& queue : line.queues) {
    by_queue_[name_key(line.namespace_id, queue)].emplace(line.serial, &line);
  }
  return line;
}

DemandId DemandBook::add(Demand demand, DeliveryCallback delivered, std::int64_t boot_ms) {
  sort_unique(demand.queues);
  sort_unique(demand.classes);
  sort_unique(demand.kinds);
  demand.credit = std::max<std::uint32_t>(demand.credit, 1);
  DemandLine& line = line_of(demand);
  const DemandId id = ++last_id_;
  const std::int64_t deadline = saturating_add(boot_ms, std::max<std::int64_t>(demand.wait_ms, 0));
  line.credit += demand.credit;
  line.waiting.emplace(id, Standing{std::move(demand), std::move(delivered), deadline});
  where_.emplace(id, &line);
  deadlines_.emplace(deadline, id);
  stir(line);
  return id;
}

Standing DemandBook::take(DemandId id) {
  const auto place = where_.find(id);
  WEIR_ASSERT(place != where_.end(), id);
  DemandLine& line = *place->second;
  const auto it = line.waiting.find(id);
  Standing standing = std::move(it->second);
  line.waiting.erase(it);
  line.credit -= standing.demand.credit;
  where_.erase(place);
  deadlines_.erase({standing.deadline_boot_ms, id});
  drop_if_empty(line);
  return standing;
}

bool DemandBook::withdraw(DemandId id) {
  if (!where_.contains(id)) return false;
  take(id);
  return true;
}

std::vector<Standing> DemandBook::take_all() {
  std::vector<DemandId> ids;
  ids.reserve(where_.size());
  for (const auto& [id, line] : where_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  std::vector<Standing> all;
  all.reserve(ids.size());
  for (const DemandId id : ids) all.push_back(take(id));
  return all;
}

std::vector<Standing> DemandBook::take_expired(std::int64_t boot_ms, bool with_stirred) {
  std::vector<DemandId> ids;
  for (const auto& [deadline, id] : deadlines_) {
    if (deadline > boot_ms) break;
    if (with_stirred || !where_.at(id)->is_stirred) ids.push_back(id);
  }
  std::vector<Standing> expired;
  expired.reserve(ids.size());
  for (const DemandId id : ids) expired.push_back(take(id));
  return expired;
}

void DemandBook::stir_queue(std::uint32_t namespace_id, std::string_view name) {
  const auto it = by_queue_.find(name_key(namespace_id, name));
  if (it == by_queue_.end()) return;
  for (const auto& [serial, line] : it->second) stir(*line);
}

void DemandBook::stir(DemandLine& line) {
  line.is_stirred = true;
  stirred_.emplace(line.serial, &line);
}

void DemandBook::settle(DemandLine& line) {
  line.is_stirred = false;
  stirred_.erase(line.serial);
}

std::int64_t DemandBook::next_deadline_boot_ms() const {
  return deadlines_.empty() ? std::numeric_limits<std::int64_t>::max() : deadlines_.begin()->first;
}

void DemandBook::drop_if_empty(DemandLine& line) {
  if (!line.waiting.empty()) return;
  settle(line);
  for (const std::string& queue : line.queues) {
    const auto it = by_queue_.find(name_key(line.namespace_id, queue));
    it->second.erase(line.serial);
    if (it->second.empty()) by_queue_.erase(it);
  }
  const auto own = lines_.find(line.key);
  lines_.erase(own);
}

}  // namespace weir::engine
