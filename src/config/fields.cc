// SPDX-License-Identifier: Apache-2.0
// The tables of keys of [server], [defaults] and [queues.NAME].
#include "config/fields.h"

#include <fmt/format.h>

#include "base/text.h"

namespace weir::config {
namespace {

template <typename T, typename U>
Result<void> put(Result<T> value, U& into) {
  if (!value) return Failure(value.error());
  into = static_cast<U>(std::move(*value));
  return {};
}

template <typename T, typename U>
Result<void> put(Result<T> value, std::optional<U>& into) {
  if (!value) return Failure(value.error());
  into = static_cast<U>(std::move(*value));
  return {};
}

// One of a few words, in the order of an enum's values from 0.
template <typename E>
Result<void> put_word(const Value& value, std::initializer_list<std::string_view> words, E& into) {
  WEIR_TRY_ASSIGN(const std::string text, to_text(value));
  int index = 0;
  for (const std::string_view word : words) {
    if (text == word) {
      into = static_cast<E>(index);
      return {};
    }
    ++index;
  }
  return failure(ErrorCode::invalid_argument,
                 fmt::format("\"{}\" must be one of: {}", text, fmt::join(words, ", ")));
}

// A setting whose words the core knows.
template <auto Parse, typename T>
Result<void> put_parsed(const Value& value, std::optional<T>& into) {
  WEIR_TRY_ASSIGN(const std::string text, to_text(value));
  WEIR_TRY_ASSIGN(into, Parse(text));
  return {};
}

Result<void> put_durability(const Value& value, core::QueuePatch& patch) {
  WEIR_TRY_ASSIGN(const std::string text, to_text(value));
  return core::parse_durability(text, patch);
}

Result<void> put_class(const Value& value, core::QueuePatch& patch) {
  WEIR_TRY_ASSIGN(const std::string text, to_text(value));
  patch.priority_class = core::priority_class_from(text);
  if (patch.priority_class) return {};
  return failure(ErrorCode::invalid_argument,
                 fmt::format("\"{}\" must be P0, P1, P2, P3 or P4", text));
}

}  // namespace

const std::vector<Field<ServerConfig>>& server_fields() {
  static const std::vector<Field<ServerConfig>> fields = {
      {"listen", "\"127.0.0.1:7350\"",
       "address of the HTTP door; beyond loopback it needs tokens and TLS",
       [](const Value& v, ServerConfig& c) { return put(to_text(v), c.listen); }},
      {"probe_listen", "\"127.0.0.1:7351\"",
       "probes and metrics on a thread of their own; \"\" for none",
       [](const Value& v, ServerConfig& c) { return put(to_text(v), c.probe_listen); }},
      {"data", "\"./weir-data\"", "data directory ($STATE_DIRECTORY when systemd sets it)",
       [](const Value& v, ServerConfig& c) { return put(to_text(v), c.data); }},
      {"store", "\"journal\"", "journal, or memory (nothing survives a restart)",
       [](const Value& v, ServerConfig& c) { return put_word(v, {"journal", "memory"}, c.store); }},
      {"shutdown_grace", "\"30s\"", "how long a stopping server serves acks and extends",
       [](const Value& v, ServerConfig& c) { return put(to_duration_ms(v), c.shutdown_grace_ms); }},
      {"tokens", "\"auto\"",
       "auto: open on loopback until the first token exists; required: closed from the start",
       [](const Value& v, ServerConfig& c) { return put_word(v, {"auto", "required"}, c.tokens); }},
      {"tls_cert", "\"\"", "PEM file with the certificate chain",
       [](const Value& v, ServerConfig& c) { return put(to_text(v), c.tls_cert); }},
      {"tls_key", "\"\"", "PEM file with its key",
       [](const Value& v, ServerConfig& c) { return put(to_text(v), c.tls_key); }},
      {"insecure_plaintext", "false", "allow an address beyond loopback without TLS",
       [](const Value& v, ServerConfig& c) { return put(to_bool(v), c.insecure_plaintext); }},
      {"allowed_hosts", "[]", "Host headers accepted besides localhost and loopback addresses",
       [](const Value& v, ServerConfig& c) { return put(to_texts(v), c.allowed_hosts); }},
      {"allowed_origins", "[]", "web origins that may call from a browser",
       [](const Value& v, ServerConfig& c) { return put(to_texts(v), c.allowed_origins); }},
      {"disk_max", "0", "most that the data directory may take; 0: what the disk has",
       [](const Value& v, ServerConfig& c) { return put(to_bytes(v), c.disk_max_bytes); }},
      {"cache", "\"64MiB\"", "memory for payloads of the newest jobs",
       [](const Value& v, ServerConfig& c) { return put(to_bytes(v), c.cache_bytes); }},
  };
  return fields;
}

const std::vector<Field<DoorsConfig>>& door_fields() {
  static const std::vector<Field<DoorsConfig>> fields = {
      {"beanstalk", "\"\"",
       "address of the beanstalkd door, \"127.0.0.1:11300\" or \"unix:/path\"; \"\" for none",
       [](const Value& v, DoorsConfig& c) { return put(to_text(v), c.beanstalk); }},
      {"beanstalk_job_max", "65535", "largest job that it takes; at most 1MiB",
       [](const Value& v, DoorsConfig& c) -> Result<void> {
         WEIR_TRY_ASSIGN(const std::uint64_t bytes, to_bytes(v));
         if (bytes > core::kPayloadBytesMax)
           return failure(ErrorCode::invalid_argument, "must be at most 1MiB");
         c.beanstalk_job_max_bytes = bytes;
         return {};
       }},
  };
  return fields;
}

std::vector<Field<core::QueuePatch>> queue_fields(const RetryTable& retries) {
  using Patch = core::QueuePatch;
  return {
      {"class", "\"P2\"", "P0 (critical) to P4 (background)", put_class},
      {"retry", "\"ladder\"",
       "ladder, exp2, a [retry.NAME], or { base, factor, cap, jitter } or { delays = [..] }",
       [retries](const Value& v, Patch& p) { return put(to_retry(v, retries), p.retry); }},
      {"max_attempts", "6", "bound on charged attempts",
       [](const Value& v, Patch& p) {
         return put(to_count(v, core::kMaxAttemptsMax), p.max_attempts);
       }},
      {"lease", "\"60s\"", "how long a worker holds a job without extending",
       [](const Value& v, Patch& p) { return put(to_duration_ms(v), p.lease_ms); }},
      {"timeout", "\"0s\"", "longest run of one attempt; 0s: no bound",
       [](const Value& v, Patch& p) { return put(to_duration_ms(v), p.timeout_ms); }},
      {"ttl", "\"0s\"", "start a job within this time or not at all; 0s: no bound",
       [](const Value& v, Patch& p) { return put(to_duration_ms(v), p.ttl_ms); }},
      {"max_depth", "0", "most waiting jobs; enqueue then gets 429; 0: no bound",
       [](const Value& v, Patch& p) { return put(to_count(v, core::kMaxDepthMax), p.max_depth); }},
      {"payload_max", "\"1MiB\"", "largest payload",
       [](const Value& v, Patch& p) { return put(to_bytes(v), p.payload_bytes_max); }},
      {"durability", "\"sync\"", "sync, or interval:<ms> (answers say durable: false)",
       put_durability},
      {"claim", "\"ride\"",
       "ride: a claim is on disk with the next sync; sync: before the job leaves",
       [](const Value& v, Patch& p) { return put_parsed<core::parse_claim_mode>(v, p.claim); }},
      {"delivery", "\"at_least_once\"", "at_least_once, or at_most_once (the claim is the ack)",
       [](const Value& v, Patch& p) {
         return put_parsed<core::parse_delivery_mode>(v, p.delivery);
       }},
      {"order", "\"priority\"", "priority, deadline (start SLA first) or fifo (strict)",
       [](const Value& v, Patch& p) { return put_parsed<core::parse_queue_order>(v, p.order); }},
      {"completed_retention", "\"1d\"", "how long completed jobs are kept",
       [](const Value& v, Patch& p) { return put(to_duration_ms(v), p.completed_retention_ms); }},
      {"completed_max", "1000", "how many completed jobs are kept",
       [](const Value& v, Patch& p) {
         return put(to_count(v, core::kEndedJobsMax), p.completed_max);
       }},
      {"dead_retention", "\"30d\"", "how long dead letters are kept",
       [](const Value& v, Patch& p) { return put(to_duration_ms(v), p.dead_retention_ms); }},
  };
}

}  // namespace weir::config
