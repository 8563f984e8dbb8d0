// SPDX-License-Identifier: Apache-2.0
#include "engine/change_bytes.h"

namespace weir::engine {
namespace {

// Numbers, guards and lengths of one record, without its texts.
constexpr std::size_t kJobBytes = 256;
constexpr std::size_t kQueueBytes = 512;
constexpr std::size_t kSmallBytes = 64;

std::size_t body_bytes(const core::JobBody& body) {
  std::size_t bytes = body.payload.size() + body.content_type.size() + body.content_encoding.size();
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
  for (const std::string& tag : job.tags) bytes += tag.size() + 2;
  if (job.lease)
    bytes += kSmallBytes + job.lease->worker_id.size() + job.lease->progress_message.size();
  if (job.options && job.options->retry) {
    bytes += job.options->retry->name.size() + 10 * job.options->retry->delays_ms.size();
  }
  if (change.body) bytes += body_bytes(*change.body);
  if (change.attempt) bytes += attempt_bytes(*change.attempt);
  if (change.result) bytes += change.result->size();
  return bytes;
}

}  // namespace

std::size_t change_bytes(const core::ChangeSet& change) {
  std::size_t bytes = kSmallBytes;
  for (const core::JobChange& job : change.jobs) bytes += job_bytes(job);
  for (const core::UniqueKeyChange& key : change.unique_keys)
    bytes += kSmallBytes + key.after.key.size();
  for (const core::GroupLockChange& lock : change.group_locks)
    bytes += kSmallBytes + lock.after.group.size();
  for (const core::QueueChange& queue : change.queues)
    bytes += kQueueBytes + queue.after.name.size();
  for (const core::IdempotencyChange& entry : change.idempotency)
    bytes += kSmallBytes + entry.after.answer.size();
  for (const core::ApiTokenChange& token : change.tokens) {
    bytes += kJobBytes + token.after.name.size();
    for (const std::string& queue : token.after.queues) bytes += queue.size();
  }
  for (const core::AuditRecord& audit : change.audit) {
    bytes += kSmallBytes + audit.principal.size() + audit.subject.size() + audit.reason.size();
  }
  return bytes;
}

}  // namespace weir::engine
