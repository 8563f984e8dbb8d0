// SPDX-License-Identifier: Apache-2.0
// Drives a server that speaks the beanstalkd protocol: put, reserve, delete, pipelined. See
// driver/options.h for the options and driver/flow.h for what is proved.
#include <charconv>

#include "driver/load.h"
#include "driver/ring.h"

namespace weir::bench {
namespace {

constexpr const char* kTimeToRunS = "600";

// Takes a decimal number and the one character behind it.
std::uint64_t take_number(const char*& at, const char* end) {
  std::uint64_t value = 0;
  while (at < end && *at >= '0' && *at <= '9')
    value = value * 10 + static_cast<std::uint64_t>(*at++ - '0');
  ++at;
  return value;
}

void append_number(std::string& out, std::uint64_t value) {
  char digits[20];
  const auto done = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, done.ptr);
}

class Beanstalk final : public WireSession {
 public:
  Beanstalk(Flow& flow, Role role) : WireSession(flow, role), flight_(flow.options().depth) {
    const Options& options = flow.options();
    put_head_ = "put 0 " + std::to_string(options.delay_s) + " " + kTimeToRunS + " " +
                std::to_string(options.payload_bytes) + "\r\n";
    spreads_ = options.queues > 1 && !options.has_consumer();
  }

  void fill() override {
    const std::size_t depth = flow_.options().depth;
    if (can_claim() && flight_.size() < depth) {
      // A connection that also puts never waits: its puts would wait behind it.
      const bool may_wait = !can_put() && flight_.size() == 0;
      std::uint64_t claims = flow_.take_claims(depth - flight_.size(), may_wait);
      for (; claims > 0; --claims) {
        wire_.out() += "reserve\r\n";
        flight_.push({Step::claim, 0});
      }
    }
    std::uint64_t number = 0;
    while (can_put() && flight_.size() < depth && flow_.take_put(number)) put(number);
  }

 protected:
  void greet() override {
    if (can_put()) ask("use " + flow_.options().queue, "USING ");
    if (can_claim() && flow_.options().queue != "default") {
      ask("watch " + flow_.options().queue, "WATCHING ");
      ask("ignore default", "WATCHING ");
    }
  }

  void parse() override {
    while (true) {
      const std::string_view have = wire_.input();
      const std::size_t line_end = have.find('\n');
      if (line_end == std::string_view::npos) return;
      const char* at = have.data();
      const char* end = at + line_end;
      if (have.starts_with("INSERTED ")) {
        flow_.put_done(expect(Step::put).number);
        wire_.consume(line_end + 1);
      } else if (have.starts_with("RESERVED ")) {
        at += 9;
        const std::uint64_t id = take_number(at, end);
        const std::size_t bytes = take_number(at, end);
        const std::size_t whole = line_end + 1 + bytes + 2;
        if (have.size() < whole) return;
        reserved(id, have.substr(line_end + 1, bytes));
        wire_.consume(whole);
      } else if (have.starts_with("DELETED\r")) {
        flow_.acked(expect(Step::ack).number);
        wire_.consume(line_end + 1);
      } else if (have.starts_with("USING ") && spreads_) {
        expect(Step::use);
        wire_.consume(line_end + 1);
      } else {
        die("the server said: " + std::string(have.substr(0, line_end)));
      }
    }
  }

 private:
  enum class Step : std::uint8_t { use, put, claim, ack };
  struct Request {
    Step step = Step::put;
    std::uint64_t number = 0;
  };

  void ask(const std::string& command, std::string_view expected) {
    wire_.out() += command + "\r\n";
    const std::string answer = wire_.ask_line();
    if (!answer.starts_with(expected)) die(command + ": the server said: " + answer);
  }

  void put(std::uint64_t number) {
    std::string& out = wire_.out();
    if (spreads_) {
      out += "use " + flow_.options().queue + "-" +
             std::to_string(number % flow_.options().queues) + "\r\n";
      flight_.push({Step::use, 0});
    }
    out += put_head_;
    flow_.append_payload(out, number);
    out += "\r\n";
    flight_.push({Step::put, number});
  }

  void reserved(std::uint64_t id, std::string_view payload) {
    expect(Step::claim);
    const std::uint64_t number = flow_.number_of(payload);
    flow_.claimed(number);
    std::string& out = wire_.out();
    out += "delete ";
    append_number(out, id);
    out += "\r\n";
    flight_.push({Step::ack, number});
  }

  Request expect(Step step) {
    if (flight_.size() == 0) die("an answer that nobody asked for");
    const Request request = flight_.pop();
    if (request.step != step) die("an answer of another command");
    return request;
  }

  Ring<Request> flight_;
  std::string put_head_;
  bool spreads_ = false;
};

// A reserve that stays unanswered: nothing is ever put into the queue.
std::unique_ptr<Wire> make_poller(const Options& options, const std::string& queue) {
  auto wire = std::make_unique<Wire>();
  wire->connect_to(options.host, options.port);
  wire->out() += "watch " + queue + "\r\n";
  if (!wire->ask_line().starts_with("WATCHING ")) die("a poller may not watch " + queue);
  wire->out() += "ignore default\r\n";
  if (!wire->ask_line().starts_with("WATCHING ")) die("a poller must ignore default");
  wire->out() += "reserve\r\n";
  wire->flush();
  return wire;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using weir::bench::Beanstalk;
  using weir::bench::Flow;
  using weir::bench::Role;
  return weir::bench::run_load(
      weir::bench::read_options(count, arguments, ""),
      [](Flow& flow, Role role) { return std::make_unique<Beanstalk>(flow, role); },
      weir::bench::make_poller);
}
