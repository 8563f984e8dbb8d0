// SPDX-License-Identifier: Apache-2.0
// How every call of the client goes out and comes back; the verbs are in verbs.cc and enqueue.cc.
#include "client/client.h"

#include <fmt/format.h>

#include "base/text.h"
#include "client/problem.h"

namespace weir::client {
namespace {
// A followed stream is renewed once a day; the server's comments keep it alive in between.
constexpr std::int64_t kStreamTimeoutMs = 24 * kMsPerHour;

std::vector<std::string> clean_urls(std::vector<std::string> urls) {
  for (std::string& url : urls) {
    while (url.ends_with('/')) url.pop_back();
    if (url.find("://") == std::string::npos) url.insert(0, "http://");
  }
  if (urls.empty()) urls.emplace_back("http://127.0.0.1:7350");
  return urls;
}

std::string with_query(std::string path, const Query& query) {
  char separator = '?';
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    path += fmt::format("{}{}={}", separator, percent_encode(name), percent_encode(value));
    separator = '&';
  }
  return path;
}
}  // namespace

std::string path_segment(std::string_view name) {
  if (name == ".") return "%2E";
  if (name == "..") return "%2E%2E";
  return percent_encode(name);
}

Client::Client(Options options)
    : options_(std::move(options)),
      own_transport_(std::make_unique<HttpTransport>()),
      transport_(*own_transport_) {
  options_.urls = clean_urls(std::move(options_.urls));
}

Client::Client(Options options, Transport& transport)
    : options_(std::move(options)), transport_(transport) {
  options_.urls = clean_urls(std::move(options_.urls));
}

const std::string& Client::url() const { return options_.urls[next_url_ % options_.urls.size()]; }

net::HttpCall Client::make_call(const std::string& method, const std::string& path) const {
  net::HttpCall call;
  call.method = method;
  call.url = url() + path;
  call.headers.emplace_back("user-agent", "weir/" WEIR_VERSION);
  call.headers.emplace_back("accept", "application/json");
  if (!options_.token.empty())
    call.headers.emplace_back("authorization", "Bearer " + options_.token);
  call.connect_timeout_ms = options_.connect_timeout_ms;
  call.timeout_ms = options_.timeout_ms;
  call.ca_file = options_.ca_file;
  return call;
}

Result<HttpResponse> Client::send(const net::HttpCall& call) {
  Result<HttpResponse> answer = transport_.send(call, nullptr);
  if (!answer) {
    if (answer.error().code == ErrorCode::unavailable) {
      next_url_.fetch_add(1);
      answer.error().detail =
          fmt::format("{}: {}", call.url.substr(0, call.url.find("/v1/")), answer.error().detail);
    }
    return answer;
  }
  if (answer->status < 200 || answer->status > 299) return failure(error_from_response(*answer));
  return answer;
}

Result<HttpResponse> Client::post(const std::string& path, std::string body,
                                  const std::string& idempotency_key) {
  net::HttpCall call = make_call("POST", path);
  call.headers.emplace_back("content-type", "application/json");
  if (!idempotency_key.empty()) call.headers.emplace_back("idempotency-key", idempotency_key);
  call.body = std::move(body);
  return send(call);
}

Result<std::string> Client::request(const std::string& method, const std::string& path,
                                    const Query& query, const std::string& body) {
  net::HttpCall call = make_call(method, with_query(path, query));
  if (!body.empty()) {
    call.headers.emplace_back("content-type", "application/json");
    call.body = body;
  }
  WEIR_TRY_ASSIGN(HttpResponse answer, send(call));
  return std::move(answer.body);
}

Result<void> Client::follow_events(const Query& query, const std::string& last_event_id,
                                   SseParser::Callback callback, const std::atomic<bool>* cancel) {
  net::HttpCall call = make_call("GET", with_query("/v1/events", query));
  call.headers.emplace_back("accept", "text/event-stream");
  if (!last_event_id.empty()) call.headers.emplace_back("last-event-id", last_event_id);
  call.timeout_ms = kStreamTimeoutMs;
  call.cancel = cancel;
  bool ended_by_caller = false;
  std::string start;  // of the answer, which is a problem and not a stream when the status says so
  SseParser parser([&callback, &ended_by_caller](const ServerEvent& event) {
    if (callback(event)) return true;
    ended_by_caller = true;
    return false;
  });
  call.on_body = [&parser, &start](std::string_view bytes) {
    if (start.size() < 4096) start.append(bytes.substr(0, 4096));
    return parser.feed(bytes);
  };
  Result<HttpResponse> answer = send(call);
  if (ended_by_caller) return {};
  if (!answer) {
    // The body of a refusal went to on_body, so its detail is made good here.
    if (start.starts_with('{')) return failure(error_from_problem(start, 500));
    return failure(answer.error());
  }
  return failure(ErrorCode::unavailable, "the server closed the stream of events");
}

}  // namespace weir::client
