// SPDX-License-Identifier: Apache-2.0
// Records of jobs, bodies and attempts. Layouts: docs/storage-format.md.
#include <memory>

#include "base/assert.h"
#include "store/codec.h"
#include "store/codec_parts.h"

namespace weir::store {

using codec::RecordReader;
using codec::wrapping_minus;
using codec::wrapping_plus;

namespace {

// Presence bits of a job. Persistent numbers; the frequent ones are low, so that the bitmap is
// short.
enum JobBit : std::uint64_t {
  kKind = 1ULL << 0,
  kPayloadBytes = 1ULL << 1,
  kCreatedBy = 1ULL << 2,
  kAttempt = 1ULL << 3,
  kLease = 1ULL << 4,
  kClaimedAt = 1ULL << 5,
  kHasHistory = 1ULL << 6,  // a flag, no bytes
  kPriority = 1ULL << 7,
  kGroup = 1ULL << 8,
  kUniqueKey = 1ULL << 9,
  kTags = 1ULL << 10,
  kRunAt = 1ULL << 11,      // other than created_at
  kEnded = 1ULL << 12,      // completed_at, dead_at, ended_at
  kHasResult = 1ULL << 13,  // a flag, no bytes
  kDueAt = 1ULL << 14,
  kCounters = 1ULL << 15,
  kRank = 1ULL << 16,    // other than the id
  kBudget = 1ULL << 17,  // budget_start, excused_count, excused_since
  kTtl = 1ULL << 18,     // expires_at, ttl_ms
  kOptions = 1ULL << 19,
  kLimitKey = 1ULL << 20,
  kExternalId = 1ULL << 21,
  kDeadReason = 1ULL << 22,
  kSourceQueue = 1ULL << 23,
  kOriginalEnqueuedAt = 1ULL << 24,
  kDeadlineAt = 1ULL << 25,
  kEncryptionKey = 1ULL << 26,
  kBitsEnd = 1ULL << 27,
};

std::uint64_t bit_if(bool is_set, JobBit bit) {
  return is_set ? static_cast<std::uint64_t>(bit) : 0;
}

std::uint64_t presence(const core::Job& job) {
  return bit_if(!job.kind.empty(), kKind) | bit_if(job.payload_bytes != 0, kPayloadBytes) |
         bit_if(!job.created_by.empty(), kCreatedBy) | bit_if(job.attempt != 0, kAttempt) |
         bit_if(job.lease.has_value(), kLease) | bit_if(job.claimed_at.is_set(), kClaimedAt) |
         bit_if(job.has_history, kHasHistory) | bit_if(job.priority != 0, kPriority) |
         bit_if(!job.group.empty(), kGroup) | bit_if(!job.unique_key.empty(), kUniqueKey) |
         bit_if(!job.tags.empty(), kTags) | bit_if(job.run_at != job.created_at, kRunAt) |
         bit_if(job.completed_at.is_set() || job.dead_at.is_set() || job.ended_at.is_set(),
                kEnded) |
         bit_if(job.has_result, kHasResult) | bit_if(job.due_at.is_set(), kDueAt) |
         bit_if(job.counters != core::JobCounters{}, kCounters) |
         bit_if(job.rank != static_cast<std::int64_t>(job.id.value), kRank) |
         bit_if(job.budget_start != 0 || job.excused_count != 0 || job.excused_since != 0,
                kBudget) |
         bit_if(job.expires_at.is_set() || job.ttl_ms != 0, kTtl) |
         bit_if(job.options != nullptr, kOptions) | bit_if(!job.limit_key.empty(), kLimitKey) |
         bit_if(!job.external_id.empty(), kExternalId) |
         bit_if(!job.dead_reason.empty(), kDeadReason) |
         bit_if(job.source_queue.value != 0, kSourceQueue) |
         bit_if(job.original_enqueued_at.is_set(), kOriginalEnqueuedAt) |
         bit_if(job.deadline_at.is_set(), kDeadlineAt) |
         bit_if(job.encryption_key != 0, kEncryptionKey);
}

template <typename Writer>
void write_lease(Writer& out, const core::Lease& lease) {
  out.svarint(lease.started_at.ms);
  out.svarint(wrapping_minus(lease.deadline_at.ms, lease.started_at.ms));
  out.text(lease.worker_id);
  out.u8(static_cast<std::uint8_t>(lease.owner));
  out.varint(lease.connection);
  out.varint(lease.boot);
  out.u8(lease.progress_percent);
  out.text(lease.progress_message);
}

core::Lease read_lease(RecordReader& in) {
  core::Lease lease;
  lease.started_at.ms = in.raw().svarint();
  lease.deadline_at.ms = wrapping_plus(in.raw().svarint(), lease.started_at.ms);
  lease.worker_id = in.text();
  lease.owner = in.enumerator(core::OwnerKind::none, core::OwnerKind::connection);
  lease.connection = in.raw().varint();
  lease.boot = in.raw().varint();
  lease.progress_percent = in.raw().u8();
  lease.progress_message = in.text();
  return lease;
}

template <typename Writer>
void write_counters(Writer& out, const core::JobCounters& counters) {
  out.varint(counters.failures);
  out.varint(counters.timeouts);
  out.varint(counters.releases);
  out.varint(counters.buries);
  out.varint(counters.kicks);
}

core::JobCounters read_counters(RecordReader& in) {
  core::JobCounters counters;
  counters.failures = in.number32();
  counters.timeouts = in.number32();
  counters.releases = in.number32();
  counters.buries = in.number32();
  counters.kicks = in.number32();
  return counters;
}

// Bits: 1 max_attempts, 2 retry, 4 lease_ms, 8 timeout_ms.
template <typename Writer>
void write_options(Writer& out, const core::JobOptions& options) {
  out.u8(static_cast<std::uint8_t>((options.max_attempts ? 1 : 0) | (options.retry ? 2 : 0) |
                                   (options.lease_ms ? 4 : 0) | (options.timeout_ms ? 8 : 0)));
  if (options.max_attempts) out.varint(*options.max_attempts);
  if (options.retry) {
    std::string retry;
    ByteWriter writer(retry);
    codec::write_retry(writer, *options.retry);
    out.raw(retry);
  }
  if (options.lease_ms) out.svarint(*options.lease_ms);
  if (options.timeout_ms) out.svarint(*options.timeout_ms);
}

std::shared_ptr<const core::JobOptions> read_options(RecordReader& in) {
  auto options = std::make_shared<core::JobOptions>();
  const std::uint8_t bits = in.raw().u8();
  in.check(bits < 16);
  if ((bits & 1) != 0) options->max_attempts = in.number32();
  if ((bits & 2) != 0) options->retry = codec::read_retry(in);
  if ((bits & 4) != 0) options->lease_ms = in.raw().svarint();
  if ((bits & 8) != 0) options->timeout_ms = in.raw().svarint();
  return options;
}

// An instant near `base`; wall instants of a job lie near its created_at.
template <typename Writer>
void write_near(Writer& out, WallTime at, WallTime base) {
  out.svarint(wrapping_minus(at.ms, base.ms));
}
WallTime read_near(RecordReader& in, WallTime base) {
  return WallTime{wrapping_plus(in.raw().svarint(), base.ms)};
}

// The fields that decide and change often: the front half of the record.
template <typename Writer>
void write_life(Writer& out, const core::Job& job, std::uint64_t bits) {
  if (bits & kKind) out.text(job.kind);
  if (bits & kPayloadBytes) out.varint(job.payload_bytes);
  if (bits & kCreatedBy) out.text(job.created_by);
  if (bits & kAttempt) out.varint(job.attempt);
  if (bits & kLease) write_lease(out, *job.lease);
  if (bits & kClaimedAt) write_near(out, job.claimed_at, job.created_at);
  if (bits & kPriority) out.svarint(job.priority);
  if (bits & kGroup) out.text(job.group);
  if (bits & kUniqueKey) out.text(job.unique_key);
  if (bits & kTags) codec::write_texts(out, job.tags);
  if (bits & kRunAt) write_near(out, job.run_at, job.created_at);
  if (bits & kEnded) {
    write_near(out, job.completed_at, job.created_at);
    write_near(out, job.dead_at, job.completed_at);
    out.svarint(job.ended_at.ms);
  }
  if (bits & kDueAt) out.svarint(job.due_at.ms);
  if (bits & kCounters) write_counters(out, job.counters);
}

void read_life(RecordReader& in, core::Job& job, std::uint64_t bits) {
  if (bits & kKind) job.kind = in.text();
  if (bits & kPayloadBytes) job.payload_bytes = in.number32();
  if (bits & kCreatedBy) job.created_by = in.text();
  if (bits & kAttempt) job.attempt = in.number32();
  if (bits & kLease) job.lease = read_lease(in);
  if (bits & kClaimedAt) job.claimed_at = read_near(in, job.created_at);
  job.has_history = (bits & kHasHistory) != 0;
  if (bits & kPriority) job.priority = in.signed32();
  if (bits & kGroup) job.group = in.text();
  if (bits & kUniqueKey) job.unique_key = in.text();
  if (bits & kTags) job.tags = in.texts();
  job.run_at = (bits & kRunAt) ? read_near(in, job.created_at) : job.created_at;
  if (bits & kEnded) {
    job.completed_at = read_near(in, job.created_at);
    job.dead_at = read_near(in, job.completed_at);
    job.ended_at.ms = in.raw().svarint();
  }
  job.has_result = (bits & kHasResult) != 0;
  if (bits & kDueAt) job.due_at.ms = in.raw().svarint();
  if (bits & kCounters) job.counters = read_counters(in);
}

// The rare fields.
template <typename Writer>
void write_rest(Writer& out, const core::Job& job, std::uint64_t bits) {
  if (bits & kRank) out.svarint(job.rank);
  if (bits & kBudget) {
    out.varint(job.budget_start);
    out.varint(job.excused_count);
    out.varint(job.excused_since);
  }
  if (bits & kTtl) {
    out.svarint(job.expires_at.ms);
    out.svarint(job.ttl_ms);
  }
  if (bits & kOptions) write_options(out, *job.options);
  if (bits & kLimitKey) out.text(job.limit_key);
  if (bits & kExternalId) out.text(job.external_id);
  if (bits & kDeadReason) out.text(job.dead_reason);
  if (bits & kSourceQueue) out.varint(job.source_queue.value);
  if (bits & kOriginalEnqueuedAt) write_near(out, job.original_enqueued_at, job.created_at);
  if (bits & kDeadlineAt) write_near(out, job.deadline_at, job.created_at);
  if (bits & kEncryptionKey) out.varint(job.encryption_key);
}

void read_rest(RecordReader& in, core::Job& job, std::uint64_t bits) {
  job.rank = (bits & kRank) ? in.raw().svarint() : static_cast<std::int64_t>(job.id.value);
  if (bits & kBudget) {
    job.budget_start = in.number32();
    job.excused_count = in.number32();
    job.excused_since = in.number32();
  }
  if (bits & kTtl) {
    job.expires_at.ms = in.raw().svarint();
    job.ttl_ms = in.raw().svarint();
  }
  if (bits & kOptions) job.options = read_options(in);
  if (bits & kLimitKey) job.limit_key = in.text();
  if (bits & kExternalId) job.external_id = in.text();
  if (bits & kDeadReason) job.dead_reason = in.text();
  if (bits & kSourceQueue) job.source_queue.value = in.number32();
  if (bits & kOriginalEnqueuedAt) job.original_enqueued_at = read_near(in, job.created_at);
  if (bits & kDeadlineAt) job.deadline_at = read_near(in, job.created_at);
  if (bits & kEncryptionKey) job.encryption_key = in.number32();
}

// At least what encode_job() writes: 10 bytes for each number there can be, and the texts.
std::size_t job_bytes_max(const core::Job& job) {
  constexpr std::size_t kNumbersMax = 48;
  std::size_t bytes = 10 * kNumbersMax + job.kind.size() + job.created_by.size() +
                      job.group.size() + job.unique_key.size() + job.limit_key.size() +
                      job.external_id.size() + job.dead_reason.size();
  for (const std::string& tag : job.tags) bytes += 10 + tag.size();
  if (job.lease) bytes += job.lease->worker_id.size() + job.lease->progress_message.size();
  if (job.options && job.options->retry) {
    bytes += 100 + job.options->retry->name.size() + 10 * job.options->retry->delays_ms.size();
  }
  return bytes;
}

}  // namespace

void encode_job(const core::Job& job, std::string& bytes) {
  const std::size_t before = bytes.size();
  bytes.resize(before + job_bytes_max(job));
  SpanWriter out(bytes.data() + before);
  const std::uint64_t bits = presence(job);
  out.u8(kJobRecordVersion);
  out.varint(bits);
  out.varint(job.id.value);
  out.varint(job.queue.value);
  // State and class in one byte: 1..9 and 0..4.
  out.u8(static_cast<std::uint8_t>((static_cast<unsigned>(job.state) << 4) |
                                   static_cast<unsigned>(job.priority_class)));
  out.u8(static_cast<std::uint8_t>(job.last_verb));
  out.varint(job.version);
  out.svarint(job.created_at.ms);
  write_life(out, job, bits);
  write_rest(out, job, bits);
  const auto size = static_cast<std::size_t>(out.at() - bytes.data());
  WEIR_ASSERT(size <= bytes.size(), size, bytes.size());
  bytes.resize(size);
}

Result<core::Job> decode_job(std::string_view bytes) {
  RecordReader in(bytes, "job", kJobRecordVersion);
  core::Job job;
  const std::uint64_t bits = in.raw().varint();
  in.check(bits < kBitsEnd);
  job.id.value = in.raw().varint();
  job.queue.value = in.number32();
  const std::uint8_t state_and_class = in.raw().u8();
  in.check((state_and_class >> 4) >= 1 && (state_and_class >> 4) <= core::kJobStateCount &&
           (state_and_class & 15) < core::kPriorityClassCount);
  job.state = static_cast<core::JobState>(state_and_class >> 4);
  job.priority_class = static_cast<core::PriorityClass>(state_and_class & 15);
  job.last_verb = in.enumerator(core::Verb::enqueue, core::Verb::purge);
  job.version = in.raw().varint();
  job.created_at.ms = in.raw().svarint();
  // Nothing behind an odd front is worth reading.
  if (in.ok()) {
    read_life(in, job, bits);
    read_rest(in, job, bits);
  }
  return in.finish(std::move(job));
}

void encode_body(const core::JobBody& body, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kJobBodyRecordVersion);
  out.varint(body.payload_reference);
  const bool is_json = body.content_type.empty();
  out.u8(is_json ? 1 : 0);
  if (!is_json) out.text(body.content_type);
  out.text(body.content_encoding);
  out.varint(body.headers.size());
  for (const core::TypedHeader& header : body.headers) {
    out.text(header.first);
    out.text(header.second);
  }
  out.text(body.payload);
}

Result<core::JobBody> decode_body(std::string_view bytes) {
  RecordReader in(bytes, "body", kJobBodyRecordVersion);
  core::JobBody body;
  body.payload_reference = in.raw().varint();
  if (!in.flag()) body.set_type(in.raw().text());
  body.content_encoding = in.text();
  for (std::uint64_t left = in.count(); left > 0 && in.ok(); --left) {
    std::string name = in.text();
    body.headers.emplace_back(std::move(name), in.text());
  }
  body.payload = in.text();
  return in.finish(std::move(body));
}

void encode_attempt(const core::AttemptRecord& attempt, std::string& bytes) {
  ByteWriter out(bytes);
  out.u8(kAttemptRecordVersion);
  out.varint(attempt.attempt);
  out.text(attempt.worker_id);
  out.svarint(attempt.started_at.ms);
  out.svarint(wrapping_minus(attempt.ended_at.ms, attempt.started_at.ms));
  out.u8(static_cast<std::uint8_t>(attempt.outcome));
  out.text(attempt.error.error_class);
  out.text(attempt.error.code);
  out.svarint(attempt.error.http_status);
  out.text(attempt.error.message);
  out.text(attempt.reason);
}

Result<core::AttemptRecord> decode_attempt(std::string_view bytes) {
  RecordReader in(bytes, "attempt", kAttemptRecordVersion);
  core::AttemptRecord attempt;
  attempt.attempt = in.number32();
  attempt.worker_id = in.text();
  attempt.started_at.ms = in.raw().svarint();
  attempt.ended_at.ms = wrapping_plus(in.raw().svarint(), attempt.started_at.ms);
  attempt.outcome =
      in.enumerator(core::AttemptOutcome::completed, core::AttemptOutcome::undelivered);
  attempt.error.error_class = in.text();
  attempt.error.code = in.text();
  attempt.error.http_status = in.signed32();
  attempt.error.message = in.text();
  attempt.reason = in.text();
  return in.finish(std::move(attempt));
}

}  // namespace weir::store
