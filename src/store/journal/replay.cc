// SPDX-License-Identifier: Apache-2.0
#include "store/journal/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "store/codec.h"

namespace weir::store::journal {
namespace {

Result<void> apply_job(const CommitInfo& info, const Record& record, Index& index) {
  WEIR_TRY_ASSIGN(const JobRecord parts, parse_job_record(record.payload));
  WEIR_TRY_ASSIGN(const core::Job job, decode_job(parts.head));
  const Location at{.segment = info.segment,
                    .commit_offset = info.commit_offset,
                    .body_offset = record.offset,
                    .length = record.length};
  const bool is_whole = record.type == RecordType::moved;
  // A job that is gone can't be moved: the cleaner moves only what is there, and its record follows
  // in order.
  index.put_job(job, {.at = PackedLocation::of(at),
                      .has_body = !parts.body.empty(),
                      .has_attempts = !parts.attempts.empty(),
                      .has_result = parts.result.has_value(),
                      .is_whole = is_whole});
  return {};
}

Result<void> apply_key_record(const Record& record, Index& index) {
  switch (record.type) {
    case RecordType::unique_key: {
      WEIR_TRY_ASSIGN(const core::UniqueKey entry, decode_unique_key(record.payload));
      index.put_unique_key(entry);
      return {};
    }
    case RecordType::unique_key_gone: {
      WEIR_TRY_ASSIGN(const auto key, parse_key(record.payload));
      index.erase_unique_key(key.first, key.second);
      return {};
    }
    case RecordType::group_lock: {
      WEIR_TRY_ASSIGN(const core::GroupLock lock, decode_group_lock(record.payload));
      index.put_group_lock(lock);
      return {};
    }
    case RecordType::group_lock_gone: {
      WEIR_TRY_ASSIGN(const auto key, parse_key(record.payload));
      index.erase_group_lock(key.first, key.second);
      return {};
    }
    case RecordType::idempotency: {
      WEIR_TRY_ASSIGN(const core::IdempotencyEntry entry, decode_idempotency(record.payload));
      index.put_idempotency(entry);
      return {};
    }
    default: {
      WEIR_TRY_ASSIGN(const Hash128 scope, parse_scope(record.payload));
      index.erase_idempotency(scope);
      return {};
    }
  }
}

Result<void> apply_record(const CommitInfo& info, const Record& record, Index& index,
                          Loaded& loaded) {
  switch (record.type) {
    case RecordType::job:
    case RecordType::moved:
      return apply_job(info, record, index);
    case RecordType::gone: {
      WEIR_TRY_ASSIGN(const auto ids, parse_gone(record.payload));
      for (const std::uint64_t id : ids) index.erase_job(core::JobId{id});
      return {};
    }
    case RecordType::unique_key:
    case RecordType::unique_key_gone:
    case RecordType::group_lock:
    case RecordType::group_lock_gone:
    case RecordType::idempotency:
    case RecordType::idempotency_gone:
      return apply_key_record(record, index);
    case RecordType::queue: {
      WEIR_TRY_ASSIGN(const core::Queue queue, decode_queue(record.payload));
      index.put_queue(queue);
      return {};
    }
    case RecordType::queue_gone: {
      WEIR_TRY_ASSIGN(const std::uint32_t id, parse_queue_gone(record.payload));
      index.erase_queue(core::QueueId{id});
      return {};
    }
    case RecordType::token: {
      WEIR_TRY_ASSIGN(const core::ApiToken token, decode_token(record.payload));
      index.put_token(token);
      return {};
    }
    case RecordType::audit: {
      WEIR_TRY_ASSIGN(const core::AuditRecord audit, decode_audit(record.payload));
      index.add_audit(audit);
      return {};
    }
    case RecordType::ids: {
      WEIR_TRY_ASSIGN(const DurableIds ids, parse_ids(record.payload));
      loaded.ids.next_job_id = std::max(loaded.ids.next_job_id, ids.next_job_id);
      loaded.ids.next_queue_id = std::max(loaded.ids.next_queue_id, ids.next_queue_id);
      return {};
    }
    case RecordType::identity: {
      WEIR_TRY_ASSIGN(loaded.identity, parse_identity(record.payload));
      return {};
    }
    case RecordType::partition:
      return apply_partition(record.payload, index);
    case RecordType::meta:
      return apply_meta(record.payload, index, loaded);
  }
  return failure(ErrorCode::unsupported, "a record of an unknown type");
}

}  // namespace

Result<void> apply_commit(const CommitInfo& info, std::string_view body, Index& index,
                          Loaded& loaded) {
  const auto named = [&info](Error error) {
    error.detail = fmt::format("commit {} (segment {}): {}", info.seq, info.segment, error.detail);
    return failure(std::move(error));
  };
  RecordReader reader(body);
  for (;;) {
    auto record = reader.next();
    if (!record) return named(std::move(record).error());
    if (!*record) break;
    if (auto applied = apply_record(info, **record, index, loaded); !applied) {
      return named(std::move(applied).error());
    }
  }
  loaded.store_time = std::max(loaded.store_time, info.store_time);
  loaded.wall_time = info.wall_time;
  loaded.identity.epoch = std::max(loaded.identity.epoch, info.epoch);
  return {};
}

}  // namespace weir::store::journal
