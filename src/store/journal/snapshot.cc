// SPDX-License-Identifier: Apache-2.0
// Snapshot records. A partition lists every job and key that it has at that commit, so that older
// segments are no longer needed for knowing what is there (only for texts that jobs point at). No
// locations: those come from the records that hold the texts. Ended jobs are listed by id alone:
// the record of their end stays in the log as long as they do.
#include <algorithm>

#include "base/bytes.h"
#include "store/codec.h"
#include "store/journal/replay.h"

namespace weir::store::journal {
namespace {

Failure bad() { return failure(ErrorCode::corruption, "a snapshot record does not parse"); }

// A list of encoded entities behind its count: written to a text of its own first.
class ListWriter {
 public:
  template <typename Encode>
  void add(const Encode& encode) {
    piece_.clear();
    encode(piece_);
    ByteWriter(list_).text(piece_);
    ++count_;
  }
  void finish(std::string& out) {
    ByteWriter(out).varint(count_);
    out += list_;
    list_.clear();
    count_ = 0;
  }

 private:
  std::string list_, piece_;
  std::uint64_t count_ = 0;
};

// Reads what ListWriter wrote.
template <typename Take>
Result<void> read_list(ByteReader& reader, const Take& take) {
  const std::uint64_t count = reader.varint();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view piece = reader.text();
    if (!reader.ok()) return bad();
    WEIR_TRY(take(piece));
  }
  if (!reader.ok()) return bad();
  return {};
}

}  // namespace

void write_partition(const Index& index, std::uint32_t partition, std::string& payload) {
  payload.clear();
  ByteWriter(payload).varint(partition);
  ListWriter living, keys, locks, answers;
  std::vector<std::uint64_t> ended;
  index.for_partition(
      partition,
      [&](const core::Job& job) { living.add([&](std::string& out) { encode_job(job, out); }); },
      [&](std::uint64_t id) { ended.push_back(id); });
  index.for_partition_keys(
      partition,
      [&](const core::UniqueKey& key) {
        keys.add([&](std::string& out) { encode_unique_key(key, out); });
      },
      [&](const core::GroupLock& lock) {
        locks.add([&](std::string& out) { encode_group_lock(lock, out); });
      },
      [&](const core::IdempotencyEntry& entry) {
        answers.add([&](std::string& out) { encode_idempotency(entry, out); });
      });
  living.finish(payload);
  ByteWriter writer(payload);
  writer.varint(ended.size());
  for (const std::uint64_t id : ended) writer.u64(id);
  keys.finish(payload);
  locks.finish(payload);
  answers.finish(payload);
}

Result<void> apply_partition(std::string_view payload, Index& index) {
  ByteReader reader(payload);
  const std::uint64_t partition = reader.varint();
  if (!reader.ok() || partition >= kPartitionCount) return bad();
  const auto number = static_cast<std::uint32_t>(partition);
  std::vector<std::uint64_t> ids;
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::Job job, decode_job(piece));
    index.put_job(job, {});
    ids.push_back(job.id.value);
    return {};
  }));
  const std::uint64_t ended = reader.varint();
  if (ended > reader.left() / 8) return bad();
  for (std::uint64_t i = 0; i < ended; ++i) ids.push_back(reader.u64());
  std::sort(ids.begin(), ids.end());
  index.keep_only(number, ids);
  index.begin_partition(number);
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::UniqueKey key, decode_unique_key(piece));
    index.put_unique_key(key);
    return {};
  }));
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::GroupLock lock, decode_group_lock(piece));
    index.put_group_lock(lock);
    return {};
  }));
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::IdempotencyEntry entry, decode_idempotency(piece));
    index.put_idempotency(entry);
    return {};
  }));
  if (!reader.at_end()) return bad();
  return {};
}

void write_meta(const Index& index, const DurableIds& ids, const DurableIdentity& identity,
                std::string& payload) {
  payload.clear();
  ListWriter queues, tokens, audit;
  for (const core::Queue& queue : index.queues()) {
    queues.add([&](std::string& out) { encode_queue(queue, out); });
  }
  for (const auto& [id, token] : index.tokens()) {
    tokens.add([&](std::string& out) { encode_token(token, out); });
  }
  for (const core::AuditRecord& record : index.audit()) {
    audit.add([&](std::string& out) { encode_audit(record, out); });
  }
  queues.finish(payload);
  tokens.finish(payload);
  audit.finish(payload);
  ByteWriter writer(payload);
  writer.varint(ids.next_job_id);
  writer.varint(ids.next_queue_id);
  writer.varint(identity.epoch);
  writer.u64(identity.lease_secret.high);
  writer.u64(identity.lease_secret.low);
}

Result<void> apply_meta(std::string_view payload, Index& index, Loaded& loaded) {
  ByteReader reader(payload);
  std::vector<std::uint32_t> queue_ids;
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::Queue queue, decode_queue(piece));
    index.put_queue(queue);
    queue_ids.push_back(queue.id.value);
    return {};
  }));
  std::sort(queue_ids.begin(), queue_ids.end());
  index.keep_only_queues(queue_ids);
  index.clear_tokens_and_audit();
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::ApiToken token, decode_token(piece));
    index.put_token(token);
    return {};
  }));
  WEIR_TRY(read_list(reader, [&](std::string_view piece) -> Result<void> {
    WEIR_TRY_ASSIGN(const core::AuditRecord record, decode_audit(piece));
    index.add_audit(record);
    return {};
  }));
  loaded.ids.next_job_id = std::max(loaded.ids.next_job_id, reader.varint());
  loaded.ids.next_queue_id =
      std::max(loaded.ids.next_queue_id, static_cast<std::uint32_t>(reader.varint()));
  loaded.identity.epoch =
      std::max(loaded.identity.epoch, static_cast<std::uint32_t>(reader.varint()));
  loaded.identity.lease_secret.high = reader.u64();
  loaded.identity.lease_secret.low = reader.u64();
  if (!reader.ok() || !reader.at_end()) return bad();
  return {};
}

}  // namespace weir::store::journal
