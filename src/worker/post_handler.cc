// SPDX-License-Identifier: Apache-2.0
// See post_handler.h.
#include "worker/post_handler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "client/json_slice.h"
#include "client/problem.h"
#include "worker/retry_after.h"
#include "worker/webhook_signature.h"

namespace weir::worker {
namespace {

constexpr std::size_t kAnswerBytesMax = 1024 * 1024;
constexpr std::size_t kResultBytesMax = 256 * 1024;
constexpr std::size_t kMessageBytesMax = 4 * 1024;  // of a refusal's body
constexpr std::string_view kHeaderPrefix = "weir-";

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c != '\x7F'; });
}

// A name may hold any UTF-8; a header may not, so it goes percent-coded when it has more than
// ASCII.
std::string header_value(std::string_view text) {
  const bool is_ascii =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c < '\x7F'; });
  return is_ascii ? std::string(text) : percent_encode(text);
}

// Headers of the job go along, but none that would change what the request is or who it claims to
// come from.
bool may_pass(std::string_view name) {
  static constexpr std::string_view kOwn[] = {
      "host",       "connection",     "content-length", "transfer-encoding",
      "te",         "trailer",        "upgrade",        "content-type",
      "expect",     "authorization",  "cookie",         "proxy-authorization",
      "user-agent", "accept-encoding"};
  if (name.empty() || name.starts_with(kHeaderPrefix) || name.starts_with("webhook-")) return false;
  if (std::find(std::begin(kOwn), std::end(kOwn), name) != std::end(kOwn)) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

HandlerResult failed_call(const Error& error, bool timed_out) {
  client::FailReport report{.message = error.detail};
  switch (error.code) {
    case ErrorCode::permission_denied:
      report.error_class = "connection";  // the address may change: the retry policy decides
      report.code = "address_refused";
      break;
    case ErrorCode::invalid_argument:
      report.error_class = "configuration";
      report.code = "url";
      break;
    case ErrorCode::too_large:
      report.error_class = "connection";
      report.code = "answer_too_large";
      break;
    default:
      report.error_class = timed_out ? "timeout" : "connection";
      break;
  }
  return HandlerResult::fail(std::move(report));
}

}  // namespace

net::HttpCall PostHandler::make_call(const client::ClaimedJob& job, const Cancel& cancel) const {
  net::HttpCall call;
  call.method = "POST";
  call.url = options_.url;
  call.body = job.payload;
  call.timeout_ms = options_.timeout_ms;
  call.response_bytes_max = kAnswerBytesMax;
  call.addresses = options_.addresses;
  call.ca_file = options_.ca_file;
  call.cancel = &cancel.flag();
  HttpHeaders& headers = call.headers;
  headers.emplace_back("user-agent", "weir/" WEIR_VERSION);
  const bool has_type = !job.content_type.empty() && is_printable(job.content_type);
  headers.emplace_back("content-type", has_type ? job.content_type : "application/octet-stream");
  headers.emplace_back("weir-job-id", job.id);
  headers.emplace_back("weir-queue", header_value(job.queue));
  if (!job.kind.empty()) headers.emplace_back("weir-kind", header_value(job.kind));
  headers.emplace_back("weir-attempt", fmt::format("{}", job.attempt));
  headers.emplace_back("weir-max-attempts", fmt::format("{}", job.max_attempts));
  headers.emplace_back("weir-fence", fmt::format("{}", job.fence));
  if (job.deadline_at.is_set())
    headers.emplace_back("weir-deadline", format_rfc3339(job.deadline_at));
  for (const auto& [name, value] : job.headers) {
    const std::string lower = to_lower(name);
    if (may_pass(lower) && is_printable(value)) headers.emplace_back(lower, value);
  }
  if (!options_.signing_key.empty()) {
    const std::int64_t timestamp_s = clock_.wall_now().ms / kMsPerSecond;
    // The id names the job, not the attempt: receivers drop repeats by it.
    const std::string id = "job_" + job.id;
    headers.emplace_back("webhook-id", id);
    headers.emplace_back("webhook-timestamp", fmt::format("{}", timestamp_s));
    headers.emplace_back("webhook-signature",
                         webhook_signature(options_.signing_key, id, timestamp_s, job.payload));
  }
  return call;
}

HandlerResult PostHandler::run(const client::ClaimedJob& job, const Cancel& cancel) {
  bool timed_out = false;
  const Result<HttpResponse> answer = transport_.send(make_call(job, cancel), &timed_out);
  if (!answer) return failed_call(answer.error(), timed_out);
  const int status = answer->status;
  if (status >= 200 && status < 300) {
    const std::string_view body = trim(answer->body);
    const bool is_result =
        !body.empty() && body.size() <= kResultBytesMax &&
        client::response_header(*answer, "content-type").find("json") != std::string_view::npos &&
        client::is_json(body);
    return is_result ? HandlerResult::ack(std::string(body)) : HandlerResult::ack();
  }
  client::FailReport report{.http_status = status};
  const std::string_view body = cut_utf8(trim(answer->body), kMessageBytesMax);
  report.message =
      fmt::format("the receiver answered {}{}{}", status, body.empty() ? "" : ": ", body);
  if (status >= 300 && status < 400) {
    report.message = fmt::format("the receiver answered {}: redirects are not followed", status);
  }
  report.retry_after_ms =
      parse_retry_after_ms(client::response_header(*answer, "retry-after"), clock_.wall_now());
  return HandlerResult::fail(std::move(report));
}

}  // namespace weir::worker
