// SPDX-License-Identifier: Apache-2.0
#include "engine/mailbox.h"

#include <utility>
#include <variant>

namespace weir::engine {
namespace {

constexpr std::int64_t kFullRetryAfterMs = 1000;
constexpr std::size_t kRecordBytes =
    512;  // after-image of a job, its guard and its attempt record without texts
constexpr std::size_t kPurgedJobBytes = 64;  // an erased job leaves its id and little more
constexpr std::size_t kEntryBytes = 128;     // an idempotency entry without its answer

std::size_t new_job_bytes(const core::NewJob& job) {
  std::size_t bytes = kRecordBytes + job.body.payload.size() + job.body.content_type.size() +
                      job.body.content_encoding.size() + job.kind.size() + job.group.size() +
                      job.limit_key.size() + 2 * job.unique_key.size() + job.external_id.size();
  for (const auto& [name, value] : job.body.headers) bytes += name.size() + value.size() + 8;
  for (const std::string& tag : job.tags) bytes += tag.size() + 4;
  return bytes;
}

struct ByteCounter {
  std::size_t operator()(const core::Enqueue& c) const {
    std::size_t bytes = kEntryBytes;
    for (const core::NewJob& job : c.jobs) bytes += new_job_bytes(job);
    return bytes;
  }
  std::size_t operator()(const core::Ack& c) const {
    return kRecordBytes + (c.result ? c.result->size() : 0);
  }
  std::size_t operator()(const core::Fail& c) const {
    return kRecordBytes + c.error.message.size() + c.error.error_class.size() + c.error.code.size();
  }
  std::size_t operator()(const core::Progress& c) const {
    return kRecordBytes + (c.message ? c.message->size() : 0);
  }
  std::size_t operator()(const core::Edit& c) const {
    return kRecordBytes + (c.payload ? c.payload->size() : 0);
  }
  std::size_t operator()(const core::Purge& c) const {
    return kRecordBytes + c.slice.size() * kPurgedJobBytes;
  }
  template <typename Other>
  std::size_t operator()(const Other&) const {
    return kRecordBytes;
  }
};

}  // namespace

bool is_worker_verb(const core::Command& command) {
  return std::holds_alternative<core::Ack>(command) ||
         std::holds_alternative<core::Fail>(command) ||
         std::holds_alternative<core::Release>(command) ||
         std::holds_alternative<core::Snooze>(command) ||
         std::holds_alternative<core::Extend>(command) ||
         std::holds_alternative<core::Progress>(command);
}

std::size_t command_bytes(const core::Command& command) {
  return std::visit(ByteCounter{}, command);
}

Result<void> Mailbox::put(core::Request&& request, AnswerCallback&& answered) {
  const bool is_worker = is_worker_verb(request.command);
  const std::size_t places = is_worker ? commands_max_ : commands_max_ - commands_max_ / 4;
  const std::size_t room = is_worker ? kMailboxBytesMax : kMailboxBytesMax - kMailboxBytesMax / 4;
  const std::size_t bytes = command_bytes(request.command);
  if (works_.size() >= places || bytes_ + bytes > room) {
    return failure(Error{.code = ErrorCode::unavailable,
                         .detail = "the server has more commands waiting than it takes",
                         .retry_after_ms = kFullRetryAfterMs});
  }
  bytes_ += bytes;
  Work& work = works_.emplace_back();
  work.request = std::move(request);
  work.answered = std::move(answered);
  work.bytes = bytes;
  return {};
}

void Mailbox::put_own(core::Request request) {
  const std::size_t bytes = command_bytes(request.command);
  Work& work = own_.emplace_back();
  work.request = std::move(request);
  work.bytes = bytes;
}

void Mailbox::take(std::vector<Work>& out) {
  const bool fits = own_.empty() && works_.size() <= core::kTurnCommandsMax;
  if (fits && bytes_ <= core::kTurnBytesMax && works_.swap_out(out)) {
    bytes_ = 0;
    return;
  }
  std::size_t bytes = 0;
  while (out.size() < core::kTurnCommandsMax && !is_empty()) {
    const bool is_own = !own_.empty();
    Fifo<Work>& from = is_own ? own_ : works_;
    const std::size_t next = from.front().bytes;
    if (!out.empty() && bytes + next > core::kTurnBytesMax) break;
    bytes += next;
    if (!is_own) bytes_ -= next;
    out.push_back(std::move(from.front()));
    from.pop_front();
  }
}

}  // namespace weir::engine
