// SPDX-License-Identifier: Apache-2.0
// One accepted socket of a stream server: moves bytes between it and its session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/stream.h"
#include "net/acceptor.h"
#include "net/deadline_wheel.h"
#include "net/stream_server.h"

namespace weir::net {

class StreamConnection;

// What a connection needs of its server.
class StreamConnectionHost {
 public:
  virtual ~StreamConnectionHost() = default;
  virtual EventLoop& loop() = 0;
  virtual void connection_has_output(StreamConnection& connection) = 0;
  virtual void connection_ended(StreamConnection& connection) = 0;
  virtual void schedule(DeadlineEntry& entry, std::int64_t at_ms) = 0;
};

// One thread. Owned together by the server and the handlers that Asio holds for its socket: a
// handler that was queued before the socket was closed still runs, and finds the connection ended.
class StreamConnection final : public DeadlineEntry,
                               public std::enable_shared_from_this<StreamConnection> {
 public:
  StreamConnection(StreamConnectionHost& host, const StreamLimits& limits, const Clock& clock,
                   StreamSocket socket);

  void start(StreamHandler& handler, const std::string& peer);
  // At most one send; then closes what is to be closed, or lets in what was kept.
  void flush();
  // Closes now and tells the session. Does not call the host.
  void kill();

  std::int64_t check_deadline(std::int64_t now_ms) override;

  bool is_marked = false;  // in the host's list of connections to flush

 private:
  void wait_readable();
  void on_readable();
  void take(std::string_view bytes);
  void wait_writable();
  bool send_some();
  void let_more_in();
  bool may_read() const;
  void end();

  StreamConnectionHost& host_;
  const StreamLimits& limits_;
  const Clock& clock_;
  StreamSocket socket_;
  std::shared_ptr<StreamSession> session_;
  std::string kept_;  // input that the session could not use yet
  std::int64_t stalled_since_ms_ = 0;
  bool waits_readable_ = false;
  bool waits_writable_ = false;
  bool has_read_end_ = false;
  bool is_let_in_ = false;  // let_more_in() is posted
  bool is_ended_ = false;
};

}  // namespace weir::net
