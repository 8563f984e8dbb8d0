// SPDX-License-Identifier: Apache-2.0
// Drives Redis as a queue, pipelined. --mode stream: XADD, XREADGROUP of a consumer group, XACK and
// XDEL. --mode list: LPUSH, LMOVE to a list of running jobs (BLMOVE when it waits), LREM.
#include <fmt/format.h>

#include <charconv>

#include "driver/load.h"
#include "driver/ring.h"

namespace weir::bench {
namespace {

// One command as RESP wants it: an array of texts with their lengths.
std::string command(std::initializer_list<std::string_view> words) {
  std::string out = fmt::format("*{}\r\n", words.size());
  for (const std::string_view word : words) out += fmt::format("${}\r\n{}\r\n", word.size(), word);
  return out;
}

// Reads one reply piece by piece; `is_short` once the input ends before the reply does.
class Reply {
 public:
  explicit Reply(std::string_view text)
      : begin_(text.data()), at_(begin_), end_(at_ + text.size()) {}
  bool is_short() const { return is_short_; }
  std::size_t used() const { return static_cast<std::size_t>(at_ - begin_); }

  // The number behind `type` ('*', '$' or ':'); -1 is RESP's nil.
  std::int64_t number(char type) {
    const auto left = static_cast<std::size_t>(end_ - at_);
    const void* found = left == 0 ? nullptr : std::memchr(at_, '\n', left);
    if (found == nullptr) {
      is_short_ = true;
      return -1;
    }
    const char* line_end = static_cast<const char*>(found);
    if (*at_ != type)
      die(fmt::format("instead of {} the server said: {}", type,
                      std::string_view(at_, static_cast<std::size_t>(line_end - at_))));
    std::int64_t value = 0;
    std::from_chars(at_ + 1, line_end, value);
    at_ = line_end + 1;
    return value;
  }

  std::string_view text() {
    const std::int64_t bytes = number('$');
    if (bytes < 0 || is_short_) return {};
    const auto size = static_cast<std::size_t>(bytes);
    if (static_cast<std::size_t>(end_ - at_) < size + 2) {
      is_short_ = true;
      return {};
    }
    const std::string_view found(at_, size);
    at_ += size + 2;
    return found;
  }

 private:
  const char* begin_;
  const char* at_;
  const char* end_;
  bool is_short_ = false;
};

class Redis : public WireSession {
 public:
  Redis(Flow& flow, Role role) : WireSession(flow, role), flight_(2 * flow.options().depth) {}

  void fill() final {
    const std::size_t depth = flow_.options().depth;
    if (can_claim() && in_flight_ < depth) claim(depth - in_flight_);
    std::uint64_t number = 0;
    while (can_put() && in_flight_ < depth && flow_.take_put(number)) {
      put(number);
      flight_.push({Step::put, number});
      ++in_flight_;
    }
  }

 protected:
  // removed: the first half of an ack, whose answer ends nothing yet.
  enum class Step : std::uint8_t { put, claim, removed, ack };
  struct Request {
    Step step = Step::put;
    std::uint64_t number = 0;  // of the job, or of jobs wanted by a claim
  };

  virtual void put(std::uint64_t number) = 0;
  // Claims at most `room` jobs.
  virtual void claim(std::size_t room) = 0;
  // Reads the answers to a put and a claim; tells the flow only of a whole one.
  virtual void on_put(Reply& reply) = 0;
  virtual void on_claim(Reply& reply, std::uint64_t wanted) = 0;

  void parse() final {
    while (flight_.size() > 0 && !wire_.input().empty()) {
      Reply reply(wire_.input());
      const Request request = flight_.front();
      if (request.step == Step::claim) {
        on_claim(reply, request.number);
      } else if (request.step == Step::put) {
        on_put(reply);
        if (!reply.is_short()) flow_.put_done(request.number);
      } else if (reply.number(':') != 1 && !reply.is_short()) {
        flow_.broken("an ack removed nothing", request.number);
      } else if (!reply.is_short() && request.step == Step::ack) {
        flow_.acked(request.number);
      }
      if (reply.is_short()) return;
      if (request.step == Step::put || request.step == Step::ack) --in_flight_;
      flight_.drop_front();
      wire_.consume(reply.used());
    }
  }

  bool may_wait() const { return !can_put() && in_flight_ == 0; }

  Ring<Request> flight_;
  std::size_t in_flight_ = 0;  // jobs asked for or being put or acked
};

class RedisStream final : public Redis {
 public:
  RedisStream(Flow& flow, Role role, std::size_t index)
      : Redis(flow, role), key_(flow.options().queue) {
    const std::string payload_length = std::to_string(flow.options().payload_bytes);
    put_head_ = fmt::format("*5\r\n$4\r\nXADD\r\n${}\r\n{}\r\n$1\r\n*\r\n$1\r\np\r\n${}\r\n",
                            key_.size(), key_, payload_length);
    ack_head_ = fmt::format("*4\r\n$4\r\nXACK\r\n${}\r\n{}\r\n$1\r\ng\r\n$", key_.size(), key_);
    delete_head_ = fmt::format("*3\r\n$4\r\nXDEL\r\n${}\r\n{}\r\n$", key_.size(), key_);
    consumer_ = "c" + std::to_string(index);
  }

 protected:
  void greet() override {
    wire_.out() += command({"XGROUP", "CREATE", key_, "g", "0", "MKSTREAM"});
    const std::string answer = wire_.ask_line();
    if (answer != "+OK" && !answer.starts_with("-BUSYGROUP")) die("XGROUP: " + answer);
  }

  void put(std::uint64_t number) override {
    wire_.out() += put_head_;
    flow_.append_payload(wire_.out(), number);
    wire_.out() += "\r\n";
  }

  // One XREADGROUP at a time, for all the room there is.
  void claim(std::size_t room) override {
    if (is_reading_) return;
    const bool waits = may_wait() && !flow_.has_claims();
    const std::uint64_t wanted = flow_.take_claims(room, waits);
    if (wanted == 0) return;
    const std::string count = std::to_string(wanted);
    wire_.out() += waits ? command({"XREADGROUP", "GROUP", "g", consumer_, "COUNT", count, "BLOCK",
                                    "0", "STREAMS", key_, ">"})
                         : command({"XREADGROUP", "GROUP", "g", consumer_, "COUNT", count,
                                    "STREAMS", key_, ">"});
    flight_.push({Step::claim, wanted});
    in_flight_ += wanted;
    is_reading_ = true;
  }

  void on_put(Reply& reply) override { reply.text(); }

  void on_claim(Reply& reply, std::uint64_t wanted) override {
    std::int64_t count = 0;
    if (reply.number('*') > 0) {  // one stream: its name and its entries
      reply.number('*');
      reply.text();
      count = reply.number('*');
    }
    entries_.clear();
    for (std::int64_t i = 0; i < count && !reply.is_short(); ++i) {
      reply.number('*');
      const std::string_view id = reply.text();
      reply.number('*');
      reply.text();
      entries_.push_back({id, reply.text()});
    }
    if (reply.is_short()) return;
    for (const Entry& entry : entries_) ack(entry.id, entry.payload);
    is_reading_ = false;
    in_flight_ -= wanted - entries_.size();
    flow_.return_claims(wanted - entries_.size());
  }

 private:
  struct Entry {
    std::string_view id, payload;
  };

  void ack(std::string_view id, std::string_view payload) {
    const std::uint64_t number = flow_.number_of(payload);
    flow_.claimed(number);
    std::string& out = wire_.out();
    const char length[2] = {static_cast<char>('0' + id.size() / 10),
                            static_cast<char>('0' + id.size() % 10)};
    out.append(ack_head_).append(length, 2).append("\r\n").append(id).append("\r\n");
    out.append(delete_head_).append(length, 2).append("\r\n").append(id).append("\r\n");
    flight_.push({Step::removed, number});
    flight_.push({Step::ack, number});
  }

  std::string key_, consumer_, put_head_, ack_head_, delete_head_;
  std::vector<Entry> entries_;
  bool is_reading_ = false;
};

class RedisList final : public Redis {
 public:
  RedisList(Flow& flow, Role role)
      : Redis(flow, role), waiting_(flow.options().queue), running_(waiting_ + ":running") {
    put_head_ = fmt::format("*3\r\n$5\r\nLPUSH\r\n${}\r\n{}\r\n${}\r\n", waiting_.size(), waiting_,
                            flow.options().payload_bytes);
    ack_head_ = fmt::format("*4\r\n$4\r\nLREM\r\n${}\r\n{}\r\n$2\r\n-1\r\n${}\r\n", running_.size(),
                            running_, flow.options().payload_bytes);
    move_ = command({"LMOVE", waiting_, running_, "RIGHT", "LEFT"});
    wait_ = command({"BLMOVE", waiting_, running_, "RIGHT", "LEFT", "0"});
  }

 protected:
  void greet() override {}

  void put(std::uint64_t number) override {
    wire_.out() += put_head_;
    flow_.append_payload(wire_.out(), number);
    wire_.out() += "\r\n";
  }

  void claim(std::size_t room) override {
    const bool waits = may_wait() && !flow_.has_claims();
    const std::uint64_t wanted = flow_.take_claims(room, waits);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      wire_.out() += waits ? wait_ : move_;
      flight_.push({Step::claim, 1});
    }
    in_flight_ += wanted;
  }

  void on_put(Reply& reply) override { reply.number(':'); }

  void on_claim(Reply& reply, std::uint64_t) override {
    const std::string_view payload = reply.text();
    if (reply.is_short()) return;
    if (payload.empty()) {
      --in_flight_;
      flow_.return_claims(1);
      return;
    }
    const std::uint64_t number = flow_.number_of(payload);
    flow_.claimed(number);
    wire_.out().append(ack_head_).append(payload).append("\r\n");
    flight_.push({Step::ack, number});
  }

 private:
  std::string waiting_, running_, put_head_, ack_head_, move_, wait_;
};

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  using weir::bench::Flow, weir::bench::Role, weir::bench::Session;
  const weir::bench::Options options = weir::bench::read_options(count, arguments, "stream | list");
  std::size_t index = 0;
  return weir::bench::run_load(options, [&](Flow& flow, Role role) -> std::unique_ptr<Session> {
    if (options.mode == "list") return std::make_unique<weir::bench::RedisList>(flow, role);
    if (options.mode != "stream") weir::bench::die("--mode is stream or list");
    return std::make_unique<weir::bench::RedisStream>(flow, role, index++);
  });
}
