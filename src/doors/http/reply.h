// SPDX-License-Identifier: Apache-2.0
// Answers as bytes: JSON of jobs, queues, deliveries and tokens, and problem+json errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/http_message.h"
#include "core/change.h"
#include "doors/http/json_writer.h"
#include "doors/http/verbs.h"
#include "engine/engine.h"

namespace weir::doors::http {

// The headers that every answer has.
void finish(HttpResponse& response);

HttpResponse json_response(int status, std::string body);

// application/problem+json; the status of the error's code unless another is given. Adds
// Retry-After when a repeat may work.
HttpResponse problem(const Error& error, int status = 0);
// A body over the route's limit, before it is read. A payload hears how to hand over a reference
// instead.
HttpResponse too_large(const Route& route, std::uint64_t declared_bytes);
// The same object, for an item inside a list.
void write_problem(JsonWriter& out, const Error& error, int status);

// The entity tag of a version: "7" with quotes.
std::string entity_tag(std::uint64_t version);
std::string job_url(core::JobId id);

// What hangs on a job when it is shown.
struct JobParts {
  const core::JobBody* body = nullptr;
  const std::string* result = nullptr;
  const std::vector<core::AttemptRecord>* history = nullptr;
};
void write_job(JsonWriter& out, const engine::JobView& view, const JobParts& parts);

// `payload` when the content type is JSON and so is the text, else `payload_base64`; content_type
// and headers.
void write_body(JsonWriter& out, const core::JobBody& body);

// `timeout_ms`: how long this attempt may run, 0: no bound.
void write_delivery(JsonWriter& out, const engine::Delivery& delivery, std::int64_t timeout_ms);

void write_queue_settings(JsonWriter& out, const core::Queue& queue);
// Settings, counts by state and oldest age. `now` dates the age.
void write_queue(JsonWriter& out, const engine::QueueView& view, WallTime now);

void write_token(JsonWriter& out, const core::ApiToken& token, WallTime now);
void write_audit(JsonWriter& out, const core::AuditRecord& record);
void write_event(JsonWriter& out, const core::Event& event, std::string_view queue_name);

}  // namespace weir::doors::http
