// SPDX-License-Identifier: Apache-2.0
// Sockets and buffers of the drivers.
#include "driver/wire.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "driver/options.h"

namespace weir::bench {

Wire::~Wire() {
  if (fd_ >= 0) close(fd_);
}

void Wire::connect_to(const std::string& host, std::uint16_t port) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &to.sin_addr) != 1) die(host + " is not an address");
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    die("can't connect to port " + std::to_string(port) + ": " + std::strerror(errno));
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void Wire::unblock() { fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK); }

void Wire::block() { fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_NONBLOCK); }

void Wire::receive() {
  if (in_begin_ == in_end_) {
    in_begin_ = in_end_ = 0;
  } else if (in_begin_ > in_.size() / 2) {
    std::memmove(in_.data(), in_.data() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  if (in_end_ == in_.size()) in_.resize(in_.size() * 2);
  const ssize_t got = recv(fd_, in_.data() + in_end_, in_.size() - in_end_, 0);
  if (got > 0) {
    in_end_ += static_cast<std::size_t>(got);
  } else if (got == 0) {
    die("the server closed a connection");
  } else if (errno != EAGAIN && errno != EINTR) {
    die(std::string("can't read: ") + std::strerror(errno));
  }
}

void Wire::flush() {
  while (out_sent_ < out_.size()) {
    const ssize_t sent = send(fd_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return;
    if (sent < 0 && errno != EINTR) die(std::string("can't write: ") + std::strerror(errno));
    if (sent > 0) out_sent_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  out_sent_ = 0;
}

std::string Wire::ask_line() {
  flush();
  while (true) {
    const std::string_view have = input();
    const std::size_t end = have.find("\r\n");
    if (end != std::string_view::npos) {
      std::string line(have.substr(0, end));
      consume(end + 2);
      return line;
    }
    receive();
  }
}

}  // namespace weir::bench
