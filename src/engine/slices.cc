// SPDX-License-Identifier: Apache-2.0
#include "engine/slices.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"

namespace weir::engine {
namespace {

constexpr std::int64_t kRetryMs = 1000;

constexpr std::uint32_t waiting_states() {
  std::uint32_t bits = 0;
  for (const core::JobState state : core::kJobStates) {
    if (core::is_waiting(state)) bits |= 1U << static_cast<unsigned>(state);
  }
  return bits;
}

core::Principal server_principal(std::uint32_t namespace_id) {
  return core::Principal{.id = "server", .namespace_id = namespace_id};
}

}  // namespace

void Slices::add_purge(std::string queue, core::Principal principal, AnswerCallback answered) {
  purges_.push_back(Purge{.queue = std::move(queue),
                          .principal = std::move(principal),
                          .answered = std::move(answered)});
}

std::int64_t Slices::next_in_ms(std::int64_t boot_ms) const {
  if (!purges_.empty()) return 0;
  if (state_.deleted_queues.empty()) return std::numeric_limits<std::int64_t>::max();
  return std::max<std::int64_t>(0, deletes_blocked_until_ms_ - boot_ms);
}

Result<void> Slices::run() {
  if (!purges_.empty()) WEIR_TRY(purge_slice());
  if (!state_.deleted_queues.empty() && deletes_blocked_until_ms_ <= state_.time.boot_ms()) {
    WEIR_TRY(delete_slice());
  }
  return {};
}

Result<void> Slices::remove(Work& work, bool keep_audit) {
  const auto& purge = std::get<core::Purge>(work.request.command);
  const auto inspect = [&](std::size_t, core::ChangeSet& change) {
    if (std::holds_alternative<Error>(change.answer.outcome)) return true;
    if (!keep_audit) {
      change.audit.clear();
    } else if (change.audit.empty()) {
      change.audit.push_back(core::AuditRecord{.at = state_.time.now().wall,
                                               .principal = work.request.principal.id,
                                               .action = "purge",
                                               .subject = purge.queue});
      change.commit_class = core::CommitClass::sync;
    }
    return true;
  };
  return committer_.run(std::span(&work, 1), inspect);
}

Result<void> Slices::purge_slice() {
  Purge& purge = purges_.front();
  Work work;
  if (purge.is_first) {
    if (const Result<void> reserved = state_.ids.reserve(1, 0); reserved) {
      purge.last_id = state_.ids.peek_job_id() - 1;
    } else if (reserved.error().code == ErrorCode::io_error) {
      return failure(reserved.error());
    } else {
      answer_error(work, reserved.error().code, reserved.error().detail);
    }
  }
  work.request.principal = purge.principal;
  core::Purge command{.queue = purge.queue};
  bool is_last = true;
  const core::Queue* queue = state_.registry.queue(purge.principal.namespace_id, purge.queue);
  if (queue != nullptr && !work.has_answer) {
    Result<store::Page> page = state_.store.scan_page(store::ScanQuery{.queue = queue->id,
                                                                       .states = waiting_states(),
                                                                       .after_id = purge.after_id,
                                                                       .limit = kSliceJobsMax});
    if (!page) {
      if (page.error().code == ErrorCode::io_error) return failure(page.error());
      answer_error(work, page.error().code, page.error().detail);
    } else {
      for (const core::Job& job : page->jobs) {
        if (job.id.value <= purge.last_id) command.slice.push_back(job.id);
      }
      purge.after_id = page->next_after_id;
      is_last = page->next_after_id == 0 || page->next_after_id >= purge.last_id;
    }
  }
  work.request.command = std::move(command);
  if (!work.has_answer) WEIR_TRY(remove(work, purge.is_first));
  purge.is_first = false;
  if (const auto* removed = std::get_if<core::Removed>(&work.answer.outcome)) {
    purge.removed += removed->count;
  } else {
    is_last = true;  // refused: the answer says why
  }
  if (is_last) {
    if (std::holds_alternative<core::Removed>(work.answer.outcome)) {
      work.answer.outcome = core::Removed{purge.removed};
    }
    work.answered = std::move(purge.answered);
    purges_.pop_front();
  }
  committer_.push_release(std::move(work));
  return {};
}

Result<void> Slices::delete_slice() {
  const core::QueueId id =
      *std::min_element(state_.deleted_queues.begin(), state_.deleted_queues.end());
  const core::Queue* queue = state_.registry.queue(id);
  if (queue == nullptr) {
    state_.deleted_queues.erase(id);
    return {};
  }
  // From the start each time: what was removed is not there any more.
  Result<store::Page> page =
      state_.store.scan_page(store::ScanQuery{.queue = id, .limit = kSliceJobsMax});
  if (!page) {
    if (page.error().code == ErrorCode::io_error) return failure(page.error());
    deletes_blocked_until_ms_ = state_.time.boot_ms() + kRetryMs;
    log::warning("queue cannot be deleted yet",
                 {log::field("queue", queue->name), log::field("error", page.error().detail)});
    return {};
  }
  Work work;
  work.request.principal = server_principal(queue->namespace_id);
  bool is_progress = false;
  if (page->jobs.empty() && page->next_after_id == 0) {
    work.request.command = core::DeleteQueue{.queue = queue->name, .force = true};
    WEIR_TRY(committer_.run(std::span(&work, 1)));
    is_progress = !state_.deleted_queues.contains(id);
  } else {
    core::Purge command{.queue = queue->name};
    for (const core::Job& job : page->jobs) command.slice.push_back(job.id);
    work.request.command = std::move(command);
    WEIR_TRY(remove(work, false));
    const auto* removed = std::get_if<core::Removed>(&work.answer.outcome);
    is_progress = removed != nullptr && removed->count > 0;
  }
  if (!is_progress) deletes_blocked_until_ms_ = state_.time.boot_ms() + kRetryMs;
  committer_.push_release(std::move(work));
  return {};
}

}  // namespace weir::engine
