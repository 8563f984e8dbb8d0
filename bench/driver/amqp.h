// SPDX-License-Identifier: Apache-2.0
// As much of AMQP 0-9-1's wire format as the driver needs: numbers, short texts, frames.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "driver/options.h"

namespace weir::bench::amqp {

enum class FrameType : std::uint8_t { method = 1, header = 2, body = 3, heartbeat = 8 };
constexpr char kFrameEnd = '\xCE';
constexpr std::size_t kFrameOverhead = 8;  // type, channel, size in front; one byte behind

// A method's class and number in one: class * 1000 + method.
enum Method : std::uint32_t {
  connection_start = 10'010,
  connection_start_ok = 10'011,
  connection_tune = 10'030,
  connection_tune_ok = 10'031,
  connection_open = 10'040,
  connection_open_ok = 10'041,
  channel_open = 20'010,
  channel_open_ok = 20'011,
  queue_declare = 50'010,
  queue_declare_ok = 50'011,
  basic_qos = 60'010,
  basic_qos_ok = 60'011,
  basic_consume = 60'020,
  basic_consume_ok = 60'021,
  basic_publish = 60'040,
  basic_deliver = 60'060,
  basic_ack = 60'080,
  confirm_select = 85'010,
  confirm_select_ok = 85'011,
};

// Builds frames at the end of a text.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}
  Writer& u8(std::uint64_t v) { return number(v, 1); }
  Writer& u16(std::uint64_t v) { return number(v, 2); }
  Writer& u32(std::uint64_t v) { return number(v, 4); }
  Writer& u64(std::uint64_t v) { return number(v, 8); }
  Writer& short_text(std::string_view text) {
    u8(text.size());
    out_ += text;
    return *this;
  }
  Writer& long_text(std::string_view text) {
    u32(text.size());
    out_ += text;
    return *this;
  }
  Writer& begin(FrameType type, std::uint16_t channel) {
    u8(static_cast<std::uint8_t>(type)).u16(channel).u32(0);
    begin_ = out_.size();
    return *this;
  }
  Writer& begin_method(std::uint16_t channel, Method method) {
    return begin(FrameType::method, channel).u16(method / 1000).u16(method % 1000);
  }
  void end() {
    const std::size_t size = out_.size() - begin_;
    for (std::size_t i = 0; i < 4; ++i)
      out_[begin_ - 4 + i] = static_cast<char>(size >> (8 * (3 - i)) & 255);
    out_ += kFrameEnd;
  }

 private:
  Writer& number(std::uint64_t value, unsigned bytes) {
    while (bytes-- > 0) out_ += static_cast<char>(value >> (8 * bytes) & 255);
    return *this;
  }
  std::string& out_;
  std::size_t begin_ = 0;
};

// Reads the fields of one frame.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  std::string_view short_text() { return take(number(1)); }
  std::string_view rest() const { return left_; }

 private:
  std::string_view take(std::size_t bytes) {
    if (left_.size() < bytes) die("a frame ends before its fields");
    const std::string_view found = left_.substr(0, bytes);
    left_.remove_prefix(bytes);
    return found;
  }
  std::string_view left_;
};

struct Frame {
  FrameType type = FrameType::method;
  std::uint32_t method = 0;     // of a method frame
  std::string_view content;     // behind class and method
  std::size_t whole_bytes = 0;  // 0: not all of it is there yet
};

// The frame at the start of `text`.
inline Frame read_frame(std::string_view text) {
  Frame frame;
  if (text.size() < kFrameOverhead) return frame;
  Reader head(text.substr(0, 7));
  frame.type = static_cast<FrameType>(head.number(1));
  head.number(2);
  const std::size_t size = head.number(4);
  if (text.size() < size + kFrameOverhead) return frame;
  if (text[size + 7] != kFrameEnd) die("a frame without its end");
  frame.whole_bytes = size + kFrameOverhead;
  Reader content(text.substr(7, size));
  if (frame.type == FrameType::method) {
    const std::uint64_t group = content.number(2);
    frame.method = static_cast<std::uint32_t>(group * 1000 + content.number(2));
  }
  frame.content = content.rest();
  return frame;
}

}  // namespace weir::bench::amqp
