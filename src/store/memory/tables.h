// SPDX-License-Identifier: Apache-2.0
// The entities of the memory store in ordered maps, and the guards of a ChangeSet against them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "core/change.h"
#include "core/job/job.h"
#include "core/key/key.h"
#include "core/queue/queue.h"

namespace weir::store::memory {

using KeyInQueue = std::pair<core::QueueId, std::string>;  // a unique key or a group
using NameInNamespace = std::pair<std::uint32_t, std::string>;

// The entry of `key`, or nullptr.
template <typename Map>
auto* find_in(Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

struct Tables {
  std::map<core::JobId, core::Job> jobs;
  std::map<core::JobId, core::JobBody> bodies;
  std::map<core::JobId, std::vector<core::AttemptRecord>> histories;
  std::map<core::JobId, std::string> results;
  std::map<core::QueueId, core::Queue> queues;
  std::map<NameInNamespace, core::QueueId> queue_names;
  std::map<KeyInQueue, core::UniqueKey> unique_keys;
  std::map<KeyInQueue, core::GroupLock> group_locks;
  std::map<Hash128, core::IdempotencyEntry> idempotency;
  std::map<std::string, core::ApiToken> tokens;
  std::vector<core::AuditRecord> audit;  // in order of arrival
};

// Is every entity of `change_set` as its guard expects?
bool guards_hold(const Tables& tables, const core::ChangeSet& change_set);

}  // namespace weir::store::memory
