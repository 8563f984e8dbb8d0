// SPDX-License-Identifier: Apache-2.0
// One accepted socket: moves bytes between it, TLS when set, and the HttpConnection, and closes it
// in good manners.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "net/deadline_wheel.h"
#include "net/event_loop_impl.h"
#include "net/http_connection.h"
#include "net/tls.h"

namespace weir::net {

class HttpSession;

// What a session needs of its server.
class HttpSessionHost {
 public:
  virtual ~HttpSessionHost() = default;
  virtual EventLoop& loop() = 0;
  virtual void session_has_output(HttpSession& session) = 0;  // flush() it at the end of the round
  virtual void session_ended(HttpSession& session) = 0;
  virtual void schedule(DeadlineEntry& entry, std::int64_t at_ms) = 0;
};

// One thread. Owned together by the server and the handlers that Asio holds for its socket: a
// handler that was queued before the socket was closed still runs, and finds the session ended. It
// touches neither host nor handler then.
class HttpSession final : public DeadlineEntry, public std::enable_shared_from_this<HttpSession> {
 public:
  HttpSession(HttpSessionHost& host, const HttpConnectionContext& context,
              boost::asio::ip::tcp::socket socket, std::string peer,
              std::shared_ptr<const TlsContext> tls);

  void start();

  // At most one send. Also closes what is to be closed, and lets more input in where answers made
  // room.
  void flush();

  // No further requests than those in hand.
  void drain();

  // Closes now; tells the handlers that wait. Does not call the host.
  void kill();

  std::int64_t check_deadline(std::int64_t now_ms) override;

  bool is_marked = false;  // in the host's list of sessions to flush

 private:
  enum class Phase : std::uint8_t { open, lingering, ended };

  void wait_readable();
  void on_readable();
  void take(std::string_view bytes);
  void take_tls(std::string_view cipher);
  void on_read_end();
  void wait_writable();
  bool send_some();
  bool encrypt_more();
  bool has_unsent() const;
  void finish();
  void end();
  void reschedule();
  void let_more_in();

  HttpSessionHost& host_;
  const HttpLimits& limits_;
  const Clock& clock_;
  boost::asio::ip::tcp::socket socket_;
  HttpConnection connection_;
  std::unique_ptr<TlsSession> tls_;
  std::string cipher_out_;
  std::size_t cipher_sent_ = 0;
  std::size_t plain_in_cipher_ =
      0;  // answer bytes that cipher_out_ carries: handed over when all of it is sent

  Phase phase_ = Phase::open;
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool has_read_end_ = false;
  bool has_tls_goodbye_ = false;
  std::int64_t linger_until_ms_ = kNoDeadline;
};

}  // namespace weir::net
