// SPDX-License-Identifier: Apache-2.0
#include "net/http_parser.h"

#include <llhttp.h>

#include <utility>

#include "base/assert.h"
#include "base/text.h"

namespace weir::net {
namespace {

// llhttp takes chunk extensions and leading zeros of any length; neither counts as body. Chunks of
// one byte (five of framing each) still pass.
constexpr std::size_t kFramingBytesMax = 16 * 1024;
constexpr std::size_t kFramingBytesPerBodyByte = 8;

}  // namespace

// llhttp calls these from C. They only collect; every stop is a pause, and the handler is called
// from outside.
struct HttpParser::Machine {
  llhttp_t parser{};
  HttpParser* owner = nullptr;
  std::string field;
  std::string value;
  bool is_trailer = false;
  bool head_complete = false;
  bool message_complete = false;
  bool last_chunk = false;
  bool body_too_large = false;

  explicit Machine(HttpParser& parser_owner) : owner(&parser_owner) {
    static const llhttp_settings_t settings = make_settings();
    llhttp_init(&parser, HTTP_REQUEST, &settings);
    parser.data = this;
  }

  static Machine& of(llhttp_t* p) { return *static_cast<Machine*>(p->data); }
  static llhttp_settings_t make_settings() {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_url = on_url;
    s.on_header_field = on_field;
    s.on_header_value = on_value;
    s.on_header_value_complete = on_value_complete;
    s.on_headers_complete = on_headers_complete;
    s.on_chunk_header = on_chunk_header;
    s.on_body = on_body;
    s.on_message_complete = on_message_complete;
    return s;
  }

  static int on_url(llhttp_t* p, const char* at, std::size_t size) {
    of(p).owner->request_.target.append(at, size);
    return 0;
  }
  static int on_field(llhttp_t* p, const char* at, std::size_t size) {
    if (!of(p).is_trailer) of(p).field.append(at, size);
    return 0;
  }
  static int on_value(llhttp_t* p, const char* at, std::size_t size) {
    if (!of(p).is_trailer) of(p).value.append(at, size);
    return 0;
  }
  static int on_value_complete(llhttp_t* p) {
    Machine& m = of(p);
    if (m.is_trailer) return 0;
    for (char& c : m.field) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    // The parser keeps white space at the end of a value.
    const std::size_t end = m.value.find_last_not_of(" \t");
    m.value.resize(end == std::string::npos ? 0 : end + 1);
    m.owner->request_.headers.emplace_back(std::move(m.field), std::move(m.value));
    m.field.clear();
    m.value.clear();
    return 0;
  }
  static int on_headers_complete(llhttp_t* p) {
    of(p).head_complete = true;
    // Upgrades are not offered: the request goes on as an ordinary one.
    p->upgrade = 0;
    return HPE_PAUSED;
  }
  static int on_chunk_header(llhttp_t* p) {
    if (p->content_length != 0) return 0;
    of(p).last_chunk = true;
    return HPE_PAUSED;
  }
  static int on_body(llhttp_t* p, const char* at, std::size_t size) {
    Machine& m = of(p);
    std::string& body = m.owner->request_.body;
    if (size > m.owner->body_bytes_max_ - body.size()) {
      m.body_too_large = true;
      return HPE_USER;
    }
    body.append(at, size);
    return 0;
  }
  static int on_message_complete(llhttp_t* p) {
    of(p).message_complete = true;
    return HPE_PAUSED;
  }
};

HttpParser::HttpParser(const HttpLimits& limits)
    : limits_(limits),
      scanner_(limits.header_bytes_max, limits.header_count_max + 1),
      machine_(std::make_unique<Machine>(*this)) {
  scanner_.start_head();
}

HttpParser::~HttpParser() = default;

bool HttpParser::is_in_head() const { return phase_ == Phase::head && scanner_.has_started(); }
bool HttpParser::is_in_body() const { return phase_ == Phase::body || phase_ == Phase::trailer; }

void HttpParser::limit_body(std::size_t bytes_max) { body_bytes_max_ = bytes_max; }

HttpRequest HttpParser::take_request() {
  HttpRequest request = std::move(request_);
  request_ = HttpRequest{};
  traits_ = HttpRequestTraits{};
  return request;
}

HttpParser::Event HttpParser::next(std::string_view& in) {
  switch (phase_) {
    case Phase::head:
      return next_in_head(in);
    case Phase::body:
      return next_in_body(in);
    case Phase::trailer:
      return next_in_trailer(in);
    case Phase::failed:
      break;
  }
  return Event::error;
}

HttpParser::Event HttpParser::next_in_head(std::string_view& in) {
  std::size_t used = 0;
  const HttpHeadScanner::State state = scanner_.scan(in, used);
  std::string_view head = in.substr(0, used);
  in.remove_prefix(used);
  // First what came before a fault: what is no HTTP at all fails at its first bytes, and with the
  // same words however the input was split.
  const Event event = execute(head);
  if (event == Event::error) return event;
  if (state == HttpHeadScanner::State::bad_line || state == HttpHeadScanner::State::too_large) {
    return scan_failed(state);
  }
  if (event == Event::head) return check_head();
  if (state == HttpHeadScanner::State::done)
    return fail(400, "the head of the request is not complete");
  return Event::need_more;
}

HttpParser::Event HttpParser::next_in_body(std::string_view& in) {
  const std::size_t bytes_before = in.size() + request_.body.size();
  const Event event = execute(in);
  if (event == Event::error) return event;
  // What left the input without becoming body.
  framing_bytes_ += bytes_before - in.size() - request_.body.size();
  if (framing_bytes_ > kFramingBytesMax + kFramingBytesPerBodyByte * request_.body.size()) {
    return fail(400, "the chunks of the body are more framing than content");
  }
  if (event == Event::message || !machine_->last_chunk) return event;
  machine_->last_chunk = false;
  machine_->is_trailer = true;
  scanner_.start_trailer();
  phase_ = Phase::trailer;
  return next_in_trailer(in);
}

HttpParser::Event HttpParser::next_in_trailer(std::string_view& in) {
  std::size_t used = 0;
  const HttpHeadScanner::State state = scanner_.scan(in, used);
  std::string_view trailer = in.substr(0, used);
  in.remove_prefix(used);
  const Event event = execute(trailer);
  if (event == Event::error) return event;
  if (state == HttpHeadScanner::State::bad_line || state == HttpHeadScanner::State::too_large) {
    return scan_failed(state);
  }
  if (event == Event::need_more && state == HttpHeadScanner::State::done) {
    return fail(400, "the trailer of the request is not complete");
  }
  return event;
}

// Runs llhttp over `in` up to its next pause; takes what was used off `in`.
HttpParser::Event HttpParser::execute(std::string_view& in) {
  llhttp_t* parser = &machine_->parser;
  const llhttp_errno_t code = llhttp_execute(parser, in.data(), in.size());
  if (code == HPE_OK) {
    in.remove_prefix(in.size());
    return Event::need_more;
  }
  if (machine_->body_too_large) return fail(413, "the body is larger than this request may have");
  if (code != HPE_PAUSED) {
    const char* reason = llhttp_get_error_reason(parser);
    return fail(400, std::string("not a valid HTTP/1.1 request: ") +
                         (reason != nullptr ? reason : "malformed"));
  }
  const char* stop = llhttp_get_error_pos(parser);
  in.remove_prefix(static_cast<std::size_t>(stop - in.data()));
  llhttp_resume(parser);
  if (std::exchange(machine_->head_complete, false)) return Event::head;
  if (std::exchange(machine_->message_complete, false)) {
    phase_ = Phase::head;
    machine_->is_trailer = false;
    scanner_.start_head();
    return Event::message;
  }
  return Event::need_more;  // the last chunk's header
}

HttpParser::Event HttpParser::fail(int status, std::string detail) {
  phase_ = Phase::failed;
  error_status_ = status;
  error_detail_ = std::move(detail);
  return Event::error;
}

HttpParser::Event HttpParser::scan_failed(HttpHeadScanner::State state) {
  if (state == HttpHeadScanner::State::too_large) {
    return fail(431, "the head of the request is larger than " +
                         format_size(limits_.header_bytes_max) + " or has more than " +
                         std::to_string(limits_.header_count_max) + " headers");
  }
  return fail(400, "a header line is continued or does not end with CRLF");
}

HttpParser::Event HttpParser::check_head() {
  llhttp_t* parser = &machine_->parser;
  request_.method = llhttp_method_name(static_cast<llhttp_method_t>(parser->method));
  traits_.is_head = parser->method == HTTP_HEAD;
  traits_.is_http_10 = parser->http_minor == 0;
  traits_.keep_alive = llhttp_should_keep_alive(parser) != 0;
  if (parser->http_major == 0) return fail(400, "the request line has no HTTP version");
  if (parser->http_major != 1 || parser->http_minor > 1)
    return fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken");
  if (parser->method == HTTP_CONNECT) return fail(405, "CONNECT is not offered");
  const std::string_view target = request_.target;
  if (!target.starts_with('/') && target != "*" && !target.starts_with("http://") &&
      !target.starts_with("https://")) {
    return fail(400, "the request target is not a path");
  }
  if (!check_framing()) return Event::error;
  const std::string_view expect = request_.header("expect");
  if (!expect.empty() && !traits_.is_http_10) {
    traits_.expects_continue = traits_.has_body && equals_ignore_case(expect, "100-continue");
    traits_.has_unknown_expectation = !equals_ignore_case(expect, "100-continue");
  }
  phase_ = Phase::body;
  framing_bytes_ = 0;
  return Event::head;
}

// Where the body ends must be beyond doubt. False: failed.
bool HttpParser::check_framing() {
  int lengths = 0;
  int encodings = 0;
  int hosts = 0;
  bool is_chunked = false;
  bool has_empty_name = false;
  for (const auto& [name, value] : request_.headers) {
    if (name.empty()) has_empty_name = true;
    if (name == "content-length") ++lengths;
    if (name == "host") ++hosts;
    if (name == "transfer-encoding") {
      ++encodings;
      is_chunked = equals_ignore_case(value, "chunked");
    }
  }
  const char* fault = nullptr;
  if (has_empty_name) fault = "a header without a name";
  if (lengths > 1) fault = "more than one Content-Length";
  if (lengths > 0 && encodings > 0) fault = "both Content-Length and Transfer-Encoding";
  if (encodings > 1 || (encodings == 1 && !is_chunked))
    fault = "a Transfer-Encoding other than chunked";
  if (encodings > 0 && traits_.is_http_10) fault = "Transfer-Encoding in an HTTP/1.0 request";
  if (hosts > 1 || (hosts == 0 && !traits_.is_http_10))
    fault = "a request needs exactly one Host header";
  if (fault != nullptr) {
    fail(400, fault);
    return false;
  }
  traits_.content_length = lengths == 1 ? machine_->parser.content_length : 0;
  traits_.has_body = is_chunked || traits_.content_length > 0;
  return true;
}

}  // namespace weir::net
