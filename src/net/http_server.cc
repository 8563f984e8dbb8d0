// SPDX-License-Identifier: Apache-2.0
#include "net/http_server.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/address.hpp>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "net/http_session.h"

namespace weir::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kWarningMs = 10'000;  // at most one such line in that time
constexpr std::int64_t kStallMs = 300;
constexpr int kAcceptsPerRoundMax = 64;

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

Result<tcp::endpoint> parse_endpoint(const std::string& address) {
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

std::string to_text(const tcp::endpoint& endpoint) {
  const std::string ip = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + ip + "]" : ip) + ":" + std::to_string(endpoint.port());
}

struct Listener {
  explicit Listener(asio::io_context& context) : acceptor(context) {}
  tcp::acceptor acceptor;
  TlsFiles files;
  std::shared_ptr<const TlsContext> tls;
  bool is_waiting = false;
};

}  // namespace

struct HttpServer::Impl final : public HttpSessionHost {
  Impl(EventLoop& event_loop, HttpHandler& handler, HttpLimits http_limits,
       const Clock* given_clock)
      : loop_(event_loop),
        limits(http_limits),
        clock(given_clock != nullptr ? *given_clock : system_clock),
        date(clock),
        context{handler, limits, clock, date},
        wheel(clock.boot_ms()) {
    take_spare();
  }
  ~Impl() override {
    loop_.cancel(tick_timer);
    for (const auto& [key, session] : std::exchange(sessions, {})) session->kill();
    if (spare_fd >= 0) ::close(spare_fd);
  }

  EventLoop& loop() override { return loop_; }
  void session_has_output(HttpSession& session) override {
    if (!std::exchange(session.is_marked, true)) marked.push_back(session.shared_from_this());
  }
  void session_ended(HttpSession& session) override {
    wheel.remove(session);
    sessions.erase(&session);
    session_count.store(sessions.size(), std::memory_order_relaxed);
    if (is_paused) accept_again();
  }
  void schedule(DeadlineEntry& entry, std::int64_t at_ms) override {
    wheel.schedule(entry, at_ms);
    arm_tick();
  }

  void take_spare() {
    if (spare_fd < 0) spare_fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  std::size_t cap() const { return std::min(limits.connections_max, descriptors_max); }

  Result<std::string> listen(const std::string& address, const TlsFiles& files);
  void await_client(Listener& listener);
  void accept_some(Listener& listener);
  void add(tcp::socket socket, const tcp::endpoint& peer, const Listener& listener);
  void pause(const char* reason, bool gives_spare);
  void accept_again();
  void arm_tick();
  void tick();

  EventLoop& loop_;
  const HttpLimits limits;
  SystemClock system_clock;
  const Clock& clock;
  HttpDateCache date;
  const HttpConnectionContext context;
  DeadlineWheel wheel;

  std::vector<std::unique_ptr<Listener>> listeners;
  // shared: Asio's handlers hold them too (http_session.h).
  std::unordered_map<HttpSession*, std::shared_ptr<HttpSession>> sessions;
  std::atomic<std::size_t> session_count{0};  // for other threads
  std::vector<std::shared_ptr<HttpSession>> marked;
  // Handlers that Asio holds for the acceptors look here whether the server still lives.
  std::shared_ptr<bool> is_alive = std::make_shared<bool>(true);

  std::size_t descriptors_max = SIZE_MAX;
  int spare_fd = -1;  // given up at EMFILE so that the rest of the process can go on; taken back
                      // before accepting
  bool is_paused = false;
  std::int64_t next_warning_ms = 0;
  std::uint64_t tick_timer = 0;
};

Result<std::string> HttpServer::Impl::listen(const std::string& address, const TlsFiles& files) {
  WEIR_TRY_ASSIGN(const tcp::endpoint endpoint, parse_endpoint(address));
  auto listener = std::make_unique<Listener>(loop_.impl().context);
  listener->files = files;
  if (files.is_set()) {
    WEIR_TRY_ASSIGN(listener->tls, TlsContext::load(files));
  }
  boost::system::error_code error;
  tcp::acceptor& acceptor = listener->acceptor;
  acceptor.open(endpoint.protocol(), error);
  if (!error) close_on_exec(acceptor.native_handle());
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (!error) acceptor.non_blocking(true, error);
  if (error)
    return failure(ErrorCode::io_error, "cannot listen on " + address + ": " + error.message());
  descriptors_max = connections_by_descriptors();
  const std::string bound = to_text(acceptor.local_endpoint(error));
  listeners.push_back(std::move(listener));
  await_client(*listeners.back());
  return bound;
}

void HttpServer::Impl::await_client(Listener& listener) {
  if (listener.is_waiting || is_paused || !listener.acceptor.is_open()) return;
  listener.is_waiting = true;
  listener.acceptor.async_wait(tcp::acceptor::wait_read,
                               [this, &listener, alive = std::weak_ptr<bool>(is_alive)](
                                   const boost::system::error_code& error) {
                                 if (alive.expired()) return;
                                 listener.is_waiting = false;
                                 if (!error) accept_some(listener);
                               });
}

void HttpServer::Impl::accept_some(Listener& listener) {
  for (int i = 0; i < kAcceptsPerRoundMax; ++i) {
    if (sessions.size() >= cap()) return pause("the connection limit is reached", false);
    tcp::endpoint peer;
    boost::system::error_code error;
    tcp::socket socket(loop_.impl().context);
    listener.acceptor.accept(socket, peer, error);
    if (error == asio::error::would_block) break;
    if (is_out_of_resources(error)) return pause("no file descriptor is free", true);
    // Anything else concerns that one client, which is gone.
    if (!error) add(std::move(socket), peer, listener);
  }
  await_client(listener);
}

void HttpServer::Impl::add(tcp::socket socket, const tcp::endpoint& peer,
                           const Listener& listener) {
  close_on_exec(socket.native_handle());
  auto session = std::make_shared<HttpSession>(*this, context, std::move(socket),
                                               peer.address().to_string(), listener.tls);
  sessions.emplace(session.get(), session);
  session_count.store(sessions.size(), std::memory_order_relaxed);
  session->start();
}

void HttpServer::Impl::pause(const char* reason, bool gives_spare) {
  is_paused = true;
  const std::int64_t now_ms = clock.boot_ms();
  if (now_ms >= next_warning_ms) {
    next_warning_ms = now_ms + kWarningMs;
    log::warning("accepting stopped for want of room",
                 {log::field("reason", reason),
                  log::field("connections", static_cast<std::uint64_t>(sessions.size()))});
  }
  if (gives_spare && spare_fd >= 0) {
    ::close(spare_fd);
    spare_fd = -1;
  }
  arm_tick();
}

// Clients wait in the kernel's queue meanwhile. Called when a connection ended and by the tick:
// never in a busy loop.
void HttpServer::Impl::accept_again() {
  take_spare();
  if (spare_fd < 0 || sessions.size() >= cap()) return;
  // One for the reserve is not enough: there must be one for a client too.
  const int probe = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (probe < 0) return;
  ::close(probe);
  is_paused = false;
  for (const auto& listener : listeners) await_client(*listener);
}

void HttpServer::Impl::arm_tick() {
  if (tick_timer != 0 || (wheel.is_empty() && !is_paused)) return;
  tick_timer = loop_.after(kTickMs, [this, armed_ms = clock.boot_ms()] {
    tick_timer = 0;
    // After a stall of the loop (a disk that hung) what clients sent meanwhile is read first: the
    // next tick judges.
    if (clock.boot_ms() - armed_ms < kTickMs + kStallMs) tick();
    arm_tick();
  });
}

void HttpServer::Impl::tick() {
  wheel.advance(clock.boot_ms());
  if (is_paused) accept_again();
}

HttpServer::HttpServer(EventLoop& loop, HttpHandler& handler, HttpLimits limits, const Clock* clock)
    : impl_(std::make_unique<Impl>(loop, handler, limits, clock)) {}
HttpServer::~HttpServer() = default;

Result<std::string> HttpServer::listen(const std::string& address, const TlsFiles& tls) {
  return impl_->listen(address, tls);
}

Result<void> HttpServer::reload_tls() {
  std::vector<std::shared_ptr<const TlsContext>> fresh;
  for (const auto& listener : impl_->listeners) {
    fresh.push_back(nullptr);
    if (!listener->files.is_set()) continue;
    WEIR_TRY_ASSIGN(fresh.back(), TlsContext::load(listener->files));
  }
  // All or none.
  for (std::size_t i = 0; i < fresh.size(); ++i) impl_->listeners[i]->tls = std::move(fresh[i]);
  return {};
}

void HttpServer::flush() {
  // A connection that ends here may, through callbacks, give others something to send; bounded, so
  // that nobody can keep the round from ending.
  for (int pass = 0; pass < 4 && !impl_->marked.empty(); ++pass) {
    const auto marked = std::exchange(impl_->marked, {});
    for (const auto& session : marked) session->flush();
  }
}

void HttpServer::stop_accepting() {
  for (const auto& listener : impl_->listeners) {
    boost::system::error_code ignored;
    listener->acceptor.close(ignored);
  }
  for (const auto& [key, session] : impl_->sessions) session->drain();
}

std::size_t HttpServer::connection_count() const {
  return impl_->session_count.load(std::memory_order_relaxed);
}

void HttpServer::check_deadlines() { impl_->tick(); }

}  // namespace weir::net
