// SPDX-License-Identifier: Apache-2.0
// Queues and tokens as the store has them, in memory: loaded at start, kept up by every applied
// change. Dispatch, doors and metrics look here without asking the store.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/change.h"
#include "core/key/key.h"
#include "core/queue/queue.h"
#include "core/view.h"

namespace weir::engine {

// One thread.
class Registry {
 public:
  void put_queue(const core::Queue& queue);
  void put_token(const core::ApiToken& token);
  void apply(const core::ChangeSet& change);

  // Pointers live until the next apply.
  const core::Queue* queue(core::QueueId id) const;
  const core::Queue* queue(std::uint32_t namespace_id, std::string_view name) const;
  std::string_view queue_name(core::QueueId id) const;  // empty when there is no such queue
  const core::ApiToken* token(std::string_view id) const;
  std::uint64_t queues_version() const { return queues_version_; }
  // Any token that is neither revoked nor over at `now`.
  bool has_living_token(WallTime now) const;

  const std::map<core::QueueId, core::Queue>& queues() const { return queues_; }
  const std::map<std::string, core::ApiToken, std::less<>>& tokens() const { return tokens_; }

 private:
  void erase_queue(core::QueueId id);

  std::uint64_t queues_version_ = 1;

  // Ordered by id: metrics and lists must come out the same each time.
  std::map<core::QueueId, core::Queue> queues_;
  std::map<std::pair<std::uint32_t, std::string>, core::QueueId, std::less<>> by_name_;
  std::map<std::string, core::ApiToken, std::less<>> tokens_;
};

}  // namespace weir::engine
