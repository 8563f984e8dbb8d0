// SPDX-License-Identifier: Apache-2.0
// Records inside a commit's body: {type, version, varint length, payload}. Every record is an
// absolute after-image and says nothing of segments or offsets; applying one twice is harmless.
// docs/storage-format.md has the bytes.
//
// Types are persistent numbers. To add one: a number at the end here, its writer, its case in
// apply_record() (replay.cc), a row in docs/storage-format.md. A record of an unknown type or of a
// newer version stops the opening with `unsupported`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "core/change.h"
#include "store/store.h"

namespace weir::store::journal {

enum class RecordType : std::uint8_t {
  job = 1,   // a job as it is now, with body, attempt and result when those are new
  gone = 2,  // job ids
  unique_key = 3,
  unique_key_gone = 4,
  group_lock = 5,
  group_lock_gone = 6,
  queue = 7,
  queue_gone = 8,
  idempotency = 9,
  idempotency_gone = 10,
  token = 11,
  audit = 12,
  ids = 13,        // the next job id and queue id never handed out
  identity = 14,   // epoch, lease secret
  partition = 15,  // a snapshot of one partition: what it does not list is gone
  meta = 16,       // a snapshot of queues, tokens, audit, ids and identity
  moved = 17,      // a job whole, from the cleaner: replaces all older places of its texts
};
inline constexpr std::uint8_t kRecordVersion = 1;

// One record as it lies in a body. Views live as long as the body.
struct Record {
  RecordType type = RecordType::job;
  std::string_view payload;
  std::uint32_t offset = 0;  // of its first byte in the body
  std::uint32_t length = 0;  // with its head
};

// Walks the records of a body. One thread.
class RecordReader {
 public:
  explicit RecordReader(std::string_view body) : body_(body) {}
  // nullopt at the end. Errors: corruption (does not fit), unsupported (a newer version).
  Result<std::optional<Record>> next();

 private:
  std::string_view body_;
  std::size_t at_ = 0;
};

// A job record taken apart. Views live as long as the payload.
struct JobRecord {
  std::string_view head;
  std::string_view body;  // empty: not in it
  std::vector<std::string_view> attempts;
  std::optional<std::string_view> result;
};
Result<JobRecord> parse_job_record(std::string_view payload);

struct DurableIds {
  std::uint64_t next_job_id = 1;
  std::uint32_t next_queue_id = 1;
};
struct DurableIdentity {
  std::uint32_t epoch = 0;
  Hash128 lease_secret;
};

// Appends records to a commit's body. One thread.
class RecordWriter {
 public:
  explicit RecordWriter(std::string& body) : body_(body) {}

  // Returns the length of the record; it starts where the body ended.
  std::uint32_t job(const core::Job& job, const core::JobBody* body,
                    const core::AttemptRecord* attempt, const std::string* result);
  // From pieces that are encoded already. `type` is job or moved.
  std::uint32_t job(RecordType type, std::string_view head, std::string_view body,
                    const std::vector<std::string>& attempts, const std::string* result);
  void gone(const std::vector<core::JobId>& ids);
  void unique_key(const core::UniqueKey& entry);
  void unique_key_gone(core::QueueId queue, std::string_view key);
  void group_lock(const core::GroupLock& lock);
  void group_lock_gone(core::QueueId queue, std::string_view group);
  void queue(const core::Queue& queue);
  void queue_gone(core::QueueId id);
  void idempotency(const core::IdempotencyEntry& entry);
  void idempotency_gone(const Hash128& scope);
  void token(const core::ApiToken& token);
  void audit(const core::AuditRecord& record);
  void ids(const DurableIds& ids);
  void identity(const DurableIdentity& identity);
  // `payload` is made by snapshot.cc.
  void whole(RecordType type, std::string_view payload);

 private:
  std::string& body_;
  std::string payload_;  // kept for their memory
  std::string piece_;
};

// Payloads of the small types, for replay.
Result<std::pair<core::QueueId, std::string>> parse_key(std::string_view payload);
Result<std::vector<std::uint64_t>> parse_gone(std::string_view payload);
Result<std::uint32_t> parse_queue_gone(std::string_view payload);
Result<Hash128> parse_scope(std::string_view payload);
Result<DurableIds> parse_ids(std::string_view payload);
Result<DurableIdentity> parse_identity(std::string_view payload);

}  // namespace weir::store::journal
