// SPDX-License-Identifier: Apache-2.0
// The place of one request in its connection's queue of answers. Private to http_connection.cc and
// http_slot.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "net/http_answer.h"
#include "net/http_connection.h"

namespace weir::net {

class HttpConnection::Slot final : public HttpResponder {
 public:
  explicit Slot(HttpConnection& connection) : connection_(&connection) {}

  void respond(HttpResponse response) override;
  void begin_stream(HttpResponse head) override;
  bool write(std::string_view bytes) override;
  void end_stream() override;
  void on_abandoned(std::function<void()> callback) override;

  // A ready-made interim answer (100 Continue).
  void put_raw(std::string_view bytes);
  // The connection ends: later answers go nowhere.
  void detach();
  void call_abandoned();
  bool is_waiting_on_a_live_peer() const {
    return !is_done && (is_streaming || abandoned_ != nullptr);
  }
  bool has_callback() const { return abandoned_ != nullptr; }
  void drop_callback() { abandoned_ = nullptr; }

  HttpFraming framing;
  std::size_t request_bytes = 0;
  std::string bytes;  // while an earlier answer is not complete
  bool is_done = false;
  bool is_streaming = false;

 private:
  // Where bytes of this answer go now; null when the connection is gone or the peer reads too
  // slowly.
  std::string* target();
  void added(std::size_t count);

  HttpConnection* connection_;
  std::function<void()> abandoned_;
  bool has_answered_ = false;
};

}  // namespace weir::net
