// SPDX-License-Identifier: Apache-2.0
// Open event streams: one subscription to the engine serves them all while there are any.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/http_message.h"
#include "doors/auth.h"
#include "engine/engine.h"

namespace weir::doors::http {

inline constexpr std::int64_t kHeartbeatMs = 15 * kMsPerSecond;

// A stream's ids are "<epoch>-<number>", growing; events are not kept, so that a stream begins with
// what happens next. One thread.
class EventStreams {
 public:
  using After = std::function<void(std::int64_t delay_ms, std::function<void()> task)>;
  using MayGoOn = std::function<bool(const Caller& caller)>;  // false ends the caller's stream
  EventStreams(engine::Engine& engine, After after, MayGoOn may_go_on);
  ~EventStreams();
  EventStreams(const EventStreams&) = delete;
  EventStreams& operator=(const EventStreams&) = delete;

  // Sends `caller` the events of the queues that they may see and that match `queue` (empty: all),
  // until the client goes.
  void add(HttpResponderPtr responder, Caller caller, std::string queue);
  // Sends a comment to each, so that dead connections are noticed and proxies keep live ones.
  void beat();
  void end_all();
  std::size_t count() const { return streams_.size(); }

 private:
  struct Stream;
  void send(const core::Event& event, std::string_view queue_name);
  // False when the stream has ended, or ends here: its client went, or its token does not hold.
  bool goes_on(Stream& stream) const;
  void drop_gone();
  void schedule_beat();

  engine::Engine& engine_;
  After after_;
  MayGoOn may_go_on_;
  std::vector<std::shared_ptr<Stream>>
      streams_;  // shared_ptr: the responder's callback outlives a removal
  std::uint64_t subscription_ = 0;
  std::uint64_t last_id_ = 0;
  bool is_beating_ = false;
  std::shared_ptr<bool> is_alive_ =
      std::make_shared<bool>(true);  // shared_ptr: timers may fire after the door is gone
};

}  // namespace weir::doors::http
