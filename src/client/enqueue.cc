// SPDX-License-Identifier: Apache-2.0
// The producer's side of the client.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/digest.h"
#include "base/text.h"
#include "client/client.h"
#include "client/json_slice.h"

namespace weir::client {
namespace {

namespace json = boost::json;

void add_text(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format(",\"{}\":", name);
  append_json_string(out, value);
}
template <typename T>
void add_number(std::string& out, std::string_view name, const std::optional<T>& value) {
  if (value) out += fmt::format(",\"{}\":{}", name, *value);
}

}  // namespace

std::string job_json(const NewJob& job) {
  std::string out = "{";
  const bool says_json =
      job.content_type.empty() || job.content_type.find("json") != std::string::npos;
  if (says_json && is_json(job.payload)) {
    out += "\"payload\":" + std::string(trim(job.payload));  // the text itself: digits are kept
    add_text(out, "content_type", job.content_type);
  } else {
    out += "\"payload_base64\":\"" + base64_encode(job.payload) + '"';
    const std::string_view guessed =
        is_valid_utf8(job.payload) ? "text/plain; charset=utf-8" : "application/octet-stream";
    add_text(out, "content_type", job.content_type.empty() ? guessed : job.content_type);
  }
  add_text(out, "kind", job.kind);
  add_text(out, "class", job.priority_class);
  add_number(out, "priority", job.priority);
  add_number(out, "delay", job.delay_ms);
  add_text(out, "run_at", job.run_at);
  add_number(out, "max_attempts", job.max_attempts);
  add_text(out, "retry", job.retry);
  add_number(out, "lease", job.lease_ms);
  add_number(out, "timeout", job.timeout_ms);
  add_number(out, "ttl", job.ttl_ms);
  add_text(out, "group", job.group);
  add_text(out, "key", job.key);
  add_text(out, "unique_key", job.unique_key);
  add_number(out, "unique_window", job.unique_window_ms);
  if (!job.tags.empty()) {
    out += ",\"tags\":[";
    for (const std::string& tag : job.tags)
      out += (out.back() == '[' ? "" : ",") + json_string(tag);
    out += ']';
  }
  if (!job.headers.empty()) {
    out += ",\"headers\":{";
    for (const auto& [name, value] : job.headers) {
      out += (out.back() == '{' ? "" : ",") + json_string(name) + ':' + json_string(value);
    }
    out += '}';
  }
  return out + '}';
}

Result<EnqueueAnswer> Client::enqueue(const std::string& queue, const NewJob& job,
                                      const std::string& idempotency_key) {
  WEIR_TRY_ASSIGN(HttpResponse answer, post(fmt::format("/v1/queues/{}/jobs", path_segment(queue)),
                                            job_json(job), idempotency_key));
  json::error_code error;
  const json::value value = json::parse(answer.body, error);
  const json::object* object = error ? nullptr : value.if_object();
  const json::value* id = object == nullptr ? nullptr : object->if_contains("id");
  if (id == nullptr || !id->is_string()) {
    return failure(ErrorCode::internal, "the server's answer to an enqueue has no id");
  }
  EnqueueAnswer enqueued{.id = std::string(id->get_string()), .json = answer.body};
  if (const json::value* v = object->if_contains("status"); v != nullptr && v->is_string()) {
    enqueued.status = std::string(v->get_string());
  }
  if (const json::value* v = object->if_contains("duplicate"); v != nullptr && v->is_bool()) {
    enqueued.duplicate = v->get_bool();
  }
  if (const json::value* v = object->if_contains("durable"); v != nullptr && v->is_bool()) {
    enqueued.durable = v->get_bool();
  }
  return enqueued;
}

Result<std::string> Client::enqueue_batch(const std::string& queue,
                                          std::span<const std::string> jobs,
                                          const std::string& idempotency_key) {
  std::string body = "{\"jobs\":[";
  for (const std::string& job : jobs) {
    if (body.back() != '[') body += ',';
    body += job;
  }
  body += "]}";
  WEIR_TRY_ASSIGN(HttpResponse answer,
                  post(fmt::format("/v1/queues/{}/jobs/batch", path_segment(queue)),
                       std::move(body), idempotency_key));
  return std::move(answer.body);
}

}  // namespace weir::client
