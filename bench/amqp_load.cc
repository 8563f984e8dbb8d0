// SPDX-License-Identifier: Apache-2.0
// Drives RabbitMQ over AMQP 0-9-1: persistent messages with publisher confirms, consumers with a
// prefetch of --depth and one ack a message. --mode classic | quorum: the type of the durable
// queue.
//
// A consumer's ack has no answer, so it counts when it is sent. To prove that the acks arrived,
// each consumer ends with a question on its channel, and the queue must hold what it held before
// once all connections are closed.
#include <fmt/format.h>
#include <poll.h>

#include "driver/amqp.h"
#include "driver/load.h"
#include "driver/ring.h"

namespace weir::bench {
namespace {

using amqp::Frame;
using amqp::FrameType;
using amqp::Writer;

constexpr std::uint16_t kChannel = 1;
constexpr int kSettleMs = 300;
constexpr std::uint64_t kFrameBytesMax = 131'072;

// A connection with one open channel, spoken to with blocking questions.
class Connection {
 public:
  explicit Connection(Wire& wire) : wire_(wire) {}

  void open() {
    wire_.out() += std::string_view("AMQP\0\0\x09\x01", 8);
    await(amqp::connection_start);
    method(0, amqp::connection_start_ok)
        .u32(0)
        .short_text("PLAIN")
        .long_text(std::string_view("\0guest\0guest", 12))
        .short_text("en_US")
        .end();
    await(amqp::connection_tune);
    method(0, amqp::connection_tune_ok).u16(kChannel).u32(kFrameBytesMax).u16(0).end();
    method(0, amqp::connection_open).short_text("/").short_text("").u8(0).end();
    await(amqp::connection_open_ok);
    method(kChannel, amqp::channel_open).short_text("").end();
    await(amqp::channel_open_ok);
  }

  // Declares the queue (or, passive, only asks for it); returns how many messages are ready.
  std::uint64_t declare(const Options& options, bool is_passive) {
    Writer out = method(kChannel, amqp::queue_declare);
    out.u16(0).short_text(options.queue).u8(is_passive ? 1 : 2);  // bit 1: durable
    std::string arguments;
    if (!is_passive) {
      Writer table(arguments);
      table.short_text("x-queue-type").u8('S').long_text(options.mode);
    }
    out.long_text(arguments).end();
    return await(amqp::queue_declare_ok, [](amqp::Reader content) {
      content.short_text();
      return content.number(4);
    });
  }

  void prefetch(std::size_t count) {
    method(kChannel, amqp::basic_qos).u32(0).u16(count).u8(0).end();
    await(amqp::basic_qos_ok);
  }
  void confirm() {
    method(kChannel, amqp::confirm_select).u8(0).end();
    await(amqp::confirm_select_ok);
  }

  Writer method(std::uint16_t channel, amqp::Method which) {
    return Writer(wire_.out()).begin_method(channel, which);
  }

 private:
  std::uint64_t await(amqp::Method wanted) {
    return await(wanted, [](amqp::Reader) { return std::uint64_t{0}; });
  }
  // Skips what else comes: jobs that nobody asked for stay the server's.
  template <typename Read>
  std::uint64_t await(amqp::Method wanted, Read read) {
    wire_.flush();
    while (true) {
      const Frame frame = amqp::read_frame(wire_.input());
      if (frame.whole_bytes == 0) {
        wire_.receive();
        continue;
      }
      const bool is_found = frame.type == FrameType::method && frame.method == wanted;
      if (!is_found && frame.type == FrameType::method && frame.method != amqp::basic_deliver)
        die(fmt::format("method {} instead of {}: {}", frame.method, std::uint32_t{wanted},
                        frame.content));
      const std::uint64_t found = is_found ? read(amqp::Reader(frame.content)) : 0;
      wire_.consume(frame.whole_bytes);
      if (is_found) return found;
    }
  }

  Wire& wire_;
};

class Amqp final : public WireSession {
 public:
  Amqp(Flow& flow, Role role, std::size_t index)
      : WireSession(flow, role),
        is_first_(index == 0),
        held_(flow.options().depth),
        unconfirmed_(kTagCount, 0) {
    const Options& options = flow.options();
    Writer head(put_head_);
    head.begin_method(kChannel, amqp::basic_publish);
    head.u16(0).short_text("").short_text(options.queue).u8(0).end();
    head.begin(FrameType::header, kChannel);
    head.u16(60).u16(0).u64(options.payload_bytes).u16(0x1000).u8(2).end();  // delivery mode 2
    Writer body(put_head_);
    body.u8(static_cast<std::uint8_t>(FrameType::body)).u16(kChannel).u32(options.payload_bytes);
  }

  void fill() override {
    std::uint64_t number = 0;
    while (can_put() && puts_ < flow_.options().depth && flow_.take_put(number)) {
      wire_.out() += put_head_;
      flow_.append_payload(wire_.out(), number);
      wire_.out() += amqp::kFrameEnd;
      unconfirmed_[next_tag_++ % kTagCount] = number + 1;
      ++puts_;
    }
    for (; held_.size() > 0 && flow_.may_ack(); held_.drop_front()) {
      const Job job = held_.front();
      Writer(wire_.out()).begin_method(kChannel, amqp::basic_ack).u64(job.tag).u8(0).end();
      flow_.acked(job.number);
    }
  }

  // Acks are handled in order: an answer to a question behind them says that they were read. A
  // channel of a quorum queue may still keep some of them for itself, which hanging up would lose.
  void settle() override {
    if (!can_claim()) return;
    if (is_first_) poll(nullptr, 0, kSettleMs);
    wire_.block();
    Connection(wire_).prefetch(1);
  }

 protected:
  void greet() override {
    if (flow_.options().depth * 2 > kTagCount) die("--depth is too large");
    Connection connection(wire_);
    connection.open();
    connection.declare(flow_.options(), false);
    if (can_put()) connection.confirm();
    if (!can_claim()) return;
    connection.prefetch(flow_.options().depth);
    connection.method(kChannel, amqp::basic_consume)
        .u16(0)
        .short_text(flow_.options().queue)
        .short_text("c")
        .u8(0)
        .u32(0)
        .end();  // its answer comes before the first job and is read by parse
    wire_.flush();
  }

  void parse() override {
    while (true) {
      const Frame frame = amqp::read_frame(wire_.input());
      if (frame.whole_bytes == 0) return;
      if (frame.type == FrameType::method) {
        on_method(frame);
      } else if (frame.type == FrameType::body) {
        on_job(frame.content);
      }
      wire_.consume(frame.whole_bytes);
    }
  }

 private:
  // More tags than can be unconfirmed at a time.
  static constexpr std::size_t kTagCount = 65'536;

  void on_method(const Frame& frame) {
    amqp::Reader content(frame.content);
    if (frame.method == amqp::basic_ack) {
      const std::uint64_t tag = content.number(8);
      if (content.number(1) == 0) {
        confirm(tag);
      } else {
        while (first_tag_ <= tag) confirm(first_tag_++);
      }
    } else if (frame.method == amqp::basic_deliver) {
      content.short_text();
      delivery_tag_ = content.number(8);
    } else if (frame.method != amqp::basic_consume_ok) {
      die(fmt::format("the server sent method {}: {}", frame.method, frame.content));
    }
  }

  void confirm(std::uint64_t tag) {
    std::uint64_t& number = unconfirmed_[tag % kTagCount];
    if (number == 0) return;  // "all up to" names tags that were confirmed one by one
    flow_.put_done(number - 1);
    number = 0;
    --puts_;
  }

  void on_job(std::string_view payload) {
    // With jobs waiting before, the server pushes more than the run takes; those go back unacked.
    if (flow_.take_claims(1, true) == 0) return;
    const std::uint64_t number = flow_.number_of(payload);
    flow_.claimed(number);
    held_.push({number, delivery_tag_});
  }

  struct Job {
    std::uint64_t number = 0, tag = 0;
  };

  const bool is_first_;
  Ring<Job> held_;  // claimed, to be acked
  std::string put_head_;
  std::vector<std::uint64_t> unconfirmed_;  // number + 1 by tag, 0: none
  std::uint64_t next_tag_ = 1, first_tag_ = 1;
  std::size_t puts_ = 0;
  std::uint64_t delivery_tag_ = 0;
};

// What is left once everyone hung up must be what the run was to leave.
void check_rest(const Options& options) {
  constexpr int kTries = 1000;
  const std::uint64_t expected = options.waiting_before() +
                                 (options.has_producer() ? options.jobs : 0) -
                                 (options.has_consumer() ? options.jobs : 0);
  Wire wire;
  wire.connect_to(options.host, options.port);
  Connection connection(wire);
  connection.open();
  std::uint64_t left = 0;
  for (int i = 0; i < kTries; ++i) {
    left = connection.declare(options, true);
    if (left == expected) return;
    poll(nullptr, 0, 10);  // requeuing what was pushed too much takes a moment
  }
  die(fmt::format("{} messages are left instead of {}", left, expected));
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using weir::bench::Flow, weir::bench::Role;
  const weir::bench::Options options =
      weir::bench::read_options(count, arguments, "classic | quorum");
  if (options.mode != "classic" && options.mode != "quorum")
    weir::bench::die("--mode is classic or quorum");
  std::size_t index = 0;
  const int code = weir::bench::run_load(options, [&](Flow& flow, Role role) {
    return std::make_unique<weir::bench::Amqp>(flow, role, index++);
  });
  weir::bench::check_rest(options);
  return code;
}
