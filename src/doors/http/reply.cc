// SPDX-License-Identifier: Apache-2.0
#include "doors/http/reply.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "doors/http/json.h"
#include "doors/http/map.h"
#include "doors/http/parser.h"

namespace weir::doors::http {
namespace {

void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name).begin_array();
  for (const std::string& text : texts) out.text(text);
  out.end_array();
}

void write_attempt(JsonWriter& out, const core::AttemptRecord& record) {
  out.begin_object();
  out.count("attempt", record.attempt).text_or_null("worker_id", record.worker_id);
  out.time("started_at", record.started_at).time("ended_at", record.ended_at);
  out.text("outcome", core::to_string(record.outcome));
  const core::JobError& error = record.error;
  if (error == core::JobError{}) {
    out.null("error");
  } else {
    out.key("error").begin_object();
    if (!error.error_class.empty()) out.text("class", error.error_class);
    if (!error.code.empty()) out.text("code", error.code);
    if (error.http_status != 0) out.number("http_status", error.http_status);
    out.text("message", error.message).end_object();
  }
  out.text_or_null("reason", record.reason);
  out.end_object();
}

void write_retry(JsonWriter& out, const core::RetryPolicy& policy) {
  out.key("retry").begin_object();
  if (!policy.name.empty()) out.text("name", policy.name);
  if (!policy.delays_ms.empty()) {
    out.key("delays").begin_array();
    for (const std::int64_t delay_ms : policy.delays_ms) out.text(format_duration(delay_ms));
    out.end_array();
  } else {
    out.duration("base", policy.base_ms).raw("factor", fmt::format("{}", policy.factor));
  }
  out.duration("cap", policy.cap_ms).raw("jitter", fmt::format("{}", policy.jitter));
  out.count("max_attempts", policy.max_attempts).end_object();
}

}  // namespace

void finish(HttpResponse& response) {
  response.headers.emplace_back("Cache-Control", "no-store");
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
}

HttpResponse json_response(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.body = std::move(body);
  return response;
}

void write_problem(JsonWriter& out, const Error& error, int status) {
  const ErrorInfo& info = error_info(error.code);
  out.begin_object();
  out.text("type", fmt::format("urn:weir:error:{}", info.text))
      .text("title", info.title)
      .number("status", status);
  if (!error.detail.empty()) out.text("detail", error.detail);
  out.text("code", info.text);
  if (error.depth >= 0) out.number("depth", error.depth);
  if (error.max_depth >= 0) out.number("max_depth", error.max_depth);
  if (error.retry_after_ms > 0) out.number("retry_after_ms", error.retry_after_ms);
  out.end_object();
}

HttpResponse problem(const Error& error, int status) {
  HttpResponse response;
  response.status = status != 0 ? status : http_status(error.code);
  response.content_type = "application/problem+json";
  JsonWriter out(response.body);
  write_problem(out, error, response.status);
  if (error.retry_after_ms > 0 || error_info(error.code).retry == RetryAdvice::later) {
    // Whole seconds, rounded up: never invites a repeat that comes too early.
    const std::int64_t seconds =
        std::max<std::int64_t>(1, (error.retry_after_ms + kMsPerSecond - 1) / kMsPerSecond);
    response.headers.emplace_back("Retry-After", fmt::format("{}", seconds));
  }
  if (error.code == ErrorCode::unauthenticated)
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"weir\"");
  return response;
}

HttpResponse too_large(const Route& route, std::uint64_t declared_bytes) {
  std::string detail = fmt::format("the body has {} and may have at most {}",
                                   format_size(declared_bytes), format_size(route.body_bytes_max));
  if (route.request == "NewJob" || route.request == "JobEdit") {
    detail += fmt::format(
        "; a payload has at most {}: store larger data elsewhere and enqueue a reference to it (a "
        "URL or a key)",
        format_size(core::kPayloadBytesMax));
  }
  return problem(Error{.code = ErrorCode::too_large, .detail = std::move(detail)});
}

std::string entity_tag(std::uint64_t version) { return fmt::format("\"{}\"", version); }

std::string job_url(core::JobId id) { return fmt::format("/v1/jobs/{}", id.value); }

void write_body(JsonWriter& out, const core::JobBody& body) {
  const bool is_json_named = body.type().find("json") != std::string_view::npos;
  if (is_json_named && body.content_encoding.empty() && is_json(body.payload)) {
    out.raw("payload", trim(body.payload));
  } else {
    out.text("payload_base64", base64_encode(body.payload));
  }
  out.text("content_type", body.type());
  if (!body.content_encoding.empty()) out.text("content_encoding", body.content_encoding);
  out.key("headers").begin_object();
  for (const auto& [name, value] : body.headers) out.text(name, value);
  out.end_object();
}

void write_job(JsonWriter& out, const engine::JobView& view, const JobParts& parts) {
  const core::Job& job = view.job;
  out.begin_object();
  out.id("id", job.id.value)
      .text("queue", view.queue_name)
      .text("status", core::to_string(job.state));
  out.text_or_null("kind", job.kind)
      .text("class", core::to_string(job.priority_class))
      .number("priority", job.priority);
  out.count("attempts", job.attempt)
      .count("max_attempts", view.max_attempts)
      .count("charged_attempts", job.charged());
  out.text_or_null("last_error", view.last_error).text_or_null("reason", job.dead_reason);
  out.time("created_at", job.created_at)
      .time("run_at", job.run_at)
      .time("claimed_at", job.claimed_at);
  out.time("completed_at", job.completed_at)
      .time("dead_at", job.dead_at)
      .time("retry_after", view.retry_after);
  out.time("lease_expires_at", view.lease_expires_at);
  out.text_or_null("worker_id",
                   job.lease ? std::string_view(job.lease->worker_id) : std::string_view());
  if (job.lease && (job.lease->progress_percent != 0 || !job.lease->progress_message.empty())) {
    out.key("progress").begin_object().count("percent", job.lease->progress_percent);
    out.text_or_null("message", job.lease->progress_message).end_object();
  }
  write_texts(out, "tags", job.tags);
  out.text_or_null("group", job.group)
      .text_or_null("key", job.limit_key)
      .text_or_null("unique_key", job.unique_key);
  if (job.ttl_ms > 0) out.duration("ttl", job.ttl_ms);
  out.text_or_null("created_by", job.created_by)
      .count("payload_bytes", job.payload_bytes)
      .count("version", job.version);
  out.flag("has_result", job.has_result);
  if (parts.body != nullptr) write_body(out, *parts.body);
  if (parts.result != nullptr) {
    if (is_json(*parts.result)) {
      out.raw("result", trim(*parts.result));
    } else {
      out.text("result_base64", base64_encode(*parts.result));
    }
  }
  if (parts.history != nullptr) {
    out.key("history").begin_array();
    for (const core::AttemptRecord& record : *parts.history) write_attempt(out, record);
    out.end_array();
  }
  out.end_object();
}

void write_delivery(JsonWriter& out, const engine::Delivery& delivery, std::int64_t timeout_ms) {
  const core::Job& job = delivery.job;
  out.begin_object();
  out.id("id", job.id.value).text("queue", delivery.queue_name).text_or_null("kind", job.kind);
  out.text("class", core::to_string(job.priority_class));
  write_body(out, delivery.body);
  out.count("attempt", delivery.claimed.token.attempt)
      .count("max_attempts", delivery.claimed.max_attempts);
  out.count("fence", delivery.claimed.fence)
      .text("lease_token", core::to_string(delivery.claimed.token));
  const bool has_deadline =
      delivery.lease_expires_at.is_set() && delivery.lease_expires_at <= kWallTimeMax;
  out.time("lease_expires_at", has_deadline ? delivery.lease_expires_at : WallTime::none());
  out.time("created_at", job.created_at);
  if (timeout_ms > 0) out.duration("timeout", timeout_ms);
  if (!job.group.empty()) out.text("group", job.group);
  if (!job.tags.empty()) write_texts(out, "tags", job.tags);
  out.end_object();
}

void write_queue_settings(JsonWriter& out, const core::Queue& queue) {
  const core::QueueSettings& s = queue.settings;
  out.text("name", queue.name).text("class", core::to_string(s.priority_class));
  write_retry(out, s.retry);
  out.count("max_attempts", s.max_attempts)
      .duration("lease", s.lease_ms)
      .duration("timeout", s.timeout_ms);
  out.duration("ttl", s.ttl_ms)
      .count("max_depth", s.max_depth)
      .count("payload_max", s.payload_bytes_max);
  out.text("durability", core::durability_text(s)).text("claim", core::to_string(s.claim));
  out.text("delivery", core::to_string(s.delivery)).text("order", core::to_string(s.order));
  out.duration("completed_retention", s.completed_retention_ms)
      .count("completed_max", s.completed_max);
  out.duration("dead_retention", s.dead_retention_ms)
      .flag("paused", queue.paused)
      .flag("draining", queue.draining);
  out.text("dead_letter_queue", queue.name + std::string(core::kDeadLetterSuffix));
  out.time("created_at", queue.created_at)
      .text_or_null("created_by", queue.created_by)
      .count("version", queue.version);
}

void write_queue(JsonWriter& out, const engine::QueueView& view, WallTime now) {
  out.begin_object();
  write_queue_settings(out, view.queue);
  out.key("counts").begin_object();
  for (const core::JobState state : core::kJobStates)
    out.count(core::to_string(state), view.stats.counts.of(state));
  out.end_object();
  out.count("depth", view.stats.counts.waiting()).count("total", view.stats.counts.total());
  const WallTime oldest = view.stats.oldest_pending_since;
  out.time("oldest_pending_since", oldest);
  // A wall clock that stepped back must not give a negative age.
  if (oldest.is_set()) {
    const std::int64_t age_ms = std::max<std::int64_t>(0, now.since(oldest));
    out.duration("oldest_age", age_ms).number("oldest_age_ms", age_ms);
  } else {
    out.null("oldest_age").null("oldest_age_ms");
  }
  out.end_object();
}

void write_token(JsonWriter& out, const core::ApiToken& token, WallTime now) {
  out.text("id", token.id).text_or_null("name", token.name);
  out.key("scopes").begin_array();
  for (const core::Scope scope : {core::Scope::enqueue, core::Scope::work, core::Scope::read,
                                  core::Scope::operate, core::Scope::admin}) {
    if ((token.scopes & static_cast<std::uint8_t>(scope)) != 0) out.text(core::to_string(scope));
  }
  out.end_array();
  write_texts(out, "queues", token.queues);
  out.count("namespace", token.namespace_id)
      .time("created_at", token.created_at)
      .time("expires_at", token.expires_at);
  out.text_or_null("created_by", token.created_by).flag("revoked", token.is_revoked);
  out.flag("expired", token.expires_at.is_set() && token.expires_at <= now);
}

void write_audit(JsonWriter& out, const core::AuditRecord& record) {
  out.begin_object();
  out.time("at", record.at).text("principal", record.principal).text("action", record.action);
  out.text("subject", record.subject).text_or_null("reason", record.reason).end_object();
}

void write_event(JsonWriter& out, const core::Event& event, std::string_view queue_name) {
  out.begin_object();
  out.text("event", event.verb == core::Verb::erase ? std::string_view("delete")
                                                    : core::to_string(event.verb));
  out.id("job_id", event.job.value).text("queue", queue_name).text_or_null("kind", event.kind);
  if (event.from) {
    out.text("from", core::to_string(*event.from));
  } else {
    out.null("from");
  }
  if (event.to) {
    out.text("to", core::to_string(*event.to));
  } else {
    out.null("to");
  }
  out.time("at", event.at).count("attempt", event.attempt);
  if (event.waited_ms >= 0) out.number("waited_ms", event.waited_ms);
  if (event.ran_ms >= 0) out.number("ran_ms", event.ran_ms);
  out.end_object();
}

}  // namespace weir::doors::http
