// SPDX-License-Identifier: Apache-2.0
// The binary form of an answer, as idempotency entries keep it.
//
// Version, two flags, the number of the outcome, its fields; all numbers are persistent. To change
// the form: append fields at the end of an outcome, raise kVersion, and read older versions with
// defaults; numbers are never reused. Claimed and NotClaimable have numbers but no form: a claim
// carries no Idempotency-Key.
#include <limits>
#include <type_traits>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/decide.h"

namespace weir::core {
namespace {

constexpr std::uint8_t kVersion = 1;

enum class OutcomeNumber : std::uint8_t {
  nothing = 1,
  enqueued = 2,
  moved = 3,
  extended = 4,
  removed = 5,
  queue_changed = 6,
  token_changed = 7,
  error = 8,
  kicked = 9,
};

void put_bool(ByteWriter& out, bool value) { out.u8(value ? 1 : 0); }

template <typename Enum>
void put_enum(ByteWriter& out, Enum value) {
  out.u8(static_cast<std::uint8_t>(value));
}

void put_double(ByteWriter& out, double value) {
  std::uint64_t bits = 0;
  static_assert(sizeof bits == sizeof value);
  std::memcpy(&bits, &value, sizeof bits);
  out.u64(bits);
}

void put_number(ByteWriter& out, OutcomeNumber number) { put_enum(out, number); }

struct Encoder {
  ByteWriter& out;

  void operator()(const Nothing&) const { put_number(out, OutcomeNumber::nothing); }
  void operator()(const Enqueued& e) const {
    put_number(out, OutcomeNumber::enqueued);
    out.varint(e.queue.value);
    put_enum(out, e.first_state);
    out.varint(e.ids.size());
    std::uint64_t before = 0;  // ids of a batch mostly follow each other
    for (const JobId id : e.ids) {
      out.svarint(static_cast<std::int64_t>(id.value - before));
      before = id.value;
    }
    out.varint(e.duplicates.size());
    for (const std::uint32_t index : e.duplicates) out.varint(index);
  }
  void operator()(const Claimed& c) const { WEIR_ASSERT(false, c.job.value); }
  void operator()(const NotClaimable&) const { WEIR_ASSERT(false); }
  void operator()(const Moved& m) const {
    put_number(out, OutcomeNumber::moved);
    out.varint(m.job.value);
    put_enum(out, m.state);
    out.svarint(m.retry_after_ms);
    out.svarint(m.run_at.ms);
    out.text(m.reason);
    out.varint(m.version);
  }
  void operator()(const Extended& e) const {
    put_number(out, OutcomeNumber::extended);
    out.varint(e.job.value);
    out.svarint(e.lease_expires_at.ms);
  }
  void operator()(const Removed& r) const {
    put_number(out, OutcomeNumber::removed);
    out.varint(r.count);
  }
  void operator()(const QueueChanged& q) const {
    put_number(out, OutcomeNumber::queue_changed);
    put_queue(q.queue);
    put_bool(out, q.created);
    out.varint(q.warnings.size());
    for (const std::string& warning : q.warnings) out.text(warning);
  }
  void operator()(const TokenChanged& t) const {
    put_number(out, OutcomeNumber::token_changed);
    out.text(t.id);
  }
  void operator()(const Kicked& k) const {
    put_number(out, OutcomeNumber::kicked);
    out.varint(k.count);
  }
  void operator()(const Error& e) const {
    put_number(out, OutcomeNumber::error);
    // By its word: the numbers of ErrorCode are an order of precedence, not persistent.
    out.text(to_string(e.code));
    out.text(e.detail);
    out.svarint(e.retry_after_ms);
    out.svarint(e.depth);
    out.svarint(e.max_depth);
  }

  void put_queue(const Queue& q) const {
    out.varint(q.id.value);
    out.varint(q.namespace_id);
    out.text(q.name);
    put_settings(q.settings);
    put_bool(out, q.paused);
    put_bool(out, q.draining);
    put_bool(out, q.is_deleted);
    out.varint(q.version);
    out.svarint(q.created_at.ms);
    out.text(q.created_by);
  }
  void put_settings(const QueueSettings& s) const {
    put_enum(out, s.priority_class);
    put_retry(s.retry);
    out.varint(s.max_attempts);
    out.svarint(s.lease_ms);
    out.svarint(s.timeout_ms);
    out.svarint(s.ttl_ms);
    out.varint(s.max_depth);
    out.varint(s.payload_bytes_max);
    put_enum(out, s.durability);
    out.svarint(s.durability_interval_ms);
    put_enum(out, s.claim);
    put_enum(out, s.delivery);
    put_enum(out, s.order);
    out.svarint(s.completed_retention_ms);
    out.varint(s.completed_max);
    out.svarint(s.dead_retention_ms);
    put_enum(out, s.exhaustion);
  }
  void put_retry(const RetryPolicy& r) const {
    out.text(r.name);
    out.varint(r.delays_ms.size());
    for (const std::int64_t delay_ms : r.delays_ms) out.svarint(delay_ms);
    out.svarint(r.base_ms);
    put_double(out, r.factor);
    out.svarint(r.cap_ms);
    put_double(out, r.jitter);
    out.varint(r.max_attempts);
  }
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : in_(bytes) {}

  // False after anything that encode_answer does not write.
  bool read(Answer& answer) {
    if (in_.u8() != kVersion) return false;
    answer.durable = read_bool();
    answer.replayed = read_bool();
    read_outcome(answer.outcome);
    return is_sound_ && in_.ok() && in_.at_end();
  }

 private:
  bool read_bool() {
    const std::uint8_t value = in_.u8();
    if (value > 1) is_sound_ = false;
    return value == 1;
  }
  template <typename Enum>
  Enum read_enum(Enum first, Enum last) {
    const std::uint8_t value = in_.u8();
    if (value < static_cast<std::uint8_t>(first) || value > static_cast<std::uint8_t>(last)) {
      is_sound_ = false;
      return first;
    }
    return static_cast<Enum>(value);
  }
  std::uint32_t read_u32() {
    const std::uint64_t value = in_.varint();
    if (value > std::numeric_limits<std::uint32_t>::max()) is_sound_ = false;
    return static_cast<std::uint32_t>(value);
  }
  double read_double() {
    const std::uint64_t bits = in_.u64();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  // A count of things that take a byte each at least, so that it can't be more than what is left.
  std::size_t read_count() {
    const std::uint64_t count = in_.varint();
    if (!in_.ok() || count > in_.left()) {
      is_sound_ = false;
      return 0;
    }
    return static_cast<std::size_t>(count);
  }
  std::string read_text() { return std::string(in_.text()); }
  WallTime read_wall() { return WallTime{in_.svarint()}; }

  void read_outcome(Outcome& outcome);
  Enqueued read_enqueued();
  Error read_error();
  Queue read_queue();
  QueueSettings read_settings();
  RetryPolicy read_retry();

  ByteReader in_;
  bool is_sound_ = true;
};

void Decoder::read_outcome(Outcome& outcome) {
  switch (static_cast<OutcomeNumber>(in_.u8())) {
    case OutcomeNumber::nothing:
      outcome = Nothing{};
      return;
    case OutcomeNumber::enqueued:
      outcome = read_enqueued();
      return;
    case OutcomeNumber::moved: {
      Moved m;
      m.job.value = in_.varint();
      m.state = read_enum(JobState::scheduled, JobState::expired);
      m.retry_after_ms = in_.svarint();
      m.run_at = read_wall();
      m.reason = read_text();
      m.version = in_.varint();
      outcome = std::move(m);
      return;
    }
    case OutcomeNumber::extended: {
      Extended e;
      e.job.value = in_.varint();
      e.lease_expires_at = read_wall();
      outcome = e;
      return;
    }
    case OutcomeNumber::removed:
      outcome = Removed{.count = in_.varint()};
      return;
    case OutcomeNumber::queue_changed: {
      QueueChanged q;
      q.queue = read_queue();
      q.created = read_bool();
      q.warnings.resize(read_count());
      for (std::string& warning : q.warnings) warning = read_text();
      outcome = std::move(q);
      return;
    }
    case OutcomeNumber::token_changed:
      outcome = TokenChanged{.id = read_text()};
      return;
    case OutcomeNumber::kicked:
      outcome = Kicked{.count = in_.varint()};
      return;
    case OutcomeNumber::error:
      outcome = read_error();
      return;
  }
  is_sound_ = false;
}

Enqueued Decoder::read_enqueued() {
  Enqueued e;
  e.queue.value = read_u32();
  e.first_state = read_enum(JobState::scheduled, JobState::expired);
  e.ids.resize(read_count());
  std::uint64_t before = 0;
  for (JobId& id : e.ids) {
    before += static_cast<std::uint64_t>(in_.svarint());
    id.value = before;
  }
  e.duplicates.resize(read_count());
  for (std::uint32_t& index : e.duplicates) {
    index = read_u32();
    if (index >= e.ids.size()) is_sound_ = false;
  }
  return e;
}

Error Decoder::read_error() {
  Error e;
  const std::string_view word = in_.text();
  bool is_known = false;
  for (int i = 0; i < kErrorCodeCount && !is_known; ++i) {
    e.code = static_cast<ErrorCode>(i);
    is_known = to_string(e.code) == word;
  }
  if (!is_known) is_sound_ = false;
  e.detail = read_text();
  e.retry_after_ms = in_.svarint();
  e.depth = in_.svarint();
  e.max_depth = in_.svarint();
  return e;
}

Queue Decoder::read_queue() {
  Queue q;
  q.id.value = read_u32();
  q.namespace_id = read_u32();
  q.name = read_text();
  q.settings = read_settings();
  q.paused = read_bool();
  q.draining = read_bool();
  q.is_deleted = read_bool();
  q.version = in_.varint();
  q.created_at = read_wall();
  q.created_by = read_text();
  return q;
}

QueueSettings Decoder::read_settings() {
  QueueSettings s;
  s.priority_class = read_enum(PriorityClass::P0, PriorityClass::P4);
  s.retry = read_retry();
  s.max_attempts = read_u32();
  s.lease_ms = in_.svarint();
  s.timeout_ms = in_.svarint();
  s.ttl_ms = in_.svarint();
  s.max_depth = in_.varint();
  s.payload_bytes_max = in_.varint();
  s.durability = read_enum(Durability::sync, Durability::interval);
  s.durability_interval_ms = in_.svarint();
  s.claim = read_enum(ClaimMode::ride, ClaimMode::sync);
  s.delivery = read_enum(DeliveryMode::at_least_once, DeliveryMode::at_most_once);
  s.order = read_enum(QueueOrder::priority, QueueOrder::fifo);
  s.completed_retention_ms = in_.svarint();
  s.completed_max = in_.varint();
  s.dead_retention_ms = in_.svarint();
  s.exhaustion = read_enum(ExhaustionPolicy::dead, ExhaustionPolicy::drop);
  return s;
}

RetryPolicy Decoder::read_retry() {
  RetryPolicy r;
  r.name = read_text();
  r.delays_ms.resize(read_count());
  for (std::int64_t& delay_ms : r.delays_ms) delay_ms = in_.svarint();
  r.base_ms = in_.svarint();
  r.factor = read_double();
  r.cap_ms = in_.svarint();
  r.jitter = read_double();
  r.max_attempts = read_u32();
  return r;
}

}  // namespace

std::string encode_answer(const Answer& answer) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  put_bool(out, answer.durable);
  put_bool(out, answer.replayed);
  std::visit(Encoder{out}, answer.outcome);
  return bytes;
}

Result<Answer> decode_answer(std::string_view bytes) {
  Answer answer;
  if (!Decoder(bytes).read(answer)) {
    return failure(ErrorCode::corruption, "a stored answer can't be read");
  }
  return answer;
}

}  // namespace weir::core
