// SPDX-License-Identifier: Apache-2.0
#include "net/stream_server.h"

#include <unordered_map>
#include <utility>

#include "net/stream_connection.h"

namespace weir::net {
namespace {

constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kStallMs = 300;

}  // namespace

struct StreamServer::Impl final : public StreamConnectionHost, public AcceptorHost {
  Impl(EventLoop& event_loop, StreamHandler& stream_handler, StreamLimits stream_limits,
       const Clock* given_clock)
      : loop_(event_loop),
        handler(stream_handler),
        limits(stream_limits),
        clock(given_clock != nullptr ? *given_clock : system_clock),
        wheel(clock.boot_ms()),
        acceptor(event_loop, *this, clock, limits.connections_max) {}
  ~Impl() override {
    loop_.cancel(tick_timer);
    for (const auto& [key, connection] : std::exchange(connections, {})) connection->kill();
  }

  EventLoop& loop() override { return loop_; }
  void connection_has_output(StreamConnection& connection) override {
    if (!std::exchange(connection.is_marked, true)) marked.push_back(connection.shared_from_this());
  }
  void connection_ended(StreamConnection& connection) override {
    wheel.remove(connection);
    connections.erase(&connection);
    acceptor.connection_ended();
  }
  void schedule(DeadlineEntry& entry, std::int64_t at_ms) override {
    wheel.schedule(entry, at_ms);
    arm_tick();
  }

  void accepted(StreamSocket socket, const std::string& peer, std::size_t) override {
    auto connection = std::make_shared<StreamConnection>(*this, limits, clock, std::move(socket));
    connections.emplace(connection.get(), connection);
    connection->start(handler, peer);
  }
  std::size_t open_connections() const override { return connections.size(); }
  void wants_tick() override { arm_tick(); }

  void arm_tick() {
    if (tick_timer != 0 || (wheel.is_empty() && !acceptor.is_resting())) return;
    tick_timer = loop_.after(kTickMs, [this, armed_ms = clock.boot_ms()] {
      tick_timer = 0;
      // After a stall of the loop (a disk that hung) what clients took meanwhile is seen first: the
      // next tick judges.
      if (clock.boot_ms() - armed_ms < kTickMs + kStallMs) tick();
      arm_tick();
    });
  }
  void tick() {
    wheel.advance(clock.boot_ms());
    acceptor.tick();
  }

  EventLoop& loop_;
  StreamHandler& handler;
  const StreamLimits limits;
  SystemClock system_clock;
  const Clock& clock;
  DeadlineWheel wheel;
  // shared: Asio's handlers hold them too (stream_connection.h).
  std::unordered_map<StreamConnection*, std::shared_ptr<StreamConnection>> connections;
  std::vector<std::shared_ptr<StreamConnection>> marked;
  Acceptor acceptor;
  std::uint64_t tick_timer = 0;
};

StreamServer::StreamServer(EventLoop& loop, StreamHandler& handler, StreamLimits limits,
                           const Clock* clock)
    : impl_(std::make_unique<Impl>(loop, handler, limits, clock)) {}
StreamServer::~StreamServer() = default;

Result<std::string> StreamServer::listen(const std::string& address) {
  return impl_->acceptor.listen(address);
}

void StreamServer::flush() {
  // A connection that ends here may, through callbacks, give others something to send; bounded, so
  // that nobody can keep the round from ending.
  for (int pass = 0; pass < 4 && !impl_->marked.empty(); ++pass) {
    const auto marked = std::exchange(impl_->marked, {});
    for (const auto& connection : marked) connection->flush();
  }
}

void StreamServer::stop_accepting() { impl_->acceptor.close(); }

std::size_t StreamServer::connection_count() const { return impl_->connections.size(); }

void StreamServer::check_deadlines() { impl_->tick(); }

}  // namespace weir::net
