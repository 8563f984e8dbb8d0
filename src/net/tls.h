// SPDX-License-Identifier: Apache-2.0
// TLS (server side) as a filter between bytes: cipher text in, plain text out, and back. No
// sockets.
//
// Why not asio::ssl: its stream keeps two 17 KiB buffers per connection and would make a second
// path through the session; here a TLS connection is read, sent, counted and cut off by the same
// code as a plain one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http_server.h"

namespace weir::net {

// The certificate in force. Immutable and shared: connections keep the one that they began with
// when it is replaced.
class TlsContext {
 public:
  // TLS 1.2 at least, no renegotiation, ALPN http/1.1. Errors: io_error, naming the file and
  // OpenSSL's reason.
  static Result<std::shared_ptr<const TlsContext>> load(const TlsFiles& files);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  struct Handle;
  const Handle& handle() const { return *handle_; }

 private:
  explicit TlsContext(std::unique_ptr<Handle> handle);
  std::unique_ptr<Handle> handle_;
};

// One connection. One thread.
class TlsSession {
 public:
  enum class State : std::uint8_t { handshake, open, closed, failed };

  explicit TlsSession(std::shared_ptr<const TlsContext> context);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Takes all of `cipher_in`; appends what it held to `plain` and what must be answered to
  // `cipher_out`.
  State feed(std::string_view cipher_in, std::string& plain, std::string& cipher_out);

  // Appends `plain` as records. Requires: state() is open. False: failed.
  bool encrypt(std::string_view plain, std::string& cipher_out);

  // Appends the closing alert.
  void shutdown(std::string& cipher_out);

  State state() const { return state_; }

 private:
  struct Handle;
  State fail_or_close(int result);
  void take_output(std::string& cipher_out);

  std::shared_ptr<const TlsContext> context_;
  std::unique_ptr<Handle> handle_;
  State state_ = State::handshake;
};

}  // namespace weir::net
