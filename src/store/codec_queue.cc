// SPDX-License-Identifier: Apache-2.0
// Records of queues, and the retry policy that queues and jobs share. Layouts:
// docs/storage-format.md.
#include "store/codec.h"
#include "store/codec_parts.h"

namespace weir::store {

using codec::RecordReader;

namespace codec {

void write_retry(ByteWriter& out, const core::RetryPolicy& policy) {
  out.text(policy.name);
  out.varint(policy.delays_ms.size());
  for (const std::int64_t delay_ms : policy.delays_ms) out.svarint(delay_ms);
  out.svarint(policy.base_ms);
  out.u64(std::bit_cast<std::uint64_t>(policy.factor));
  out.svarint(policy.cap_ms);
  out.u64(std::bit_cast<std::uint64_t>(policy.jitter));
  out.varint(policy.max_attempts);
}

core::RetryPolicy read_retry(RecordReader& in) {
  core::RetryPolicy policy;
  policy.name = in.text();
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    policy.delays_ms.push_back(in.raw().svarint());
  }
  policy.base_ms = in.raw().svarint();
  policy.factor = std::bit_cast<double>(in.raw().u64());
  policy.cap_ms = in.raw().svarint();
  policy.jitter = std::bit_cast<double>(in.raw().u64());
  policy.max_attempts = in.number32();
  in.check(std::isfinite(policy.factor) && std::isfinite(policy.jitter));
  return policy;
}

}  // namespace codec

namespace {

void write_settings(ByteWriter& out, const core::QueueSettings& settings) {
  out.u8(static_cast<std::uint8_t>(settings.priority_class));
  codec::write_retry(out, settings.retry);
  out.varint(settings.max_attempts);
  out.svarint(settings.lease_ms);
  out.svarint(settings.timeout_ms);
  out.svarint(settings.ttl_ms);
  out.varint(settings.max_depth);
  out.varint(settings.payload_bytes_max);
  out.u8(static_cast<std::uint8_t>(settings.durability));
  out.svarint(settings.durability_interval_ms);
  out.u8(static_cast<std::uint8_t>(settings.claim));
  out.u8(static_cast<std::uint8_t>(settings.delivery));
  out.u8(static_cast<std::uint8_t>(settings.order));
  out.svarint(settings.completed_retention_ms);
  out.varint(settings.completed_max);
  out.svarint(settings.dead_retention_ms);
  out.u8(static_cast<std::uint8_t>(settings.exhaustion));
}

core::QueueSettings read_settings(RecordReader& in) {
  core::QueueSettings settings;
  settings.priority_class = in.enumerator(core::PriorityClass::P0, core::PriorityClass::P4);
  settings.retry = codec::read_retry(in);
  settings.max_attempts = in.number32();
  settings.lease_ms = in.raw().svarint();
  settings.timeout_ms = in.raw().svarint();
  settings.ttl_ms = in.raw().svarint();
  settings.max_depth = in.raw().varint();
  settings.payload_bytes_max = in.raw().varint();
  settings.durability = in.enumerator(core::Durability::sync, core::Durability::interval);
  settings.durability_interval_ms = in.raw().svarint();
  settings.claim = in.enumerator(core::ClaimMode::ride, core::ClaimMode::sync);
  settings.delivery =
      in.enumerator(core::DeliveryMode::at_least_once, core::DeliveryMode::at_most_once);
  settings.order = in.enumerator(core::QueueOrder::priority, core::QueueOrder::fifo);
  settings.completed_retention_ms = in.raw().svarint();
  settings.completed_max = in.raw().varint();
  settings.dead_retention_ms = in.raw().svarint();
  settings.exhaustion = in.enumerator(core::ExhaustionPolicy::dead, core::ExhaustionPolicy::drop);
  return settings;
}

}  // namespace

void encode_queue(const core::Queue& queue, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kQueueRecordVersion);
  out.varint(queue.id.value);
  out.varint(queue.namespace_id);
  out.text(queue.name);
  write_settings(out, queue.settings);
  out.u8(queue.paused ? 1 : 0);
  out.u8(queue.draining ? 1 : 0);
  out.u8(queue.is_deleted ? 1 : 0);
  out.varint(queue.version);
  out.svarint(queue.created_at.ms);
  out.text(queue.created_by);
}

Result<core::Queue> decode_queue(std::string_view bytes) {
  RecordReader in(bytes, "queue", kQueueRecordVersion);
  core::Queue queue;
  queue.id.value = in.number32();
  queue.namespace_id = in.number32();
  queue.name = in.text();
  queue.settings = read_settings(in);
  queue.paused = in.flag();
  queue.draining = in.flag();
  queue.is_deleted = in.flag();
  queue.version = in.raw().varint();
  queue.created_at.ms = in.raw().svarint();
  queue.created_by = in.text();
  return in.finish(std::move(queue));
}

}  // namespace weir::store
