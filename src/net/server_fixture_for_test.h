// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: a handler with a few targets, a server on a thread of its own, a
// blocking client socket.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "net/http_server.h"

namespace weir::net {

// /echo answers with the body, /hold keeps the answer, /stream sends two events, /redirect points
// to /elsewhere, /large sends `large_bytes`, /endless streams until the client is gone.
class TargetHandler final : public HttpHandler {
 public:
  HttpHeadVerdict on_head(const HttpRequest&) override { return {.body_bytes_max = 1024 * 1024}; }
  void on_request(HttpRequest request, HttpResponderPtr responder) override {
    ++requests;
    HttpResponse response;
    response.content_type = "text/plain";
    if (request.target == "/hold") {
      responder->on_abandoned([this] { ++abandoned; });
      held.push_back(std::move(responder));
      return;
    }
    if (request.target == "/stream" || request.target == "/endless") {
      responder->begin_stream(response);
      responder->write("one,");
      responder->write("two,");
      if (request.target == "/stream") return responder->end_stream();
      held.push_back(std::move(responder));
      return;
    }
    if (request.target == "/redirect") {
      response.status = 302;
      response.headers = {{"Location", "/elsewhere"}};
    }
    response.body = request.target == "/large" ? std::string(large_bytes, 'x') : request.body;
    if (request.target == "/headers")
      response.body = std::string(request.header("x-empty")) + "|" + request.peer;
    responder->respond(std::move(response));
  }

  std::size_t large_bytes = 4 * 1024 * 1024;
  std::atomic<int> requests = 0;
  std::atomic<int> abandoned = 0;
  std::vector<HttpResponderPtr> held;
};

// The server's loop on its own thread, for tests with a blocking client.
class ThreadedServer {
 public:
  explicit ThreadedServer(const TlsFiles& tls = {}, HttpLimits limits = {})
      : server(loop, handler, limits) {
    const auto bound = server.listen("127.0.0.1:0", tls);
    EXPECT_TRUE(bound) << bound.error().detail;
    address = bound.value_or("");
    thread_ = std::thread([this] {
      while (!stops_) {
        loop.run_round(-1);
        server.flush();
      }
    });
  }
  ~ThreadedServer() {
    loop.post([this] { stops_ = true; });
    thread_.join();
  }
  std::string url(const std::string& path) const { return "http://" + address + path; }

  EventLoop loop;
  TargetHandler handler;
  HttpServer server;
  std::string address;

 private:
  std::thread thread_;
  bool stops_ = false;
};

// A blocking client socket with a time limit on each call, so that a lost answer fails the test
// instead of hanging it.
class TestSocket {
 public:
  explicit TestSocket(const std::string& address)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const std::size_t colon = address.rfind(':');
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
    ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr generic{};
    std::memcpy(&generic, &peer, sizeof generic);
    EXPECT_EQ(::connect(fd_, &generic, sizeof peer), 0);
  }
  ~TestSocket() { close(); }
  TestSocket(TestSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  TestSocket& operator=(TestSocket&&) = delete;

  void send(std::string_view bytes) {
    ASSERT_EQ(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // What is there now, without waiting; "EOF" when the peer has closed.
  std::string receive_now() {
    std::string out(65536, '\0');
    const ssize_t count = ::recv(fd_, out.data(), out.size(), MSG_DONTWAIT);
    if (count == 0) return "EOF";
    out.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return out;
  }
  // Reads until `end` was seen or the peer closed.
  std::string receive_until(std::string_view end) {
    std::string out;
    std::string piece(65536, '\0');
    while (out.find(end) == std::string::npos) {
      const ssize_t count = ::recv(fd_, piece.data(), piece.size(), 0);
      if (count <= 0) break;
      out.append(piece, 0, static_cast<std::size_t>(count));
    }
    return out;
  }
  std::string receive_all() { return receive_until("\x01 never"); }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_;
};

}  // namespace weir::net
