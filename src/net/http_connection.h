// SPDX-License-Identifier: Apache-2.0
// One HTTP/1.1 connection without a socket: bytes in, requests to an HttpHandler, ordered answer
// bytes out.
//
// The socket server drives it, and so do transcript tests. How the input is split never changes the
// output. Time comes from a Clock and is acted on only in check_deadline(). The rules of closing:
// - after an error answer, or an answer that says so, nothing more is read and the rest of the
// queue is abandoned;
// - a peer that ends its sending side still gets the answers in hand, unless one of them is a
// stream or has an
//   on_abandoned callback: that client is taken to be gone (a closed long poll must not swallow a
//   job);
// - a client that does not read is cut off by the cap of the write buffer or by the stall limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/http_message.h"
#include "net/deadline_wheel.h"
#include "net/http_date.h"
#include "net/http_limits.h"
#include "net/http_parser.h"

namespace weir::net {

// What all connections of a server share. Everything outlives the connections.
struct HttpConnectionContext {
  HttpHandler& handler;
  const HttpLimits& limits;
  const Clock& clock;
  HttpDateCache& date;
};

// One thread. Handlers may answer at any later time on that thread; answers to a connection that is
// gone go nowhere.
class HttpConnection {
 public:
  HttpConnection(const HttpConnectionContext& context, std::string peer, bool is_tls);
  ~HttpConnection();  // abandons
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  // Called once each time when there becomes something to send or to close; must not destroy the
  // connection.
  void on_output(std::function<void()> callback) { on_output_ = std::move(callback); }

  // Bytes from the peer. Calls the handler. What cannot be taken now (wants_input() turns false) is
  // kept until resume(): read no more from the peer meanwhile.
  void feed(std::string_view bytes);
  void feed_end();  // the peer sends no more

  // Goes on with bytes that were kept, once wants_input() is true again. True when there were some.
  bool resume();
  bool has_kept_input() const { return !kept_input_.empty(); }
  bool wants_input() const;

  // What to send; sent(n) takes n bytes off its front.
  std::string_view output() const { return std::string_view(output_).substr(output_start_); }
  void sent(std::size_t count);

  // Everything that will ever be sent is in output(): close when it has gone out.
  bool should_close() const;
  // The connection is of no use any more: drop it without sending the rest.
  bool is_broken() const { return is_broken_; }

  // No further requests than those in hand.
  void drain();

  // When to look at the clock next, or kNoDeadline; check_deadline acts when that instant has
  // passed.
  std::int64_t deadline_ms() const;
  void check_deadline();

  // The peer is gone: tells those whose answers have not wholly been sent.
  void abandon();

 private:
  class Slot;
  using SlotPtr = std::shared_ptr<Slot>;
  struct Unsent {
    std::uint64_t end;  // of its bytes, counted from the start of the connection
    SlotPtr slot;
  };

  void handle_head();
  void handle_message();
  void refuse(HttpResponse response, bool is_head, bool is_http_10);
  void refuse_parse_error();
  bool is_front(const Slot& slot) const;
  void pump();
  void finish_front();
  void add_output_notice();
  void break_off();
  bool may_parse() const;
  std::size_t unsent_bytes() const { return output_.size() - output_start_ + held_bytes_; }
  std::int64_t now_ms() const { return context_.clock.boot_ms(); }

  const HttpConnectionContext context_;
  const std::string peer_;
  const bool is_tls_;
  std::function<void()> on_output_;

  HttpParser parser_;
  std::string kept_input_;
  std::deque<SlotPtr> slots_;  // requests not wholly answered, oldest first
  std::deque<Unsent> unsent_;  // answered, with a callback, not wholly sent
  std::string output_;
  std::size_t output_start_ = 0;
  std::uint64_t sent_total_ = 0;
  std::size_t held_bytes_ = 0;     // of answers that wait for earlier ones
  std::size_t request_bytes_ = 0;  // bodies of the requests in slots_

  std::int64_t phase_started_ms_;  // of the head, body or idle time that is running
  std::int64_t send_progress_ms_ = 0;
  bool is_fresh_ = true;  // no request yet
  bool is_feeding_ = false;
  bool was_in_head_ = false;
  bool stops_reading_ = false;    // after an error, or a request that ends the connection
  bool has_ended_ = false;        // the peer sends no more
  bool ends_after_kept_ = false;  // the same, once the kept input is used up
  bool is_closing_ = false;       // the last answer is in output_
  bool is_draining_ = false;
  bool is_broken_ = false;
};

}  // namespace weir::net
