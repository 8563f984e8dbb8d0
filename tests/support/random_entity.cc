// SPDX-License-Identifier: Apache-2.0
#include "support/random_entity.h"

#include <limits>
#include <memory>

namespace weir::test {

namespace {

template <typename Enum>
Enum random_enum(Prng& prng, Enum low, Enum high) {
  return static_cast<Enum>(
      prng.between(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
}

// Small numbers, extremes and anything between, with equal weight.
std::uint64_t number(Prng& prng, std::uint64_t max) {
  switch (prng.up_to(4)) {
    case 0:
      return 0;
    case 1:
      return max;
    case 2:
      return prng.up_to(max);
    default:
      return prng.up_to(std::min<std::uint64_t>(max, 300));
  }
}

std::uint32_t number32(Prng& prng) {
  return static_cast<std::uint32_t>(number(prng, std::numeric_limits<std::uint32_t>::max()));
}
std::uint64_t number64(Prng& prng) {
  return number(prng, std::numeric_limits<std::uint64_t>::max());
}
std::int64_t signed64(Prng& prng) { return static_cast<std::int64_t>(number64(prng)); }
std::int32_t signed32(Prng& prng) { return static_cast<std::int32_t>(number32(prng)); }

template <typename Time>
Time instant(Prng& prng) {
  switch (prng.up_to(4)) {
    case 0:
      return Time::none();
    case 1:
      return Time::never();
    case 2:
      return Time{signed64(prng)};
    default:
      return Time{1'800'000'000'000 + prng.between(-1'000'000, 1'000'000)};
  }
}

std::vector<std::string> texts(Prng& prng, std::uint64_t count_max) {
  std::vector<std::string> out;
  for (std::uint64_t left = prng.up_to(count_max); left > 0; --left) {
    out.push_back(random_text(prng, 20));
  }
  return out;
}

core::Lease random_lease(Prng& prng) {
  core::Lease lease;
  lease.started_at = instant<StoreTime>(prng);
  lease.deadline_at = instant<StoreTime>(prng);
  lease.worker_id = random_text(prng, 20);
  lease.owner = random_enum(prng, core::OwnerKind::none, core::OwnerKind::connection);
  lease.connection = number64(prng);
  lease.boot = number64(prng);
  lease.progress_percent = static_cast<std::uint8_t>(prng.up_to(100));
  lease.progress_message = random_text(prng, 40);
  return lease;
}

std::shared_ptr<const core::JobOptions> random_options(Prng& prng) {
  auto options = std::make_shared<core::JobOptions>();
  if (prng.one_in(2)) options->max_attempts = number32(prng);
  if (prng.one_in(2)) options->retry = random_retry(prng);
  if (prng.one_in(2)) options->lease_ms = signed64(prng);
  if (prng.one_in(2)) options->timeout_ms = signed64(prng);
  return options;
}

Hash128 random_hash(Prng& prng) { return Hash128{prng.next(), prng.next()}; }

}  // namespace

std::string random_text(Prng& prng, std::size_t bytes_max) {
  std::string text(prng.one_in(3) ? 0 : prng.up_to(bytes_max), '\0');
  for (char& c : text) c = static_cast<char>(prng.up_to(255));
  return text;
}

core::RetryPolicy random_retry(Prng& prng) {
  core::RetryPolicy policy;
  policy.name = random_text(prng, 10);
  for (std::uint64_t left = prng.up_to(4); left > 0; --left) {
    policy.delays_ms.push_back(signed64(prng));
  }
  policy.base_ms = signed64(prng);
  policy.factor = static_cast<double>(prng.up_to(1000)) / 7;
  policy.cap_ms = signed64(prng);
  policy.jitter = static_cast<double>(prng.up_to(1000)) / 999;
  policy.max_attempts = number32(prng);
  return policy;
}

core::Job random_job(Prng& prng) {
  core::Job job;
  job.id.value = number64(prng);
  job.queue.value = number32(prng);
  job.state = random_enum(prng, core::JobState::scheduled, core::JobState::expired);
  job.priority_class = random_enum(prng, core::PriorityClass::P0, core::PriorityClass::P4);
  job.last_verb = random_enum(prng, core::Verb::enqueue, core::Verb::purge);
  job.priority = signed32(prng);
  job.rank = prng.one_in(2) ? static_cast<std::int64_t>(job.id.value) : signed64(prng);
  job.version = number64(prng);
  job.kind = random_text(prng, 20);
  job.group = random_text(prng, 20);
  job.limit_key = random_text(prng, 20);
  job.unique_key = random_text(prng, 20);
  job.external_id = random_text(prng, 20);
  job.tags = texts(prng, 4);
  if (prng.one_in(3)) job.options = random_options(prng);
  job.created_at = instant<WallTime>(prng);
  job.run_at = prng.one_in(2) ? job.created_at : instant<WallTime>(prng);
  job.due_at = instant<StoreTime>(prng);
  job.expires_at = instant<StoreTime>(prng);
  job.claimed_at = instant<WallTime>(prng);
  job.completed_at = instant<WallTime>(prng);
  job.dead_at = instant<WallTime>(prng);
  job.ended_at = instant<StoreTime>(prng);
  job.ttl_ms = signed64(prng);
  job.attempt = number32(prng);
  job.budget_start = number32(prng);
  job.excused_count = number32(prng);
  job.excused_since = number32(prng);
  job.counters = {.failures = number32(prng),
                  .timeouts = number32(prng),
                  .releases = number32(prng),
                  .buries = number32(prng),
                  .kicks = number32(prng)};
  job.dead_reason = random_text(prng, 40);
  job.has_history = prng.one_in(2);
  job.has_result = prng.one_in(2);
  if (prng.one_in(2)) job.lease = random_lease(prng);
  job.source_queue.value = number32(prng);
  job.original_enqueued_at = instant<WallTime>(prng);
  job.deadline_at = instant<WallTime>(prng);
  job.created_by = random_text(prng, 20);
  job.encryption_key = number32(prng);
  job.payload_bytes = number32(prng);
  return job;
}

core::JobBody random_body(Prng& prng) {
  core::JobBody body;
  body.payload = random_text(prng, 200);
  if (prng.one_in(2)) body.content_type = random_text(prng, 20);
  body.content_encoding = random_text(prng, 10);
  for (std::uint64_t left = prng.up_to(3); left > 0; --left) {
    body.headers.emplace_back(random_text(prng, 10), random_text(prng, 30));
  }
  body.payload_reference = number64(prng);
  return body;
}

core::AttemptRecord random_attempt(Prng& prng) {
  core::AttemptRecord attempt;
  attempt.attempt = number32(prng);
  attempt.worker_id = random_text(prng, 20);
  attempt.started_at = instant<WallTime>(prng);
  attempt.ended_at = instant<WallTime>(prng);
  attempt.outcome =
      random_enum(prng, core::AttemptOutcome::completed, core::AttemptOutcome::undelivered);
  attempt.error = {.error_class = random_text(prng, 10),
                   .code = random_text(prng, 10),
                   .http_status = signed32(prng),
                   .message = random_text(prng, 100)};
  attempt.reason = random_text(prng, 20);
  return attempt;
}

core::Queue random_queue(Prng& prng) {
  core::Queue queue;
  queue.id.value = number32(prng);
  queue.namespace_id = number32(prng);
  queue.name = random_text(prng, 30);
  core::QueueSettings& settings = queue.settings;
  settings.priority_class = random_enum(prng, core::PriorityClass::P0, core::PriorityClass::P4);
  settings.retry = random_retry(prng);
  settings.max_attempts = number32(prng);
  settings.lease_ms = signed64(prng);
  settings.timeout_ms = signed64(prng);
  settings.ttl_ms = signed64(prng);
  settings.max_depth = number64(prng);
  settings.payload_bytes_max = number64(prng);
  settings.durability = random_enum(prng, core::Durability::sync, core::Durability::interval);
  settings.durability_interval_ms = signed64(prng);
  settings.claim = random_enum(prng, core::ClaimMode::ride, core::ClaimMode::sync);
  settings.delivery =
      random_enum(prng, core::DeliveryMode::at_least_once, core::DeliveryMode::at_most_once);
  settings.order = random_enum(prng, core::QueueOrder::priority, core::QueueOrder::fifo);
  settings.completed_retention_ms = signed64(prng);
  settings.completed_max = number64(prng);
  settings.dead_retention_ms = signed64(prng);
  settings.exhaustion =
      random_enum(prng, core::ExhaustionPolicy::dead, core::ExhaustionPolicy::drop);
  queue.paused = prng.one_in(2);
  queue.draining = prng.one_in(2);
  queue.is_deleted = prng.one_in(2);
  queue.version = number64(prng);
  queue.created_at = instant<WallTime>(prng);
  queue.created_by = random_text(prng, 20);
  return queue;
}

core::UniqueKey random_unique_key(Prng& prng) {
  return {.queue = {number32(prng)},
          .key = random_text(prng, 20),
          .job = {number64(prng)},
          .until = instant<StoreTime>(prng)};
}

core::GroupLock random_group_lock(Prng& prng) {
  return {.queue = {number32(prng)}, .group = random_text(prng, 20), .holder = {number64(prng)}};
}

core::IdempotencyEntry random_idempotency(Prng& prng) {
  return {.scope = random_hash(prng),
          .request = random_hash(prng),
          .expires_at = instant<StoreTime>(prng),
          .answer = random_text(prng, 100)};
}

core::ApiToken random_token(Prng& prng) {
  core::ApiToken token;
  token.id = random_text(prng, 15);
  token.name = random_text(prng, 20);
  for (std::uint8_t& byte : token.secret_sha256) byte = static_cast<std::uint8_t>(prng.up_to(255));
  token.scopes = static_cast<std::uint8_t>(prng.up_to(31));
  token.queues = texts(prng, 4);
  token.namespace_id = number32(prng);
  token.created_at = instant<WallTime>(prng);
  token.expires_at = instant<WallTime>(prng);
  token.is_revoked = prng.one_in(2);
  token.created_by = random_text(prng, 20);
  return token;
}

core::AuditRecord random_audit(Prng& prng) {
  return {.at = instant<WallTime>(prng),
          .principal = random_text(prng, 20),
          .action = random_text(prng, 20),
          .subject = random_text(prng, 20),
          .reason = random_text(prng, 50)};
}

core::Job full_job(core::JobId id, core::QueueId queue, core::JobState state) {
  core::Job job;
  job.id = id;
  job.queue = queue;
  job.state = state;
  job.priority_class = core::PriorityClass::P3;
  job.last_verb = core::Verb::edit;
  job.priority = -17;
  job.rank = -4'000'000'000;
  job.version = 77;
  job.kind = "resize";
  job.group = "customer-7";
  job.limit_key = "tenant-3";
  job.unique_key = "order-" + std::to_string(id.value);
  job.external_id = "external-" + std::to_string(id.value);
  job.tags = {"blue", "nightly"};
  job.options = std::make_shared<core::JobOptions>(core::JobOptions{
      .max_attempts = 9, .retry = core::exp2_policy(), .lease_ms = 45'000, .timeout_ms = 600'000});
  job.created_at = WallTime{1'800'000'000'123};
  job.run_at = WallTime{1'800'000'060'456};
  job.due_at = StoreTime{4'000'000'000'001};
  job.expires_at = StoreTime{5'000'000'000'002};
  job.claimed_at = WallTime{1'800'000'070'789};
  job.completed_at = core::is_ended(state) ? WallTime{1'800'000'080'001} : WallTime::none();
  job.dead_at = state == core::JobState::dead ? job.completed_at : WallTime::none();
  job.ended_at = core::is_ended(state) ? StoreTime{4'000'000'000'500} : StoreTime::none();
  job.ttl_ms = 86'400'000;
  job.attempt = 5;
  job.budget_start = 2;
  job.excused_count = 2;
  job.excused_since = 1;
  job.counters = {.failures = 3, .timeouts = 1, .releases = 2, .buries = 4, .kicks = 6};
  job.dead_reason = state == core::JobState::dead ? "business: no such order" : "";
  job.source_queue = {queue.value + 1};
  job.original_enqueued_at = WallTime{1'799'999'999'999};
  job.deadline_at = WallTime{1'900'000'000'000};
  job.created_by = "wt_0123456789ab";
  job.encryption_key = 11;
  job.payload_bytes = static_cast<std::uint32_t>(full_body().payload.size());
  return job;
}

core::JobBody full_body() {
  core::JobBody body;
  body.payload = std::string("\x00\xff raw bytes", 12);
  body.content_type = "application/octet-stream";
  body.content_encoding = "zstd";
  body.headers = {{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
                  {"x-empty", ""}};
  body.payload_reference = 0;
  return body;
}

core::Queue full_queue(core::QueueId id, std::string name) {
  core::Queue queue;
  queue.id = id;
  queue.namespace_id = 4;
  queue.name = std::move(name);
  queue.settings = {.priority_class = core::PriorityClass::P1,
                    .retry = core::exp2_policy(),
                    .max_attempts = 4,
                    .lease_ms = 90'000,
                    .timeout_ms = 700'000,
                    .ttl_ms = 800'000,
                    .max_depth = 5000,
                    .payload_bytes_max = 70'000,
                    .durability = core::Durability::interval,
                    .durability_interval_ms = 250,
                    .claim = core::ClaimMode::sync,
                    .delivery = core::DeliveryMode::at_most_once,
                    .order = core::QueueOrder::deadline,
                    .completed_retention_ms = 3'600'000,
                    .completed_max = 50,
                    .dead_retention_ms = 7'200'000,
                    .exhaustion = core::ExhaustionPolicy::drop};
  queue.paused = true;
  queue.draining = true;
  queue.version = 1;
  queue.created_at = WallTime{1'800'000'000'000};
  queue.created_by = "local";
  return queue;
}

}  // namespace weir::test
