// SPDX-License-Identifier: Apache-2.0
#include "net/http_session.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <utility>

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::size_t kTlsPieceBytes = 256 * 1024;

// A peer that vanished without a word is found within 60 s.
void set_options(tcp::socket& socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const auto set = [&socket](int option, int value) {
    ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, 30);
  set(TCP_KEEPINTVL, 10);
  set(TCP_KEEPCNT, 3);
}

}  // namespace

HttpSession::HttpSession(HttpSessionHost& host, const HttpConnectionContext& context,
                         tcp::socket socket, std::string peer,
                         std::shared_ptr<const TlsContext> tls)
    : host_(host),
      limits_(context.limits),
      clock_(context.clock),
      socket_(std::move(socket)),
      connection_(context, std::move(peer), tls != nullptr),
      tls_(tls != nullptr ? std::make_unique<TlsSession>(std::move(tls)) : nullptr) {}

void HttpSession::start() {
  set_options(socket_);
  connection_.on_output([this] { host_.session_has_output(*this); });
  wait_readable();
  reschedule();
}

void HttpSession::wait_readable() {
  if (waits_readable_ || has_read_end_ || phase_ == Phase::ended) return;
  if (phase_ == Phase::open && !connection_.wants_input()) return;
  waits_readable_ = true;
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_readable_ = false;
                       // Errors show up in the read.
                       if (self->phase_ != Phase::ended) self->on_readable();
                     });
}

void HttpSession::on_readable() {
  auto& buffer = host_.loop().impl().read_buffer;
  boost::system::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(buffer), error);
  if (!error) {
    take(std::string_view(buffer.data(), count));
  } else if (error == asio::error::eof) {
    on_read_end();
  } else if (error != asio::error::would_block && error != asio::error::interrupted) {
    return end();
  }
  if (phase_ == Phase::ended) return;
  wait_readable();
  reschedule();
}

void HttpSession::take(std::string_view bytes) {
  if (phase_ == Phase::lingering) return;
  if (tls_ != nullptr) return take_tls(bytes);
  connection_.feed(bytes);
}

void HttpSession::take_tls(std::string_view cipher) {
  std::string plain;
  const TlsSession::State state = tls_->feed(cipher, plain, cipher_out_);
  if (!plain.empty()) connection_.feed(plain);
  // A peer that makes us answer records without reading them.
  const bool is_flooded = cipher_out_.size() > limits_.write_buffer_bytes_max + 4 * kTlsPieceBytes;
  if (state == TlsSession::State::failed || is_flooded) {
    send_some();  // the alert that says why
    return end();
  }
  if (state == TlsSession::State::closed) on_read_end();
  if (phase_ != Phase::ended && !cipher_out_.empty()) host_.session_has_output(*this);
}

void HttpSession::on_read_end() {
  has_read_end_ = true;
  if (phase_ == Phase::lingering) return end();
  connection_.feed_end();
  if (connection_.is_broken()) end();
}

bool HttpSession::has_unsent() const {
  return !cipher_out_.empty() || !connection_.output().empty();
}

void HttpSession::flush() {
  is_marked = false;
  const auto self = shared_from_this();
  if (phase_ != Phase::open) return;
  if (connection_.is_broken()) return end();
  if (!waits_writable_ && has_unsent() && !send_some()) return end();
  if (has_unsent()) {
    wait_writable();
  } else if (connection_.should_close()) {
    finish();
  }
  if (phase_ == Phase::ended) return;
  let_more_in();
  wait_readable();
  reschedule();
}

// False: the connection is lost.
bool HttpSession::send_some() {
  if (tls_ != nullptr && cipher_out_.empty() && !encrypt_more()) return false;
  const std::string_view bytes =
      tls_ != nullptr ? std::string_view(cipher_out_).substr(cipher_sent_) : connection_.output();
  if (bytes.empty()) return true;
  boost::system::error_code error;
  const std::size_t count = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error) return error == asio::error::would_block || error == asio::error::interrupted;
  if (tls_ == nullptr) {
    connection_.sent(count);
    return true;
  }
  cipher_sent_ += count;
  if (cipher_sent_ == cipher_out_.size()) {
    cipher_out_ = {};
    cipher_sent_ = 0;
    if (plain_in_cipher_ > 0) connection_.sent(std::exchange(plain_in_cipher_, 0));
  }
  return true;
}

bool HttpSession::encrypt_more() {
  const std::string_view plain = connection_.output().substr(0, kTlsPieceBytes);
  if (plain.empty() || tls_->state() == TlsSession::State::handshake) return true;
  plain_in_cipher_ = plain.size();
  return tls_->encrypt(plain, cipher_out_);
}

void HttpSession::wait_writable() {
  if (waits_writable_ || phase_ == Phase::ended) return;
  waits_writable_ = true;
  socket_.async_wait(tcp::socket::wait_write,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_writable_ = false;
                       if (self->phase_ != Phase::ended) self->flush();
                     });
}

// Answers made room: requests that were read already come first. Posted, so that the engine's turn
// sees them in a round of their own.
void HttpSession::let_more_in() {
  if (!connection_.has_kept_input()) return;
  host_.loop().post([self = shared_from_this()] {
    if (self->phase_ != Phase::open || !self->connection_.resume()) return;
    self->wait_readable();
    self->reschedule();
  });
}

// The last answer has gone out. Closing with input unread would reset the connection and could
// destroy that answer at the client: say goodbye, then throw away what comes until the client
// closes or the time is over.
void HttpSession::finish() {
  if (tls_ != nullptr && !std::exchange(has_tls_goodbye_, true)) {
    tls_->shutdown(cipher_out_);
    if (!cipher_out_.empty()) send_some();
  }
  if (has_read_end_) return end();
  boost::system::error_code error;
  socket_.shutdown(tcp::socket::shutdown_send, error);
  if (error) return end();
  phase_ = Phase::lingering;
  linger_until_ms_ = clock_.boot_ms() + limits_.linger_ms_max;
}

void HttpSession::drain() {
  if (phase_ == Phase::open) connection_.drain();
}

void HttpSession::kill() {
  if (phase_ == Phase::ended) return;
  phase_ = Phase::ended;
  connection_.abandon();
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void HttpSession::end() {
  if (phase_ == Phase::ended) return;
  const auto self = shared_from_this();
  kill();
  host_.session_ended(*this);
}

void HttpSession::reschedule() {
  if (phase_ == Phase::ended) return;
  host_.schedule(*this, phase_ == Phase::lingering ? linger_until_ms_ : connection_.deadline_ms());
}

std::int64_t HttpSession::check_deadline(std::int64_t now_ms) {
  const auto self = shared_from_this();
  if (phase_ == Phase::lingering && now_ms >= linger_until_ms_) end();
  if (phase_ == Phase::open) connection_.check_deadline();
  if (phase_ == Phase::open && connection_.is_broken()) end();
  if (phase_ == Phase::ended) return kNoDeadline;
  return phase_ == Phase::lingering ? linger_until_ms_ : connection_.deadline_ms();
}

}  // namespace weir::net
