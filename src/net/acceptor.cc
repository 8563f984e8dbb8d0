// SPDX-License-Identifier: Apache-2.0
#include "net/acceptor.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <utility>

#include "base/log.h"
#include "base/text.h"

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::generic::stream_protocol;
using asio::ip::tcp;

constexpr std::int64_t kWarningMs = 10'000;  // at most one such line in that time
constexpr int kAcceptsPerRoundMax = 64;
constexpr std::string_view kUnixPrefix = "unix:";

void close_on_exec(int fd) { ::fcntl(fd, F_SETFD, FD_CLOEXEC); }

bool is_out_of_resources(const boost::system::error_code& error) {
  const int code = error.value();
  return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM;
}

// Descriptors are left over for the store, the logs and outbound calls.
std::size_t connections_by_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const auto soft = static_cast<std::size_t>(limit.rlim_cur);
  return soft - std::min<std::size_t>(soft / 4, 64);
}

Result<tcp::endpoint> parse_tcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return failure(ErrorCode::invalid_argument,
                   "listen address '" + address + "' has no port; write host:port");
  }
  std::string host = address.substr(0, colon);
  if (host == "localhost") host = "127.0.0.1";
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  WEIR_TRY_ASSIGN(const std::uint64_t port, parse_u64("port", address.substr(colon + 1)));
  if (port > 65535)
    return failure(ErrorCode::invalid_argument, "port " + std::to_string(port) + " is over 65535");
  boost::system::error_code error;
  const asio::ip::address ip = asio::ip::make_address(host, error);
  if (error) {
    return failure(ErrorCode::invalid_argument,
                   "listen address '" + host + "' is not a numeric address or localhost");
  }
  return tcp::endpoint(ip, static_cast<std::uint16_t>(port));
}

Result<stream_protocol::endpoint> parse_endpoint(const std::string& address) {
  if (!address.starts_with(kUnixPrefix)) {
    WEIR_TRY_ASSIGN(const tcp::endpoint endpoint, parse_tcp(address));
    return stream_protocol::endpoint(endpoint);
  }
  const std::string path = address.substr(kUnixPrefix.size());
  // The kernel's bound, with the final NUL.
  if (path.empty() || path.size() > sizeof(sockaddr_un::sun_path) - 1) {
    return failure(ErrorCode::invalid_argument,
                   "'" + address + "' is no unix socket: the path has 1 to 107 bytes");
  }
  return stream_protocol::endpoint(asio::local::stream_protocol::endpoint(path));
}

// An address of a generic endpoint, when it is one of TCP.
bool to_tcp(const stream_protocol::endpoint& endpoint, tcp::endpoint& out) {
  const int family = endpoint.protocol().family();
  if (family != AF_INET && family != AF_INET6) return false;
  out = tcp::endpoint(family == AF_INET6 ? tcp::v6() : tcp::v4(), 0);
  out.resize(endpoint.size());
  std::copy_n(reinterpret_cast<const char*>(endpoint.data()), endpoint.size(),
              reinterpret_cast<char*>(out.data()));
  return true;
}

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + ip + "]" : ip) + ":" + std::to_string(endpoint.port());
}

// What an earlier process left behind; anything but a socket stays, and bind says so.
void remove_socket_file(const std::string& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode)) ::unlink(path.c_str());
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, AcceptorHost& host, const Clock& clock,
                   std::size_t connections_max)
    : loop_(loop), host_(host), clock_(clock), connections_max_(connections_max) {
  take_spare();
}

Acceptor::~Acceptor() {
  close();
  if (spare_fd_ >= 0) ::close(spare_fd_);
}

void Acceptor::take_spare() {
  if (spare_fd_ < 0) spare_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

std::size_t Acceptor::cap() const { return std::min(connections_max_, descriptors_max_); }

Result<std::string> Acceptor::listen(const std::string& address) {
  WEIR_TRY_ASSIGN(const stream_protocol::endpoint endpoint, parse_endpoint(address));
  auto listener = std::make_unique<Listener>(loop_.impl().context);
  const bool is_unix = address.starts_with(kUnixPrefix);
  if (is_unix) {
    listener->path = address.substr(kUnixPrefix.size());
    remove_socket_file(listener->path);
  }
  boost::system::error_code error;
  auto& acceptor = listener->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) close_on_exec(acceptor.native_handle());
  if (!error && !is_unix) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (error)
    return failure(ErrorCode::io_error, "cannot listen on " + address + ": " + error.message());
  descriptors_max_ = connections_by_descriptors();
  listener->number = listeners_.size();
  std::string bound = address;
  if (tcp::endpoint local; to_tcp(acceptor.local_endpoint(error), local)) bound = to_text(local);
  listeners_.push_back(std::move(listener));
  await_client(*listeners_.back());
  return bound;
}

void Acceptor::await_client(Listener& listener) {
  if (listener.is_waiting || is_resting_ || !listener.acceptor.is_open()) return;
  listener.is_waiting = true;
  listener.acceptor.async_wait(asio::socket_base::wait_read,
                               [this, &listener, alive = std::weak_ptr<bool>(is_alive_)](
                                   const boost::system::error_code& error) {
                                 if (alive.expired()) return;
                                 listener.is_waiting = false;
                                 if (!error) accept_some(listener);
                               });
}

void Acceptor::accept_some(Listener& listener) {
  for (int i = 0; i < kAcceptsPerRoundMax; ++i) {
    if (host_.open_connections() >= cap()) return rest("the connection limit is reached", false);
    stream_protocol::endpoint peer;
    boost::system::error_code error;
    StreamSocket socket(loop_.impl().context);
    listener.acceptor.accept(socket, peer, error);
    if (error == asio::error::would_block) break;
    if (is_out_of_resources(error)) return rest("no file descriptor is free", true);
    // Anything else concerns that one client, which is gone.
    if (error) continue;
    close_on_exec(socket.native_handle());
    tcp::endpoint from;
    const std::string name = to_tcp(peer, from) ? from.address().to_string() : "unix";
    host_.accepted(std::move(socket), name, listener.number);
  }
  await_client(listener);
}

void Acceptor::rest(const char* reason, bool gives_spare) {
  is_resting_ = true;
  const std::int64_t now_ms = clock_.boot_ms();
  if (now_ms >= next_warning_ms_) {
    next_warning_ms_ = now_ms + kWarningMs;
    log::warning("accepting stopped for want of room",
                 {log::field("reason", reason),
                  log::field("connections", static_cast<std::uint64_t>(host_.open_connections()))});
  }
  if (gives_spare && spare_fd_ >= 0) {
    ::close(spare_fd_);
    spare_fd_ = -1;
  }
  host_.wants_tick();
}

void Acceptor::connection_ended() {
  if (is_resting_) accept_again();
}

void Acceptor::tick() {
  if (is_resting_) accept_again();
}

// Clients wait in the kernel's queue meanwhile. Called when a connection ended and by the tick:
// never in a busy loop.
void Acceptor::accept_again() {
  take_spare();
  if (spare_fd_ < 0 || host_.open_connections() >= cap()) return;
  // One for the reserve is not enough: there must be one for a client too.
  const int probe = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (probe < 0) return;
  ::close(probe);
  is_resting_ = false;
  for (const auto& listener : listeners_) await_client(*listener);
}

void Acceptor::close() {
  for (const auto& listener : listeners_) {
    if (!listener->acceptor.is_open()) continue;
    boost::system::error_code ignored;
    listener->acceptor.close(ignored);
    if (!listener->path.empty()) remove_socket_file(listener->path);
  }
}

}  // namespace weir::net
