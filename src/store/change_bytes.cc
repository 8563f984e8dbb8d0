// SPDX-License-Identifier: Apache-2.0
#include "store/change_bytes.h"

namespace weir::store {
namespace {

// Numbers, lengths and the head of one record, without its texts.
constexpr std::size_t kJobBytes = 320;
constexpr std::size_t kSmallBytes = 64;

std::size_t texts_bytes(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 4;
  return bytes;
}

std::size_t retry_bytes(const core::RetryPolicy& retry) {
  return kSmallBytes + retry.name.size() + 10 * retry.delays_ms.size();
}

std::size_t body_bytes(const core::JobBody& body) {
  std::size_t bytes =
      kSmallBytes + body.payload.size() + body.content_type.size() + body.content_encoding.size();
  for (const auto& [name, value] : body.headers) bytes += name.size() + value.size() + 8;
  return bytes;
}

std::size_t attempt_bytes(const core::AttemptRecord& attempt) {
  return kSmallBytes + attempt.worker_id.size() + attempt.reason.size() +
         attempt.error.error_class.size() + attempt.error.code.size() +
         attempt.error.message.size();
}

std::size_t job_bytes(const core::JobChange& change) {
  if (change.erase) return kSmallBytes;
  const core::Job& job = change.after;
  std::size_t bytes = kJobBytes + job.kind.size() + job.group.size() + job.limit_key.size() +
                      job.unique_key.size() + job.external_id.size() + job.dead_reason.size() +
                      job.created_by.size();
  bytes += texts_bytes(job.tags);
  if (job.lease)
    bytes += kSmallBytes + job.lease->worker_id.size() + job.lease->progress_message.size();
  if (job.options && job.options->retry) bytes += retry_bytes(*job.options->retry);
  if (change.body) bytes += body_bytes(*change.body);
  if (change.attempt) bytes += attempt_bytes(*change.attempt);
  if (change.result) bytes += change.result->size();
  return bytes;
}

std::size_t queue_bytes(const core::Queue& queue) {
  return kJobBytes + queue.name.size() + queue.created_by.size() +
         retry_bytes(queue.settings.retry);
}

std::size_t token_bytes(const core::ApiToken& token) {
  return 2 * kSmallBytes + token.id.size() + token.name.size() + token.created_by.size() +
         texts_bytes(token.queues);
}

std::size_t audit_bytes(const core::AuditRecord& record) {
  return kSmallBytes + record.principal.size() + record.action.size() + record.subject.size() +
         record.reason.size();
}

}  // namespace

std::size_t change_bytes(const core::ChangeSet& change) {
  std::size_t bytes = kSmallBytes;
  for (const core::JobChange& job : change.jobs) bytes += job_bytes(job);
  for (const core::UniqueKeyChange& key : change.unique_keys)
    bytes += kSmallBytes + key.after.key.size();
  for (const core::GroupLockChange& lock : change.group_locks)
    bytes += kSmallBytes + lock.after.group.size();
  for (const core::QueueChange& queue : change.queues) bytes += queue_bytes(queue.after);
  for (const core::IdempotencyChange& entry : change.idempotency)
    bytes += kSmallBytes + entry.after.answer.size();
  for (const core::ApiTokenChange& token : change.tokens) bytes += token_bytes(token.after);
  for (const core::AuditRecord& record : change.audit) bytes += audit_bytes(record);
  return bytes;
}

}  // namespace weir::store
