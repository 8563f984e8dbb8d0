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

}  // namespace

Decided decide_put_queue(Deciding& d, const PutQueue& command) {
  WEIR_TRY(check_name("queue", command.queue, kNameBytesMax));
  const Queue* existing =
      d.view.queue(QueueName{.namespace_id = d.principal.namespace_id, .name = command.queue});
  if (existing != nullptr && existing->is_deleted) {
    return failure(conflict(fmt::format("queue \"{}\" is being deleted", command.queue)));
  }
  Queue queue = existing != nullptr ? *existing : default_queue(d, command.queue);
  if (command.replace) queue.settings = d.context.policy.queue_defaults;
  apply_patch(command.patch, queue.settings);
  // A replacement of the settings says nothing of these two unless it names them.
  set_if(queue.paused, command.patch.paused);
  set_if(queue.draining, command.patch.draining);
  const bool was_unbounded = existing != nullptr && existing->settings.max_attempts == kUnbounded;
  WEIR_TRY(check_queue_settings(queue.settings, was_unbounded));

  QueueChanged answer{.created = existing == nullptr, .warnings = queue_warnings(queue.settings)};
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
