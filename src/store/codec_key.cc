// SPDX-License-Identifier: Apache-2.0
// Records of unique keys, group locks, idempotency entries, tokens and audit. Layouts:
// docs/storage-format.md.
#include "store/codec.h"
#include "store/codec_parts.h"

namespace weir::store {

using codec::RecordReader;

namespace {

void write_hash(ByteWriter& out, const Hash128& hash) {
  out.u64(hash.high);
  out.u64(hash.low);
}
Hash128 read_hash(RecordReader& in) {
  Hash128 hash;
  hash.high = in.raw().u64();
  hash.low = in.raw().u64();
  return hash;
}

constexpr std::uint8_t kEveryScope = 31;

}  // namespace

void encode_unique_key(const core::UniqueKey& entry, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kUniqueKeyRecordVersion);
  out.varint(entry.queue.value);
  out.text(entry.key);
  out.varint(entry.job.value);
  out.svarint(entry.until.ms);
}

Result<core::UniqueKey> decode_unique_key(std::string_view bytes) {
  RecordReader in(bytes, "unique key", kUniqueKeyRecordVersion);
  core::UniqueKey entry;
  entry.queue.value = in.number32();
  entry.key = in.text();
  entry.job.value = in.raw().varint();
  entry.until.ms = in.raw().svarint();
  return in.finish(std::move(entry));
}

void encode_group_lock(const core::GroupLock& lock, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kGroupLockRecordVersion);
  out.varint(lock.queue.value);
  out.text(lock.group);
  out.varint(lock.holder.value);
}

Result<core::GroupLock> decode_group_lock(std::string_view bytes) {
  RecordReader in(bytes, "group lock", kGroupLockRecordVersion);
  core::GroupLock lock;
  lock.queue.value = in.number32();
  lock.group = in.text();
  lock.holder.value = in.raw().varint();
  return in.finish(std::move(lock));
}

void encode_idempotency(const core::IdempotencyEntry& entry, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kIdempotencyRecordVersion);
  write_hash(out, entry.scope);
  write_hash(out, entry.request);
  out.svarint(entry.expires_at.ms);
  out.text(entry.answer);
}

Result<core::IdempotencyEntry> decode_idempotency(std::string_view bytes) {
  RecordReader in(bytes, "idempotency", kIdempotencyRecordVersion);
  core::IdempotencyEntry entry;
  entry.scope = read_hash(in);
  entry.request = read_hash(in);
  entry.expires_at.ms = in.raw().svarint();
  entry.answer = in.text();
  return in.finish(std::move(entry));
}

void encode_token(const core::ApiToken& token, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kApiTokenRecordVersion);
  out.text(token.id);
  out.text(token.name);
  for (const std::uint8_t byte : token.secret_sha256) out.u8(byte);
  out.u8(token.scopes);
  codec::write_texts(out, token.queues);
  out.varint(token.namespace_id);
  out.svarint(token.created_at.ms);
  out.svarint(token.expires_at.ms);
  out.u8(token.is_revoked ? 1 : 0);
  out.text(token.created_by);
}

Result<core::ApiToken> decode_token(std::string_view bytes) {
  RecordReader in(bytes, "token", kApiTokenRecordVersion);
  core::ApiToken token;
  token.id = in.text();
  token.name = in.text();
  for (std::uint8_t& byte : token.secret_sha256) byte = in.raw().u8();
  token.scopes = in.raw().u8();
  in.check(token.scopes <= kEveryScope);
  token.queues = in.texts();
  token.namespace_id = in.number32();
  token.created_at.ms = in.raw().svarint();
  token.expires_at.ms = in.raw().svarint();
  token.is_revoked = in.flag();
  token.created_by = in.text();
  return in.finish(std::move(token));
}

void encode_audit(const core::AuditRecord& record, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kAuditRecordVersion);
  out.svarint(record.at.ms);
  out.text(record.principal);
  out.text(record.action);
  out.text(record.subject);
  out.text(record.reason);
}

Result<core::AuditRecord> decode_audit(std::string_view bytes) {
  RecordReader in(bytes, "audit", kAuditRecordVersion);
  core::AuditRecord record;
  record.at.ms = in.raw().svarint();
  record.principal = in.text();
  record.action = in.text();
  record.subject = in.text();
  record.reason = in.text();
  return in.finish(std::move(record));
}

}  // namespace weir::store
