// SPDX-License-Identifier: Apache-2.0
#include "net/http_slot.h"

#include <utility>

#include "base/assert.h"

namespace weir::net {

std::string* HttpConnection::Slot::target() {
  if (connection_ == nullptr || connection_->is_broken_) return nullptr;
  // Checked before adding: one answer may be larger than the cap, a second one behind it is not
  // taken.
  if (connection_->unsent_bytes() > connection_->context_.limits.write_buffer_bytes_max) {
    connection_->break_off();
    return nullptr;
  }
  return connection_->is_front(*this) ? &connection_->output_ : &bytes;
}

void HttpConnection::Slot::added(std::size_t count) {
  if (connection_ == nullptr) return;
  if (!connection_->is_front(*this)) connection_->held_bytes_ += count;
  connection_->pump();
}

void HttpConnection::Slot::respond(HttpResponse response) {
  WEIR_ASSERT(!std::exchange(has_answered_, true));
  is_done = true;
  std::string* out = target();
  if (out == nullptr) return;
  framing.close = framing.close || response.close;
  const std::size_t before = out->size();
  append_http_answer(*out, response, framing, connection_->context_.date.now());
  added(out->size() - before);
}

void HttpConnection::Slot::begin_stream(HttpResponse head) {
  WEIR_ASSERT(!std::exchange(has_answered_, true));
  is_streaming = true;
  framing.is_stream = true;
  // Without chunks only the close tells the end.
  framing.close = framing.close || head.close || framing.is_http_10;
  std::string* out = target();
  if (out == nullptr) return;
  const std::size_t before = out->size();
  append_http_answer(*out, head, framing, connection_->context_.date.now());
  added(out->size() - before);
}

bool HttpConnection::Slot::write(std::string_view data) {
  WEIR_ASSERT(is_streaming && !is_done);
  if (framing.has_no_body) return false;
  std::string* out = target();
  if (out == nullptr) return false;
  if (data.empty()) return true;  // an empty chunk would end the stream
  const std::size_t before = out->size();
  if (framing.is_http_10) {
    out->append(data);
  } else {
    append_http_chunk(*out, data);
  }
  added(out->size() - before);
  return true;
}

void HttpConnection::Slot::end_stream() {
  WEIR_ASSERT(is_streaming);
  if (std::exchange(is_done, true)) return;
  std::string* out = target();
  if (out == nullptr) return;
  const std::size_t before = out->size();
  if (!framing.is_http_10 && !framing.has_no_body) out->append("0\r\n\r\n");
  added(out->size() - before);
}

void HttpConnection::Slot::on_abandoned(std::function<void()> callback) {
  if (connection_ != nullptr) abandoned_ = std::move(callback);
}

void HttpConnection::Slot::put_raw(std::string_view raw) {
  has_answered_ = true;
  is_done = true;
  std::string* out = target();
  if (out == nullptr) return;
  out->append(raw);
  added(raw.size());
}

void HttpConnection::Slot::detach() { connection_ = nullptr; }

void HttpConnection::Slot::call_abandoned() {
  if (const auto callback = std::exchange(abandoned_, nullptr)) callback();
}

}  // namespace weir::net
