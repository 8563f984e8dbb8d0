// SPDX-License-Identifier: Apache-2.0
#include "engine/registry.h"

#include <algorithm>

namespace weir::engine {

void Registry::put_queue(const core::Queue& queue) {
  const auto before = queues_.find(queue.id);
  if (before != queues_.end() && before->second.name != queue.name) erase_queue(queue.id);
  ++queues_version_;
  queues_.insert_or_assign(queue.id, queue);
  by_name_.insert_or_assign({queue.namespace_id, queue.name}, queue.id);
}

void Registry::put_token(const core::ApiToken& token) { tokens_.insert_or_assign(token.id, token); }

void Registry::erase_queue(core::QueueId id) {
  const auto it = queues_.find(id);
  if (it == queues_.end()) return;
  ++queues_version_;
  const auto name = by_name_.find(std::pair{it->second.namespace_id, it->second.name});
  if (name != by_name_.end() && name->second == id) by_name_.erase(name);
  queues_.erase(it);
}

void Registry::apply(const core::ChangeSet& change) {
  for (const core::QueueChange& queue : change.queues) {
    if (queue.erase) {
      erase_queue(queue.after.id);
    } else {
      put_queue(queue.after);
    }
  }
  for (const core::ApiTokenChange& token : change.tokens) put_token(token.after);
}

const core::Queue* Registry::queue(core::QueueId id) const {
  const auto it = queues_.find(id);
  return it == queues_.end() ? nullptr : &it->second;
}

const core::Queue* Registry::queue(std::uint32_t namespace_id, std::string_view name) const {
  const auto it = by_name_.find(std::pair{namespace_id, std::string(name)});
  return it == by_name_.end() ? nullptr : queue(it->second);
}

std::string_view Registry::queue_name(core::QueueId id) const {
  const core::Queue* found = queue(id);
  return found == nullptr ? std::string_view{} : std::string_view(found->name);
}

const core::ApiToken* Registry::token(std::string_view id) const {
  const auto it = tokens_.find(id);
  return it == tokens_.end() ? nullptr : &it->second;
}

bool Registry::has_living_token(WallTime now) const {
  return std::any_of(tokens_.begin(), tokens_.end(), [now](const auto& entry) {
    const core::ApiToken& token = entry.second;
    return !token.is_revoked && (!token.expires_at.is_set() || token.expires_at > now);
  });
}

}  // namespace weir::engine
