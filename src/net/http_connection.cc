// SPDX-License-Identifier: Apache-2.0
#include "net/http_connection.h"

#include <algorithm>
#include <utility>

#include "net/http_answer.h"
#include "net/http_slot.h"

namespace weir::net {

HttpConnection::HttpConnection(const HttpConnectionContext& context, std::string peer, bool is_tls)
    : context_(context),
      peer_(std::move(peer)),
      is_tls_(is_tls),
      parser_(context.limits),
      phase_started_ms_(context.clock.boot_ms()) {}

HttpConnection::~HttpConnection() { abandon(); }

bool HttpConnection::may_parse() const {
  return slots_.size() < context_.limits.pipelined_max &&
         request_bytes_ < context_.limits.pipelined_bytes_max &&
         unsent_bytes() <= context_.limits.write_buffer_bytes_max / 2;
}

bool HttpConnection::wants_input() const {
  // In the middle of a body reading goes on: its limits are its own.
  return !stops_reading_ && !has_ended_ && !is_broken_ && kept_input_.empty() &&
         (parser_.is_in_body() || may_parse());
}

void HttpConnection::feed(std::string_view bytes) {
  if (stops_reading_ || is_broken_ || has_ended_) return;
  if (!kept_input_.empty()) {
    kept_input_.append(bytes);  // never ahead of what is kept
    return;
  }
  is_feeding_ = true;
  while (!stops_reading_ && !is_broken_) {
    if (!parser_.is_in_body() && !parser_.is_in_head() && !may_parse()) {
      kept_input_.assign(bytes);
      break;
    }
    const HttpParser::Event event = parser_.next(bytes);
    if (event == HttpParser::Event::head) {
      handle_head();
    } else if (event == HttpParser::Event::message) {
      handle_message();
    } else if (event == HttpParser::Event::error) {
      refuse_parse_error();
    } else {
      break;
    }
  }
  is_feeding_ = false;
  const bool in_head = parser_.is_in_head();
  if (in_head && !was_in_head_) phase_started_ms_ = now_ms();
  was_in_head_ = in_head;
  // Requests that were answered within the handler.
  pump();
}

bool HttpConnection::resume() {
  if (kept_input_.empty() || is_broken_ || !may_parse()) return false;
  const std::string bytes = std::exchange(kept_input_, {});
  feed(bytes);
  if (kept_input_.empty() && std::exchange(ends_after_kept_, false)) feed_end();
  return true;
}

void HttpConnection::feed_end() {
  if (!kept_input_.empty()) {
    ends_after_kept_ = true;
    return;
  }
  if (std::exchange(has_ended_, true) || is_broken_) return;
  const bool is_gone = std::any_of(slots_.begin(), slots_.end(), [](const SlotPtr& slot) {
    return slot->is_waiting_on_a_live_peer();
  });
  if (is_gone) {
    break_off();
  } else if (slots_.empty()) {
    add_output_notice();
  }
}

void HttpConnection::handle_head() {
  is_fresh_ = false;
  was_in_head_ = false;
  phase_started_ms_ = now_ms();
  const HttpRequestTraits traits = parser_.traits();
  HttpHeadVerdict verdict = context_.handler.on_head(parser_.request());
  if (!verdict.accept) return refuse(std::move(verdict.refusal), traits.is_head, traits.is_http_10);
  if (traits.has_unknown_expectation) {
    return refuse(http_refusal(417, "only 100-continue may be expected"), traits.is_head,
                  traits.is_http_10);
  }
  if (traits.content_length > verdict.body_bytes_max) {
    const std::string detail =
        "the body may have at most " + std::to_string(verdict.body_bytes_max) + " bytes";
    return refuse(http_refusal(413, detail), traits.is_head, traits.is_http_10);
  }
  parser_.limit_body(verdict.body_bytes_max);
  if (traits.expects_continue) {
    // In the queue like any answer: it must not overtake those before it.
    slots_.push_back(std::make_shared<Slot>(*this));
    const SlotPtr slot = slots_.back();
    slot->put_raw("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void HttpConnection::handle_message() {
  const HttpRequestTraits traits = parser_.traits();
  HttpRequest request = parser_.take_request();
  request.peer = peer_;
  request.is_tls = is_tls_;
  phase_started_ms_ = now_ms();
  auto slot = std::make_shared<Slot>(*this);
  slot->framing = HttpFraming{
      .has_no_body = traits.is_head, .is_http_10 = traits.is_http_10, .close = !traits.keep_alive};
  slot->request_bytes = request.body.size();
  request_bytes_ += slot->request_bytes;
  slots_.push_back(slot);
  if (!traits.keep_alive) stops_reading_ = true;
  context_.handler.on_request(std::move(request), std::move(slot));
}

void HttpConnection::refuse(HttpResponse response, bool is_head, bool is_http_10) {
  stops_reading_ = true;
  auto slot = std::make_shared<Slot>(*this);
  slot->framing = HttpFraming{.has_no_body = is_head, .is_http_10 = is_http_10, .close = true};
  slots_.push_back(slot);
  slot->respond(std::move(response));
}

void HttpConnection::refuse_parse_error() {
  refuse(http_refusal(parser_.error_status(), parser_.error_detail()), false, false);
}

bool HttpConnection::is_front(const Slot& slot) const {
  return !slots_.empty() && slots_.front().get() == &slot;
}

// Moves complete answers from the front of the queue to the output, and lets the next one write
// there.
void HttpConnection::pump() {
  if (is_broken_) return;
  while (!slots_.empty() && !is_closing_) {
    Slot& front = *slots_.front();
    if (!front.bytes.empty()) {
      held_bytes_ -= front.bytes.size();
      output_.append(front.bytes);
      front.bytes = {};
    }
    if (!front.is_done) break;
    finish_front();
  }
  if (!output().empty() || should_close()) add_output_notice();
}

void HttpConnection::finish_front() {
  const SlotPtr slot = std::move(slots_.front());
  slots_.pop_front();
  request_bytes_ -= slot->request_bytes;
  if (slot->has_callback()) {
    unsent_.push_back(Unsent{sent_total_ + output().size(), slot});
  } else {
    slot->detach();
  }
  if (!slot->framing.close) return;
  is_closing_ = true;
  stops_reading_ = true;
  // Nothing can follow an answer that closes.
  for (const SlotPtr& rest : std::exchange(slots_, {})) {
    rest->detach();
    rest->call_abandoned();
  }
  held_bytes_ = request_bytes_ = 0;
}

void HttpConnection::add_output_notice() {
  if (send_progress_ms_ == 0) send_progress_ms_ = now_ms();
  if (on_output_ && !is_feeding_) on_output_();
}

void HttpConnection::break_off() {
  is_broken_ = true;
  if (on_output_) on_output_();
}

void HttpConnection::sent(std::size_t count) {
  output_start_ += count;
  sent_total_ += count;
  send_progress_ms_ = now_ms();
  if (output_start_ == output_.size()) {
    output_start_ = 0;
    send_progress_ms_ = 0;
    phase_started_ms_ = parser_.is_in_head() || parser_.is_in_body() ? phase_started_ms_ : now_ms();
    // A large answer does not stay reserved for an idle connection.
    if (output_.capacity() > 16 * 1024) {
      output_ = {};
    } else {
      output_.clear();
    }
  } else if (output_start_ > 256 * 1024 && output_start_ > output_.size() / 2) {
    output_.erase(0, output_start_);
    output_start_ = 0;
  }
  while (!unsent_.empty() && unsent_.front().end <= sent_total_) {
    const SlotPtr slot = std::move(unsent_.front().slot);
    unsent_.pop_front();
    slot->detach();
    slot->drop_callback();
  }
}

bool HttpConnection::should_close() const {
  if (is_closing_ || is_broken_) return true;
  if (!slots_.empty()) return false;
  return has_ended_ ||
         (is_draining_ && !parser_.is_in_head() && !parser_.is_in_body() && kept_input_.empty());
}

void HttpConnection::drain() {
  is_draining_ = true;
  if (should_close()) add_output_notice();
}

std::int64_t HttpConnection::deadline_ms() const {
  if (is_broken_) return kNoDeadline;
  const HttpLimits& limits = context_.limits;
  const std::int64_t stall =
      output().empty() ? kNoDeadline : send_progress_ms_ + limits.write_stall_ms_max;
  if (!wants_input()) return stall;
  if (parser_.is_in_body()) {
    // The least rate as a moving deadline: each byte that came buys time.
    const auto bytes = static_cast<std::int64_t>(parser_.body_bytes());
    const std::int64_t bought_ms =
        bytes * kMsPerSecond / std::max<std::int64_t>(limits.body_bytes_per_second_min, 1);
    return std::min(stall, phase_started_ms_ + limits.body_grace_ms + bought_ms);
  }
  if (parser_.is_in_head()) return std::min(stall, phase_started_ms_ + limits.header_ms_max);
  if (!slots_.empty() || !output().empty()) return stall;
  return phase_started_ms_ + (is_fresh_ ? limits.header_ms_max : limits.idle_ms_max);
}

void HttpConnection::check_deadline() {
  const std::int64_t now = now_ms();
  if (now < deadline_ms()) return;
  if (!output().empty() && now >= send_progress_ms_ + context_.limits.write_stall_ms_max)
    return break_off();
  if (parser_.is_in_head() || parser_.is_in_body()) {
    return refuse(http_refusal(408, "the request came too slowly"), false, false);
  }
  // Idle: nothing is owed to the peer.
  stops_reading_ = true;
  is_closing_ = true;
  add_output_notice();
}

void HttpConnection::abandon() {
  is_broken_ = true;
  on_output_ = nullptr;
  // Taken first: a callback may look at this connection again through its responder.
  const auto unsent = std::exchange(unsent_, {});
  const auto slots = std::exchange(slots_, {});
  for (const Unsent& entry : unsent) entry.slot->detach();
  for (const SlotPtr& slot : slots) slot->detach();
  for (const Unsent& entry : unsent) entry.slot->call_abandoned();
  for (const SlotPtr& slot : slots) slot->call_abandoned();
}

}  // namespace weir::net
