// SPDX-License-Identifier: Apache-2.0
// The worker's side of the client: claim, ack, fail, release, extend, and the counts that a drain
// waits for.
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "base/digest.h"
#include "base/text.h"
#include "client/client.h"
#include "client/json_slice.h"
#include "client/problem.h"

namespace weir::client {
namespace {

namespace json = boost::json;

// How much longer than the asked wait a claim may take before the connection counts as dead.
constexpr std::int64_t kClaimMarginMs = 8'000;

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  json::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  if (!error) return number;
  // Large numbers come as decimal strings.
  return value->is_string() ? parse_u64(name, std::string_view(value->get_string())).value_or(0)
                            : 0;
}

// Durations come as texts ("30s") or as milliseconds.
std::int64_t duration_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_string())
    return parse_duration_ms(std::string_view(value->get_string())).value_or(0);
  return static_cast<std::int64_t>(number_of(object, name));
}

WallTime instant_of(const json::object& object, std::string_view name) {
  const std::string text = text_of(object, name);
  return text.empty() ? WallTime::none() : parse_rfc3339(text).value_or(WallTime::none());
}

Failure bad_answer(std::string_view what) {
  return failure(ErrorCode::internal, fmt::format("the server's answer to {} can't be read", what));
}

Result<json::value> parse_object(std::string_view text, std::string_view what) {
  json::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return bad_answer(what);
  return value;
}

Result<ClaimedJob> parse_job(std::string_view text) {
  WEIR_TRY_ASSIGN(const json::value value, parse_object(text, "claim"));
  const json::object& object = value.get_object();
  ClaimedJob job;
  job.id = text_of(object, "id");
  job.lease_token = text_of(object, "lease_token");
  if (job.id.empty() || job.lease_token.empty()) return bad_answer("claim");
  job.queue = text_of(object, "queue");
  job.kind = text_of(object, "kind");
  job.content_type = text_of(object, "content_type");
  job.attempt = static_cast<std::uint32_t>(number_of(object, "attempt"));
  job.max_attempts = static_cast<std::uint32_t>(number_of(object, "max_attempts"));
  job.fence = number_of(object, "fence");
  job.lease_expires_at = instant_of(object, "lease_expires_at");
  job.created_at = instant_of(object, "created_at");
  job.timeout_ms = duration_of(object, "timeout");
  if (object.contains("payload_base64")) {
    if (!base64_decode(text_of(object, "payload_base64"), job.payload)) return bad_answer("claim");
  } else {
    job.payload = std::string(json_member(text, "payload"));
  }
  if (const json::value* headers = object.if_contains("headers");
      headers != nullptr && headers->is_object()) {
    for (const auto& [name, header] : headers->get_object()) {
      if (header.is_string())
        job.headers.emplace_back(std::string(name), std::string(header.get_string()));
    }
  }
  return job;
}

void add_list(std::string& body, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  body += fmt::format(",\"{}\":[", name);
  for (const std::string& value : values)
    body += (body.back() == '[' ? "" : ",") + json_string(value);
  body += ']';
}

}  // namespace

Result<std::vector<ClaimedJob>> Client::claim(const ClaimRequest& request,
                                              const std::atomic<bool>* cancel) {
  std::string body = fmt::format("{{\"max\":{},\"wait\":{}", request.max, request.wait_ms);
  add_list(body, "queues", request.queues);
  add_list(body, "classes", request.classes);
  add_list(body, "kinds", request.kinds);
  if (request.lease_ms) body += fmt::format(",\"lease\":{}", *request.lease_ms);
  if (!request.worker_id.empty()) body += ",\"worker_id\":" + json_string(request.worker_id);
  body += '}';

  net::HttpCall call = make_call("POST", "/v1/claim");
  call.headers.emplace_back("content-type", "application/json");
  call.body = std::move(body);
  call.timeout_ms = request.wait_ms + kClaimMarginMs;
  call.cancel = cancel;
  WEIR_TRY_ASSIGN(HttpResponse answer, send(call));

  WEIR_TRY(parse_object(answer.body, "claim"));
  std::vector<ClaimedJob> jobs;
  for (const std::string_view text : json_elements(json_member(answer.body, "jobs"))) {
    WEIR_TRY_ASSIGN(ClaimedJob job, parse_job(text));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<std::string> Client::lease_verb(const LeaseRef& lease, std::string_view verb,
                                       std::string members) {
  std::string body = "{\"lease_token\":" + json_string(lease.token) + std::move(members) + '}';
  WEIR_TRY_ASSIGN(
      HttpResponse answer,
      post(fmt::format("/v1/jobs/{}/{}", path_segment(lease.job_id), verb), std::move(body)));
  return std::move(answer.body);
}

Result<void> Client::ack(const LeaseRef& lease, const std::optional<std::string>& result) {
  const Result<std::string> answer =
      lease_verb(lease, "ack", result ? ",\"result\":" + *result : std::string());
  // The job was acknowledged and retention has taken it since: done.
  if (!answer && answer.error().code == ErrorCode::gone) return {};
  WEIR_TRY(answer);
  return {};
}

Result<FailAnswer> Client::fail(const LeaseRef& lease, const FailReport& report) {
  std::string members = ",\"error\":{\"message\":" + json_string(report.message);
  if (!report.error_class.empty()) members += ",\"class\":" + json_string(report.error_class);
  if (!report.code.empty()) members += ",\"code\":" + json_string(report.code);
  if (report.http_status != 0) members += fmt::format(",\"http_status\":{}", report.http_status);
  members += '}';
  if (report.retry_after_ms) members += fmt::format(",\"retry_after\":{}", *report.retry_after_ms);
  if (report.dead) members += ",\"dead\":true";
  WEIR_TRY_ASSIGN(const std::string text, lease_verb(lease, "fail", std::move(members)));
  WEIR_TRY_ASSIGN(const json::value value, parse_object(text, "fail"));
  const json::object& object = value.get_object();
  FailAnswer answer{.status = text_of(object, "status"), .reason = text_of(object, "reason")};
  answer.retry_after_ms = duration_of(object, "retry_after");
  return answer;
}

Result<void> Client::release(const LeaseRef& lease) {
  WEIR_TRY(lease_verb(lease, "release", {}));
  return {};
}

Result<std::vector<Result<WallTime>>> Client::extend(std::span<const ExtendItem> items) {
  std::string body = "{\"items\":[";
  for (const ExtendItem& item : items) {
    if (body.back() != '[') body += ',';
    body +=
        fmt::format("{{\"id\":{},\"lease_token\":{},\"lease\":{}}}", json_string(item.lease.job_id),
                    json_string(item.lease.token), item.lease_ms);
  }
  body += "]}";
  WEIR_TRY_ASSIGN(HttpResponse answer, post("/v1/extend", std::move(body)));
  WEIR_TRY(parse_object(answer.body, "extend"));
  std::vector<Result<WallTime>> results;
  for (const std::string_view text : json_elements(json_member(answer.body, "results"))) {
    const Result<json::value> value = parse_object(text, "extend");
    if (!value) {
      results.push_back(failure(value.error()));
      continue;
    }
    const json::object& object = value->get_object();
    // A refused item is a problem object, itself or under "error".
    if (const json::value* error = object.if_contains("error");
        error != nullptr && error->is_object()) {
      results.push_back(failure(error_from_problem(json_member(text, "error"), 500)));
    } else if (object.contains("code")) {
      results.push_back(failure(error_from_problem(text, 500)));
    } else {
      results.push_back(instant_of(object, "lease_expires_at"));
    }
  }
  if (results.size() != items.size()) return bad_answer("extend");
  return results;
}

Result<std::uint64_t> Client::unfinished(const std::string& queue) {
  const Result<std::string> text =
      request("GET", fmt::format("/v1/queues/{}", path_segment(queue)));
  if (!text && text.error().code == ErrorCode::not_found) return 0;
  WEIR_TRY(text);
  WEIR_TRY_ASSIGN(const json::value value, parse_object(*text, "queue"));
  const json::value* counts = value.get_object().if_contains("counts");
  if (counts == nullptr || !counts->is_object()) return bad_answer("queue");
  std::uint64_t sum = 0;
  for (const char* state : {"scheduled", "pending", "processing", "failed", "blocked"}) {
    sum += number_of(counts->get_object(), state);
  }
  return sum;
}

}  // namespace weir::client
