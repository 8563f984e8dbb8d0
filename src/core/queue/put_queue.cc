// SPDX-License-Identifier: Apache-2.0
// Put queue: creates a queue or changes its settings, paused and draining.
#include <fmt/format.h>

#include "base/text.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

template <typename T>
void set_if(T& field, const std::optional<T>& wanted) {
  if (wanted) field = *wanted;
}

void patch_settings(QueueSettings& settings, const QueuePatch& patch) {
  set_if(settings.priority_class, patch.priority_class);
  if (patch.retry) {
    settings.retry = *patch.retry;
    settings.max_attempts = patch.retry->max_attempts;
  }
  set_if(settings.max_attempts, patch.max_attempts);
  set_if(settings.lease_ms, patch.lease_ms);
  set_if(settings.timeout_ms, patch.timeout_ms);
  set_if(settings.ttl_ms, patch.ttl_ms);
  set_if(settings.max_depth, patch.max_depth);
  set_if(settings.payload_bytes_max, patch.payload_bytes_max);
  set_if(settings.durability, patch.durability);
  set_if(settings.durability_interval_ms, patch.durability_interval_ms);
  set_if(settings.claim, patch.claim);
  set_if(settings.delivery, patch.delivery);
  set_if(settings.order, patch.order);
  set_if(settings.completed_retention_ms, patch.completed_retention_ms);
  set_if(settings.dead_retention_ms, patch.dead_retention_ms);
  set_if(settings.completed_max, patch.completed_max);
}

std::vector<std::string> warnings_of(const QueueSettings& settings) {
  std::vector<std::string> warnings;
  if (settings.max_attempts > kMaxAttemptsWarn) {
    warnings.push_back(fmt::format("max_attempts is {}: more than {} attempts rarely help",
                                   settings.max_attempts, kMaxAttemptsWarn));
  }
  if (settings.timeout_ms > 0 && settings.lease_ms > settings.timeout_ms) {
    warnings.push_back("lease is longer than timeout: each lease ends at the timeout");
  }
  return warnings;
}

Queue fresh_queue(const Deciding& d, const std::string& name) {
  return Queue{.namespace_id = d.principal.namespace_id,
               .name = name,
               .settings = d.context.policy.queue_defaults,
               .created_at = d.now().wall,
               .created_by = d.principal.id};
}

}  // namespace

Decided decide_put_queue(Deciding& d, const PutQueue& command) {
  WEIR_TRY(check_name("queue", command.queue, kNameBytesMax));
  const Queue* existing =
      d.view.queue(QueueName{.namespace_id = d.principal.namespace_id, .name = command.queue});
  if (existing != nullptr && existing->is_deleted) {
    return failure(conflict(fmt::format("queue \"{}\" is being deleted", command.queue)));
  }
  Queue queue = existing != nullptr ? *existing : fresh_queue(d, command.queue);
  if (command.replace) queue.settings = d.context.policy.queue_defaults;
  patch_settings(queue.settings, command.patch);
  // A replacement of the settings says nothing of these two unless it names them.
  set_if(queue.paused, command.patch.paused);
  set_if(queue.draining, command.patch.draining);
  WEIR_TRY(check_queue_settings(queue.settings));

  QueueChanged answer{.created = existing == nullptr, .warnings = warnings_of(queue.settings)};
  if (existing == nullptr) {
    queue.id = d.context.ids.next_queue_id();
  } else if (queue == *existing) {
    answer.queue = std::move(queue);
    return answer;
  }
  ++queue.version;
  d.out.queues.push_back(
      {.after = queue, .expected_version = existing != nullptr ? existing->version : 0});
  commit_synced(d);
  answer.queue = std::move(queue);
  return answer;
}

}  // namespace weir::core
