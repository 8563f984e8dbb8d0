// SPDX-License-Identifier: Apache-2.0
#include "doors/http/map.h"

#include <fmt/format.h>

#include "doors/http/reply.h"

namespace weir::doors::http {
namespace {

using core::Answer;

void write_moved(JsonWriter& out, const core::Moved& moved) {
  out.text("status", core::to_string(moved.state));
  if (moved.retry_after_ms > 0 || moved.state == core::JobState::failed) {
    out.duration("retry_after", moved.retry_after_ms)
        .number("retry_after_ms", moved.retry_after_ms);
  }
  if (moved.run_at.is_set()) out.time("run_at", moved.run_at);
  if (!moved.reason.empty()) out.text("reason", moved.reason);
  if (moved.version != 0) out.count("version", moved.version);
}

// Answers an outcome in the members of an open object; the status and headers go to `response`.
class Writer {
 public:
  Writer(HttpResponse& response, JsonWriter& out, const Answer& answer,
         const AnswerContext& context)
      : response_(response), out_(out), answer_(answer), context_(context) {}

  void operator()(const core::Nothing&) {}

  void operator()(const core::Enqueued& enqueued) {
    response_.status = 202;
    if (context_.is_batch) {
      out_.key("ids").begin_array();
      for (const core::JobId id : enqueued.ids) out_.id(id.value);
      out_.end_array().key("duplicates").begin_array();
      for (const std::uint32_t index : enqueued.duplicates) out_.count(index);
      out_.end_array().text("queue", context_.queue);
    } else {
      const core::JobId id = enqueued.ids.empty() ? core::JobId{} : enqueued.ids.front();
      const bool is_duplicate = !enqueued.duplicates.empty();
      if (is_duplicate) response_.status = 200;
      response_.headers.emplace_back("Location", job_url(id));
      out_.id("id", id.value)
          .text("status", core::to_string(enqueued.first_state))
          .text("queue", context_.queue);
      out_.text("status_url", job_url(id)).flag("duplicate", is_duplicate);
    }
    out_.flag("durable", answer_.durable);
  }

  // Claims are handed out as deliveries; these two never leave the engine.
  void operator()(const core::Claimed&) { response_.status = 500; }
  void operator()(const core::NotClaimable&) { response_.status = 500; }

  void operator()(const core::Moved& moved) {
    out_.id("id", moved.job.value);
    write_moved(out_, moved);
    if (moved.version != 0) response_.headers.emplace_back("ETag", entity_tag(moved.version));
    mark_durability();
  }

  void operator()(const core::Extended& extended) {
    out_.id("id", extended.job.value).text("status", core::to_string(core::JobState::processing));
    const bool has_deadline =
        extended.lease_expires_at.is_set() && extended.lease_expires_at <= kWallTimeMax;
    out_.time("lease_expires_at", has_deadline ? extended.lease_expires_at : WallTime::none());
    mark_durability();
  }

  void operator()(const core::Removed& removed) {
    out_.count("removed", removed.count);
    mark_durability();
  }

  void operator()(const core::QueueChanged& changed) {
    response_.status = changed.created ? 201 : 200;
    write_queue_settings(out_, changed.queue);
    out_.flag("created", changed.created).key("warnings").begin_array();
    for (const std::string& warning : changed.warnings) out_.text(warning);
    out_.end_array();
    mark_durability();
  }

  void operator()(const core::TokenChanged& changed) {
    out_.text("id", changed.id);
    mark_durability();
  }

  void operator()(const core::Kicked& kicked) {
    out_.count("count", kicked.count);
    mark_durability();
  }
  void operator()(const Error&) {}  // taken before

 private:
  // The weaker mode is said in every answer; the strong one only where api.md has it.
  void mark_durability() {
    if (!answer_.durable) out_.flag("durable", false);
  }

  HttpResponse& response_;
  JsonWriter& out_;
  const Answer& answer_;
  const AnswerContext& context_;
};

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::unauthenticated:
      return 401;
    case ErrorCode::permission_denied:
      return 403;
    case ErrorCode::invalid_argument:
      return 400;
    case ErrorCode::too_large:
      return 413;
    case ErrorCode::unsupported_media_type:
      return 415;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::gone:
      return 410;
    case ErrorCode::lease_lost:
      return 409;
    case ErrorCode::idempotency_mismatch:
      return 422;
    case ErrorCode::conflict:
      return 409;
    case ErrorCode::queue_saturated:
      return 429;
    case ErrorCode::rate_limited:
      return 429;
    case ErrorCode::store_full:
      return 507;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::corruption:
      return 500;
    case ErrorCode::io_error:
      return 500;
    case ErrorCode::unsupported:
      return 501;
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

HttpResponse to_response(const Answer& answer, const AnswerContext& context) {
  HttpResponse response;
  if (const auto* error = std::get_if<Error>(&answer.outcome)) {
    response = problem(*error);
  } else {
    JsonWriter out(response.body);
    out.begin_object();
    std::visit(Writer(response, out, answer, context), answer.outcome);
    out.end_object();
    if (response.status == 500)
      response = problem(Error{.code = ErrorCode::internal, .detail = "unexpected outcome"});
  }
  if (answer.replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
  return response;
}

void write_item(JsonWriter& out, core::JobId id, const Answer& answer) {
  out.begin_object();
  if (const auto* error = std::get_if<Error>(&answer.outcome)) {
    out.id("id", id.value).key("error");
    write_problem(out, *error, http_status(error->code));
  } else {
    HttpResponse ignored;
    std::visit(Writer(ignored, out, answer, {}), answer.outcome);
  }
  out.end_object();
}

}  // namespace weir::doors::http
