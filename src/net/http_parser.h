// SPDX-License-Identifier: Apache-2.0
// Bytes to requests: llhttp (strict) behind the head scanner, one event at a time. No I/O, no time.
//
// What is refused with 400, whatever llhttp thinks: Content-Length together with Transfer-Encoding,
// more than one of either, any Transfer-Encoding but `chunked`, HTTP/1.0 with Transfer-Encoding,
// HTTP/1.1 without exactly one Host, an unknown version, a target that is neither a path, a full
// URL nor `*`; a chunked body whose framing (sizes, extensions) outgrows what it frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/http_message.h"
#include "net/http_head_scanner.h"
#include "net/http_limits.h"

namespace weir::net {

// What the connection must know of a request beside its message.
struct HttpRequestTraits {
  bool is_head = false;
  bool is_http_10 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool has_unknown_expectation = false;
  bool has_body = false;
  std::uint64_t content_length = 0;  // 0 when chunked
};

// One connection's parser. One thread. Not movable: llhttp points into it.
class HttpParser {
 public:
  enum class Event : std::uint8_t { need_more, head, message, error };

  explicit HttpParser(const HttpLimits& limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  // Takes bytes from the front of `in` up to the next event. Call until need_more; after `head`,
  // set the body limit and call again, also with nothing in `in`. After `error` nothing more may be
  // asked.
  Event next(std::string_view& in);

  // After the event head. Requires: called before the next call of next().
  void limit_body(std::size_t bytes_max);

  const HttpRequest& request() const { return request_; }
  HttpRequest take_request();  // after the event message
  const HttpRequestTraits& traits() const { return traits_; }

  bool is_in_head() const;  // some bytes of a head are there
  bool is_in_body() const;
  std::size_t body_bytes() const { return request_.body.size(); }

  int error_status() const { return error_status_; }
  const std::string& error_detail() const { return error_detail_; }

 private:
  struct Machine;  // llhttp and its callbacks
  enum class Phase : std::uint8_t { head, body, trailer, failed };

  Event next_in_head(std::string_view& in);
  Event next_in_body(std::string_view& in);
  Event next_in_trailer(std::string_view& in);
  Event execute(std::string_view& in);
  Event fail(int status, std::string detail);
  Event scan_failed(HttpHeadScanner::State state);
  Event check_head();
  bool check_framing();

  const HttpLimits& limits_;
  HttpHeadScanner scanner_;
  std::unique_ptr<Machine> machine_;
  Phase phase_ = Phase::head;
  HttpRequest request_;
  HttpRequestTraits traits_;
  std::size_t body_bytes_max_ = 0;
  std::size_t framing_bytes_ = 0;  // of this body: all that came for it and is not part of it
  int error_status_ = 0;
  std::string error_detail_;
};

}  // namespace weir::net
