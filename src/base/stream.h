// SPDX-License-Identifier: Apache-2.0
// Byte streams, between net (which has the sockets) and the doors of line protocols (which have no
// idea of sockets): bytes in, bytes out, and a word when the other side is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace weir {

// One connection as its door sees it. How the input is split never changes the output.
// Thread: I/O. Every call may come from inside `has_output` of another session, never of its own.
class StreamSession {
 public:
  virtual ~StreamSession() = default;

  // Takes from the front of `bytes` what it can use now and returns how much that was. What is left
  // is shown again, with what came behind it, when wants_input() says so. Requires: wants_input().
  // The bytes live as long as the call.
  virtual std::size_t feed(std::string_view bytes) = 0;
  // The peer sends no more; what was not used of its input comes by feed() all the same.
  virtual void feed_end() = 0;
  // False: it has enough in hand. Nothing is read for it until that changes.
  virtual bool wants_input() const = 0;

  // What is to be sent, and how much of it was handed to the kernel.
  virtual std::string_view output() const = 0;
  virtual void sent(std::size_t bytes) = 0;
  // To be closed once the output is sent.
  virtual bool should_close() const = 0;
  // Nothing is in hand: whatever is to come needs more input.
  virtual bool is_idle() const = 0;

  // The connection is closed; no call follows. Output that was not sent() never left.
  virtual void gone() = 0;
};

// What a new connection is told.
struct StreamPeer {
  std::string address;  // for logs
  // There is something to send, or to close, or room for input again. May be called at any time
  // until gone(), also from inside feed(); the answer to it comes later.
  std::function<void()> has_output;
};

class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  // shared_ptr: answers that are still being made may outlive the connection.
  virtual std::shared_ptr<StreamSession> open(StreamPeer peer) = 0;
};

}  // namespace weir
