// SPDX-License-Identifier: Apache-2.0
#include "store/journal/record.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "store/codec.h"

namespace weir::store::journal {
namespace {

constexpr std::uint8_t kHasBody = 1;
constexpr std::uint8_t kHasAttempts = 2;
constexpr std::uint8_t kHasResult = 4;

Failure bad(std::string_view what) {
  return failure(ErrorCode::corruption, fmt::format("{} does not parse", what));
}

// The length of a text that is written in place, ahead of it. Most are short: one byte is left for
// it, and a longer length moves the text.
class LengthAhead {
 public:
  explicit LengthAhead(std::string& out) : out_(out), at_(out.size()) { out_.push_back('\0'); }
  void finish() const {
    std::size_t length = out_.size() - at_ - 1;
    if (length >= 0x80) {
      std::size_t more = 0;
      for (std::size_t rest = length >> 7; rest != 0; rest >>= 7) ++more;
      out_.insert(at_ + 1, more, '\0');
    }
    std::size_t at = at_;
    for (; length >= 0x80; length >>= 7) out_[at++] = static_cast<char>(length | 0x80);
    out_[at] = static_cast<char>(length);
  }

 private:
  std::string& out_;
  std::size_t at_;
};

void put_varint(std::string& out, std::uint64_t value) { ByteWriter(out).varint(value); }

}  // namespace

Result<std::optional<Record>> RecordReader::next() {
  if (at_ == body_.size()) return std::optional<Record>();
  ByteReader reader(body_.substr(at_));
  const auto type = reader.u8();
  const std::uint8_t version = reader.u8();
  const std::string_view payload = reader.text();
  if (!reader.ok()) return bad("a record's head");
  if (version != kRecordVersion || type == 0 ||
      type > static_cast<std::uint8_t>(RecordType::moved)) {
    return failure(
        ErrorCode::unsupported,
        fmt::format("record type {} version {} is newer than this program (type {} version {})",
                    type, version, static_cast<int>(RecordType::moved), kRecordVersion));
  }
  const std::size_t end = body_.size() - reader.left();
  const Record record{.type = static_cast<RecordType>(type),
                      .payload = payload,
                      .offset = static_cast<std::uint32_t>(at_),
                      .length = static_cast<std::uint32_t>(end - at_)};
  at_ = end;
  return std::optional<Record>(record);
}

Result<JobRecord> parse_job_record(std::string_view payload) {
  ByteReader reader(payload);
  JobRecord record;
  const std::uint8_t flags = reader.u8();
  record.head = reader.text();
  if ((flags & kHasBody) != 0) record.body = reader.text();
  if ((flags & kHasAttempts) != 0) {
    const std::uint64_t count = reader.varint();
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i)
      record.attempts.push_back(reader.text());
  }
  if ((flags & kHasResult) != 0) record.result = reader.text();
  if (!reader.ok() || !reader.at_end()) return bad("a job record");
  return record;
}

void RecordWriter::whole(RecordType type, std::string_view payload) {
  ByteWriter writer(body_);
  writer.u8(static_cast<std::uint8_t>(type));
  writer.u8(kRecordVersion);
  writer.text(payload);
}

std::uint32_t RecordWriter::job(const core::Job& job, const core::JobBody* body,
                                const core::AttemptRecord* attempt, const std::string* result) {
  const std::size_t before = body_.size();
  ByteWriter writer(body_);
  writer.u8(static_cast<std::uint8_t>(RecordType::job));
  writer.u8(kRecordVersion);
  const LengthAhead record(body_);
  writer.u8(static_cast<std::uint8_t>((body != nullptr ? kHasBody : 0) |
                                      (attempt != nullptr ? kHasAttempts : 0) |
                                      (result != nullptr ? kHasResult : 0)));
  const LengthAhead head(body_);
  encode_job(job, body_);
  head.finish();
  if (body != nullptr) {
    const LengthAhead text(body_);
    encode_body(*body, body_);
    text.finish();
  }
  if (attempt != nullptr) {
    writer.varint(1);
    const LengthAhead text(body_);
    encode_attempt(*attempt, body_);
    text.finish();
  }
  if (result != nullptr) writer.text(*result);
  record.finish();
  return static_cast<std::uint32_t>(body_.size() - before);
}

std::uint32_t RecordWriter::job(RecordType type, std::string_view head, std::string_view body,
                                const std::vector<std::string>& attempts,
                                const std::string* result) {
  const std::size_t before = body_.size();
  payload_.clear();
  ByteWriter writer(payload_);
  writer.u8(static_cast<std::uint8_t>((body.empty() ? 0 : kHasBody) |
                                      (attempts.empty() ? 0 : kHasAttempts) |
                                      (result != nullptr ? kHasResult : 0)));
  writer.text(head);
  if (!body.empty()) writer.text(body);
  if (!attempts.empty()) {
    writer.varint(attempts.size());
    for (const std::string& attempt : attempts) writer.text(attempt);
  }
  if (result != nullptr) writer.text(*result);
  whole(type, payload_);
  return static_cast<std::uint32_t>(body_.size() - before);
}

void RecordWriter::gone(const std::vector<core::JobId>& ids) {
  payload_.clear();
  put_varint(payload_, ids.size());
  std::uint64_t last = 0;
  for (const core::JobId id : ids) {
    ByteWriter(payload_).svarint(static_cast<std::int64_t>(id.value - last));
    last = id.value;
  }
  whole(RecordType::gone, payload_);
}

Result<std::vector<std::uint64_t>> parse_gone(std::string_view payload) {
  ByteReader reader(payload);
  std::vector<std::uint64_t> ids;
  const std::uint64_t count = reader.varint();
  std::uint64_t last = 0;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    last += static_cast<std::uint64_t>(reader.svarint());
    ids.push_back(last);
  }
  if (!reader.ok() || !reader.at_end()) return bad("a list of removed jobs");
  return ids;
}

void RecordWriter::unique_key(const core::UniqueKey& entry) {
  payload_.clear();
  encode_unique_key(entry, payload_);
  whole(RecordType::unique_key, payload_);
}

void RecordWriter::unique_key_gone(core::QueueId queue, std::string_view key) {
  payload_.clear();
  ByteWriter writer(payload_);
  writer.varint(queue.value);
  writer.text(key);
  whole(RecordType::unique_key_gone, payload_);
}

void RecordWriter::group_lock(const core::GroupLock& lock) {
  payload_.clear();
  encode_group_lock(lock, payload_);
  whole(RecordType::group_lock, payload_);
}

void RecordWriter::group_lock_gone(core::QueueId queue, std::string_view group) {
  payload_.clear();
  ByteWriter writer(payload_);
  writer.varint(queue.value);
  writer.text(group);
  whole(RecordType::group_lock_gone, payload_);
}

Result<std::pair<core::QueueId, std::string>> parse_key(std::string_view payload) {
  ByteReader reader(payload);
  const auto queue = static_cast<std::uint32_t>(reader.varint());
  const std::string_view key = reader.text();
  if (!reader.ok() || !reader.at_end()) return bad("a removed key");
  return std::pair(core::QueueId{queue}, std::string(key));
}

void RecordWriter::queue(const core::Queue& queue) {
  payload_.clear();
  encode_queue(queue, payload_);
  whole(RecordType::queue, payload_);
}

void RecordWriter::queue_gone(core::QueueId id) {
  payload_.clear();
  put_varint(payload_, id.value);
  whole(RecordType::queue_gone, payload_);
}

Result<std::uint32_t> parse_queue_gone(std::string_view payload) {
  ByteReader reader(payload);
  const auto id = static_cast<std::uint32_t>(reader.varint());
  if (!reader.ok() || !reader.at_end()) return bad("a removed queue");
  return id;
}

void RecordWriter::idempotency(const core::IdempotencyEntry& entry) {
  payload_.clear();
  encode_idempotency(entry, payload_);
  whole(RecordType::idempotency, payload_);
}

void RecordWriter::idempotency_gone(const Hash128& scope) {
  payload_.clear();
  ByteWriter writer(payload_);
  writer.u64(scope.high);
  writer.u64(scope.low);
  whole(RecordType::idempotency_gone, payload_);
}

Result<Hash128> parse_scope(std::string_view payload) {
  ByteReader reader(payload);
  Hash128 scope;
  scope.high = reader.u64();
  scope.low = reader.u64();
  if (!reader.ok() || !reader.at_end()) return bad("a removed idempotency entry");
  return scope;
}

void RecordWriter::token(const core::ApiToken& token) {
  payload_.clear();
  encode_token(token, payload_);
  whole(RecordType::token, payload_);
}

void RecordWriter::audit(const core::AuditRecord& record) {
  payload_.clear();
  encode_audit(record, payload_);
  whole(RecordType::audit, payload_);
}

void RecordWriter::ids(const DurableIds& ids) {
  payload_.clear();
  ByteWriter writer(payload_);
  writer.varint(ids.next_job_id);
  writer.varint(ids.next_queue_id);
  whole(RecordType::ids, payload_);
}

Result<DurableIds> parse_ids(std::string_view payload) {
  ByteReader reader(payload);
  DurableIds ids;
  ids.next_job_id = reader.varint();
  ids.next_queue_id = static_cast<std::uint32_t>(reader.varint());
  if (!reader.ok() || !reader.at_end()) return bad("the ids");
  return ids;
}

void RecordWriter::identity(const DurableIdentity& identity) {
  payload_.clear();
  ByteWriter writer(payload_);
  writer.varint(identity.epoch);
  writer.u64(identity.lease_secret.high);
  writer.u64(identity.lease_secret.low);
  whole(RecordType::identity, payload_);
}

Result<DurableIdentity> parse_identity(std::string_view payload) {
  ByteReader reader(payload);
  DurableIdentity identity;
  identity.epoch = static_cast<std::uint32_t>(reader.varint());
  identity.lease_secret.high = reader.u64();
  identity.lease_secret.low = reader.u64();
  if (!reader.ok() || !reader.at_end()) return bad("the identity");
  return identity;
}

}  // namespace weir::store::journal
