// SPDX-License-Identifier: Apache-2.0
#include "net/stream_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <utility>

namespace weir::net {
namespace {

namespace asio = boost::asio;

// A peer that vanished without a word is found within 60 s. None of it means anything to a unix
// socket, which then says so.
void set_options(StreamSocket& socket) {
  boost::system::error_code ignored;
  socket.non_blocking(true, ignored);
  const auto set = [&socket](int level, int option, int value) {
    ::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
}

}  // namespace

StreamConnection::StreamConnection(StreamConnectionHost& host, const StreamLimits& limits,
                                   const Clock& clock, StreamSocket socket)
    : host_(host), limits_(limits), clock_(clock), socket_(std::move(socket)) {}

void StreamConnection::start(StreamHandler& handler, const std::string& peer) {
  set_options(socket_);
  session_ =
      handler.open({.address = peer, .has_output = [this] { host_.connection_has_output(*this); }});
  wait_readable();
}

bool StreamConnection::may_read() const {
  return !is_ended_ && !has_read_end_ && !session_->should_close() &&
         kept_.size() < limits_.input_bytes_max &&
         session_->output().size() <= limits_.unsent_bytes_max;
}

void StreamConnection::wait_readable() {
  if (waits_readable_ || !may_read()) return;
  waits_readable_ = true;
  socket_.async_wait(asio::socket_base::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_readable_ = false;
                       // Errors show up in the read.
                       if (!self->is_ended_) self->on_readable();
                     });
}

void StreamConnection::on_readable() {
  auto& buffer = host_.loop().impl().read_buffer;
  boost::system::error_code error;
  const std::size_t count = socket_.read_some(asio::buffer(buffer), error);
  if (!error) {
    take(std::string_view(buffer.data(), count));
  } else if (error == asio::error::eof) {
    has_read_end_ = true;
    session_->feed_end();
    host_.connection_has_output(*this);  // there may be nothing left to wait for
  } else if (error != asio::error::would_block && error != asio::error::interrupted) {
    return end();
  }
  wait_readable();
}

void StreamConnection::take(std::string_view bytes) {
  if (!kept_.empty()) {
    kept_.append(bytes);
    if (!session_->wants_input()) return;
    const std::size_t used = session_->feed(kept_);
    kept_.erase(0, used);
  } else {
    const std::size_t used = session_->wants_input() ? session_->feed(bytes) : 0;
    kept_.assign(bytes.substr(used));
  }
}

void StreamConnection::flush() {
  is_marked = false;
  if (is_ended_) return;
  const auto self = shared_from_this();
  if (!waits_writable_ && !session_->output().empty() && !send_some()) return end();
  const bool is_over =
      session_->should_close() || (has_read_end_ && kept_.empty() && session_->is_idle());
  if (!session_->output().empty()) {
    wait_writable();
  } else if (is_over) {
    return end();
  }
  let_more_in();
  wait_readable();
}

// False: the connection is lost.
bool StreamConnection::send_some() {
  const std::string_view bytes = session_->output();
  boost::system::error_code error;
  const std::size_t count = socket_.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error) return error == asio::error::would_block || error == asio::error::interrupted;
  stalled_since_ms_ = clock_.boot_ms();
  session_->sent(count);
  return true;
}

void StreamConnection::wait_writable() {
  if (waits_writable_ || is_ended_) return;
  waits_writable_ = true;
  stalled_since_ms_ = clock_.boot_ms();
  host_.schedule(*this, stalled_since_ms_ + limits_.write_stall_ms_max);
  socket_.async_wait(asio::socket_base::wait_write,
                     [self = shared_from_this()](const boost::system::error_code&) {
                       self->waits_writable_ = false;
                       if (!self->is_ended_) self->flush();
                     });
}

// Answers made room: input that was read already comes first. Posted, so that the engine's turn
// sees it in a round of its own.
void StreamConnection::let_more_in() {
  if (kept_.empty() || is_let_in_ || !session_->wants_input() ||
      session_->output().size() > limits_.unsent_bytes_max) {
    return;
  }
  is_let_in_ = true;
  host_.loop().post([self = shared_from_this()] {
    self->is_let_in_ = false;
    if (self->is_ended_ || !self->session_->wants_input()) return;
    const std::size_t used = self->session_->feed(self->kept_);
    self->kept_.erase(0, used);
    // The rest of a command that will never be whole.
    if (used == 0 && self->has_read_end_ && self->session_->is_idle()) return self->end();
    self->wait_readable();
  });
}

void StreamConnection::kill() {
  if (is_ended_) return;
  is_ended_ = true;
  boost::system::error_code ignored;
  socket_.close(ignored);
  session_->gone();
}

void StreamConnection::end() {
  if (is_ended_) return;
  const auto self = shared_from_this();
  kill();
  host_.connection_ended(*this);
}

std::int64_t StreamConnection::check_deadline(std::int64_t now_ms) {
  if (is_ended_ || !waits_writable_) return kNoDeadline;
  const std::int64_t at_ms = stalled_since_ms_ + limits_.write_stall_ms_max;
  if (now_ms < at_ms) return at_ms;
  end();
  return kNoDeadline;
}

}  // namespace weir::net
