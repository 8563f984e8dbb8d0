// SPDX-License-Identifier: Apache-2.0
// Drives NATS JetStream: published with an acknowledgement, pulled in batches by a durable consumer
// of a work queue stream, acked with an answer ("double ack"). --mode file | memory: the storage of
// the stream, which the first run creates.
#include <fmt/format.h>

#include <charconv>

#include "driver/load.h"

namespace weir::bench {
namespace {

constexpr const char* kStream = "BENCH";
constexpr const char* kConsumer = "work";

std::string publish(std::string_view subject, std::string_view reply, std::string_view body) {
  return fmt::format("PUB {} {} {}\r\n{}\r\n", subject, reply, body.size(), body);
}

// The words of one line, split at blanks.
struct Words {
  std::array<std::string_view, 6> word;
  std::size_t count = 0;

  explicit Words(std::string_view line) {
    while (!line.empty() && count < word.size()) {
      const std::size_t end = std::min(line.find(' '), line.size());
      if (end > 0) word[count++] = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
    }
  }
};

std::uint64_t number_in(std::string_view text) {
  std::uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ptr == text.data()) die("not a number: " + std::string(text));
  return value;
}

class Nats final : public WireSession {
 public:
  // Subscriptions: 1 = answers to puts, 2 = jobs, 3 = answers to acks; their subjects end with the
  // job's number.
  Nats(Flow& flow, Role role, std::size_t index)
      : WireSession(flow, role),
        is_first_(index == 0),
        inbox_(fmt::format("_INBOX.b{}", index)),
        subject_("jobs." + flow.options().queue),
        pull_subject_(fmt::format("$JS.API.CONSUMER.MSG.NEXT.{}.{}", kStream, kConsumer)) {}

  void fill() override {
    const std::size_t depth = flow_.options().depth;
    if (can_claim() && in_flight_ < depth && pulled_ == 0) pull(depth - in_flight_);
    std::uint64_t number = 0;
    while (can_put() && in_flight_ < depth && flow_.take_put(number)) {
      fmt::format_to(std::back_inserter(wire_.out()), "PUB {} {}.p.{} {}\r\n", subject_, inbox_,
                     number, flow_.options().payload_bytes);
      flow_.append_payload(wire_.out(), number);
      wire_.out() += "\r\n";
      ++in_flight_;
    }
  }

 protected:
  void greet() override {
    const std::string info = wire_.ask_line();
    if (!info.starts_with("INFO ")) die("the server said: " + info);
    wire_.out() += R"(CONNECT {"verbose":false,"pedantic":false,"headers":true,)"
                   R"("no_responders":true,"lang":"c++","version":"1"})"
                   "\r\n";
    wire_.out() +=
        fmt::format("SUB {}.p.* 1\r\nSUB {}.j 2\r\nSUB {}.a.* 3\r\n", inbox_, inbox_, inbox_);
    if (is_first_) create();
    wire_.out() += "PING\r\n";
    const std::string pong = wire_.ask_line();
    if (pong != "PONG") die("the server said: " + pong);
  }

  void parse() override {
    while (true) {
      const std::string_view have = wire_.input();
      const std::size_t line_end = have.find('\n');
      if (line_end == std::string_view::npos) return;
      const std::string_view line = have.substr(0, line_end - 1);
      if (have.starts_with("MSG ")) {
        const Words words(line);
        const std::size_t bytes = number_in(words.word[words.count - 1]);
        const std::size_t whole = line_end + 1 + bytes + 2;
        if (have.size() < whole) return;
        message(words, have.substr(line_end + 1, bytes));
        wire_.consume(whole);
      } else if (line == "PING") {
        wire_.out() += "PONG\r\n";
        wire_.consume(line_end + 1);
      } else if (line == "PONG" || have.starts_with("INFO ")) {
        wire_.consume(line_end + 1);
      } else {
        // An HMSG is a status: a pull that ended without jobs, or nobody who listens.
        die("the server said: " + std::string(have.substr(0, 300)));
      }
    }
  }

 private:
  // Makes stream and consumer; a later run finds them as they are.
  void create() {
    const std::string stream = fmt::format(
        R"({{"name":"{}","subjects":["jobs.>"],"retention":"workqueue","storage":"{}",)"
        R"("num_replicas":1,"discard":"old","max_msgs":-1,"max_bytes":-1,"max_consumers":-1}})",
        kStream, flow_.options().mode);
    const std::string consumer = fmt::format(
        R"({{"stream_name":"{}","config":{{"durable_name":"{}","ack_policy":"explicit",)"
        R"("deliver_policy":"all","replay_policy":"instant","ack_wait":600000000000,)"
        R"("max_ack_pending":100000,"max_waiting":512}}}})",
        kStream, kConsumer);
    wire_.out() += fmt::format("SUB {}.setup 9\r\n", inbox_);
    request(fmt::format("$JS.API.STREAM.CREATE.{}", kStream), stream);
    request(fmt::format("$JS.API.CONSUMER.DURABLE.CREATE.{}.{}", kStream, kConsumer), consumer);
    wire_.out() += "UNSUB 9\r\n";
  }

  void request(const std::string& subject, const std::string& body) {
    wire_.out() += publish(subject, inbox_ + ".setup", body);
    const std::string head = wire_.ask_line();
    const std::string answer = wire_.ask_line();
    if (!head.starts_with("MSG ") || answer.find("\"error\"") != std::string::npos)
      die(subject + ": " + head + " " + answer);
  }

  void pull(std::size_t room) {
    const std::uint64_t wanted = flow_.take_claims(room, !can_put() && in_flight_ == 0);
    if (wanted == 0) return;
    const std::string body = fmt::format(R"({{"batch":{},"expires":600000000000}})", wanted);
    wire_.out() += publish(pull_subject_, inbox_ + ".j", body);
    pulled_ += wanted;
    in_flight_ += wanted;
  }

  void message(const Words& words, std::string_view body) {
    const std::string_view subject = words.word[1];
    switch (words.word[2][0]) {
      case '1':
        if (!body.starts_with(R"({"stream":)")) die("a put was refused: " + std::string(body));
        --in_flight_;
        flow_.put_done(last_number(subject));
        return;
      case '2':
        if (words.count != 5) die("a job without an address for its ack");
        job(words.word[3], body);
        return;
      default:
        if (!body.empty()) die("an ack was refused: " + std::string(body));
        --in_flight_;
        flow_.acked(last_number(subject));
    }
  }

  void job(std::string_view ack_subject, std::string_view payload) {
    const std::uint64_t number = flow_.number_of(payload);
    flow_.claimed(number);
    --pulled_;
    fmt::format_to(std::back_inserter(wire_.out()), "PUB {} {}.a.{} 4\r\n+ACK\r\n", ack_subject,
                   inbox_, number);
  }

  static std::uint64_t last_number(std::string_view subject) {
    return number_in(subject.substr(subject.rfind('.') + 1));
  }

  const bool is_first_;
  const std::string inbox_, subject_, pull_subject_;
  std::size_t in_flight_ = 0;  // jobs asked for, being put or acked
  std::size_t pulled_ = 0;     // of them: asked for by the one open pull
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using weir::bench::Flow, weir::bench::Role;
  const weir::bench::Options options = weir::bench::read_options(count, arguments, "file | memory");
  if (options.mode != "file" && options.mode != "memory")
    weir::bench::die("--mode is file or memory");
  std::size_t index = 0;
  return weir::bench::run_load(options, [&](Flow& flow, Role role) {
    return std::make_unique<weir::bench::Nats>(flow, role, index++);
  });
}
