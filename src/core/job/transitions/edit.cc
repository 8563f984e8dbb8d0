// SPDX-License-Identifier: Apache-2.0
// Edit: changes a waiting job. A new run_at moves it between pending and scheduled.
#include <fmt/format.h>

#include "core/job/transitions/new_job.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

Result<void> check_edit(const Edit& command, const FoundJob& found) {
  const Job& job = *found.job;
  if (command.payload) {
    WEIR_TRY(check_payload_bytes(command.payload->size(), found.queue->settings));
  }
  if (!is_waiting(job.state)) {
    return failure(conflict(fmt::format("job {} is {}; only waiting jobs can be edited",
                                        job.id.value, to_string(job.state))));
  }
  if (command.if_match && *command.if_match != job.version) {
    return failure(conflict(fmt::format("job {} has version {}, not {}", job.id.value, job.version,
                                        *command.if_match)));
  }
  if (command.run_at && job.state != JobState::pending && job.state != JobState::scheduled) {
    return failure(conflict(fmt::format("job {} is {}; its run_at can't be changed now",
                                        job.id.value, to_string(job.state))));
  }
  return {};
}

Result<void> check_fields(const Edit& command) {
  if (command.content_type) WEIR_TRY(check_content_type(*command.content_type));
  if (command.tags) WEIR_TRY(check_tags(*command.tags));
  return {};
}

// A change of the body starts from what is there: an earlier edit of this turn, else the stored
// body.
Result<void> edit_body(const Deciding& d, JobChange& change, const Edit& command) {
  if (!command.payload && !command.content_type) return {};
  const JobBody* edited = d.view.edited_body(command.job);
  if (edited == nullptr && !command.stored_body) {
    return failure(ErrorCode::unavailable, "the stored payload could not be read");
  }
  JobBody body = edited != nullptr ? *edited : *command.stored_body;
  if (command.payload) {
    body.payload = *command.payload;
    body.payload_reference = 0;
    change.after.payload_bytes = static_cast<std::uint32_t>(body.payload.size());
  }
  if (command.content_type) body.set_type(*command.content_type);
  change.body = std::move(body);
  return {};
}

}  // namespace

Decided decide_edit(Deciding& d, const Edit& command) {
  WEIR_TRY(check_fields(command));
  StartAt start;
  if (command.run_at) {
    WEIR_TRY_ASSIGN(start, start_at_instant(d.now(), "run_at", *command.run_at));
  }
  WEIR_TRY_ASSIGN(const FoundJob found, find_job(d, command.job));
  WEIR_TRY(check_edit(command, found));
  const Job& before = *found.job;

  JobChange& change = start_change(d, before);
  Job& job = change.after;
  WEIR_TRY(edit_body(d, change, command));
  if (command.priority_class) job.priority_class = *command.priority_class;
  if (command.priority && found.queue->settings.order != QueueOrder::fifo) {
    job.priority = *command.priority;
  }
  if (command.tags) job.tags = *command.tags;
  JobState to = before.state;
  if (command.run_at) {
    set_start(job, start);
    to = start.state;
  }
  move_to(d, change, before, Verb::edit, to);
  commit_by(d, *found.queue);
  return moved(job);
}

}  // namespace weir::core
