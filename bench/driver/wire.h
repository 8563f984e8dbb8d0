// SPDX-License-Identifier: Apache-2.0
// One TCP connection with its buffers: answers are parsed where they lie, requests are gathered and
// leave in one write.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::bench {

// One thread. Ends the program when the server closes the connection.
class Wire {
 public:
  Wire() = default;
  ~Wire();
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  // Connects, blocking; `unblock` switches once the greeting is done.
  void connect_to(const std::string& host, std::uint16_t port);
  void unblock();
  void block();
  int fd() const { return fd_; }

  // Reads what there is (blocking: waits for something).
  void receive();
  // What was read and not consumed yet. Valid until the next receive.
  std::string_view input() const { return {in_.data() + in_begin_, in_end_ - in_begin_}; }
  void consume(std::size_t bytes) { in_begin_ += bytes; }

  // Requests are appended here; flush sends them. Afterwards `is_blocked` says whether some are
  // left because the socket is full.
  std::string& out() { return out_; }
  void flush();
  bool is_blocked() const { return out_sent_ < out_.size(); }

  // Blocking: sends what is gathered and waits for one line; returns it without its end.
  std::string ask_line();

 private:
  int fd_ = -1;
  std::vector<char> in_ = std::vector<char>(256 * 1024);
  std::size_t in_begin_ = 0, in_end_ = 0;
  std::string out_;
  std::size_t out_sent_ = 0;
};

}  // namespace weir::bench
