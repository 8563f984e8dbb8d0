// SPDX-License-Identifier: Apache-2.0
// Runs the sessions of one protocol to the end of a flow, on one thread with epoll.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "driver/flow.h"
#include "driver/wire.h"

namespace weir::bench {

enum class Role { producer, consumer, both };

// One connection of one protocol. One thread.
class Session {
 public:
  virtual ~Session() = default;
  virtual int fd() const = 0;
  // Connects, greets, and leaves the socket non-blocking.
  virtual void open() = 0;
  // Reads what there is and tells the flow of every whole answer.
  virtual void receive() = 0;
  // Gathers as many requests as the flow and the depth allow.
  virtual void fill() = 0;
  // Sends what was gathered; true when some is left for a socket that is full.
  virtual bool flush() = 0;
  // After the run, before its result: proves what no answer has proved.
  virtual void settle() {}
};

// A session over a plain socket.
class WireSession : public Session {
 public:
  WireSession(Flow& flow, Role role) : flow_(flow), role_(role) {}
  int fd() const final { return wire_.fd(); }
  void open() final;
  void receive() final;
  bool flush() final;

 protected:
  // Speaks first words over the blocking socket.
  virtual void greet() = 0;
  // Takes every whole answer from the input.
  virtual void parse() = 0;

  bool can_put() const { return role_ != Role::consumer; }
  bool can_claim() const { return role_ != Role::producer; }

  Flow& flow_;
  const Role role_;
  Wire wire_;
};

using MakeSession = std::function<std::unique_ptr<Session>(Flow&, Role)>;
// Opens a connection that waits for a job of the queue for as long as it lives.
using MakePoller = std::function<std::unique_ptr<Wire>(const Options&, const std::string& queue)>;

// Runs until every job was put, claimed and acked; prints the result. Exit code of main.
int run_load(const Options& options, const MakeSession& make_session,
             const MakePoller& make_poller = {});

}  // namespace weir::bench
