// SPDX-License-Identifier: Apache-2.0
// Listening sockets, TCP or unix: accepts in bounded portions, keeps a cap on connections, and at
// EMFILE rests and goes on when descriptors are free, so that the rest of the process can go on
// meanwhile.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/event_loop_impl.h"

namespace weir::net {

using StreamSocket = boost::asio::generic::stream_protocol::socket;

// What an acceptor needs of its server.
class AcceptorHost {
 public:
  virtual ~AcceptorHost() = default;
  // The number of the listener, in the order of listen(); the peer without its port, or "unix".
  virtual void accepted(StreamSocket socket, const std::string& peer, std::size_t listener) = 0;
  virtual std::size_t open_connections() const = 0;
  // tick() is wanted, every few hundred milliseconds, while is_resting().
  virtual void wants_tick() = 0;
};

// One thread. The loop, the host and the clock must outlive it.
class Acceptor {
 public:
  Acceptor(EventLoop& loop, AcceptorHost& host, const Clock& clock, std::size_t connections_max);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Listens on "host:port" (port 0: any free one; the host is an address, "[::1]" or "localhost")
  // or "unix:/path". Returns the address bound. Errors: invalid_argument (address), io_error.
  Result<std::string> listen(const std::string& address);
  // A connection has ended: there may be room again.
  void connection_ended();
  void tick();
  bool is_resting() const { return is_resting_; }
  // Closes the listeners, and removes the sockets' files.
  void close();

 private:
  struct Listener {
    explicit Listener(boost::asio::io_context& context) : acceptor(context) {}
    boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol> acceptor;
    std::size_t number = 0;
    std::string path;  // of a unix socket
    bool is_waiting = false;
  };

  void await_client(Listener& listener);
  void accept_some(Listener& listener);
  void rest(const char* reason, bool gives_spare);
  void accept_again();
  void take_spare();
  std::size_t cap() const;

  EventLoop& loop_;
  AcceptorHost& host_;
  const Clock& clock_;
  const std::size_t connections_max_;
  std::size_t descriptors_max_ = SIZE_MAX;
  std::vector<std::unique_ptr<Listener>> listeners_;
  int spare_fd_ = -1;  // given up at EMFILE so that the rest of the process can go on
  bool is_resting_ = false;
  std::int64_t next_warning_ms_ = 0;
  // Handlers that Asio holds for the acceptors look here whether this still lives.
  std::shared_ptr<bool> is_alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::net
