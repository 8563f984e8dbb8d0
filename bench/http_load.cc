// SPDX-License-Identifier: Apache-2.0
// Drives an HTTP door over keep-alive connections, one request in flight each, on one thread with
// epoll.
//
//   http_load HOST:PORT SHAPE CONNECTIONS JOBS PAYLOAD_BYTES
//
// Shapes: enqueue (one job a request), cycle (enqueue, claim and ack, one job a request), batch
// (the same, 100 jobs a request), fill (enqueue by batches of 1,000). Prints one JSON line: jobs,
// seconds, rate, p50 and p99 of a request in microseconds. Every job of cycle and batch is counted
// when its ack was answered with "completed".
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"

namespace weir::bench {
namespace {

enum class Shape { enqueue, cycle, batch, fill };
enum class Step { enqueue, claim, ack };

struct Options {
  std::string host;
  int port = 0;
  Shape shape = Shape::enqueue;
  std::size_t connections = 1;
  std::uint64_t jobs = 0;
  std::size_t payload_bytes = 100;
};

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "http_load: %s\n", why.c_str());
  std::exit(1);
}

std::string request(std::string_view method, std::string_view path, std::string_view body) {
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
      "{}\r\n\r\n{}",
      method, path, body.size(), body);
}

// Every text between `open` and the next quote.
std::vector<std::string_view> all_between(std::string_view text, std::string_view open) {
  std::vector<std::string_view> found;
  for (std::size_t at = text.find(open); at != std::string_view::npos; at = text.find(open, at)) {
    at += open.size();
    found.push_back(text.substr(at, text.find('"', at) - at));
  }
  return found;
}

class Load;

class Connection {
 public:
  Connection(Load& load, std::size_t index) : load_(load), index_(index) {}
  void open(const Options& options, int epoll);
  void begin();
  void readable();

 private:
  void send_text(const std::string& text);
  void on_response(int status, std::string_view body);
  std::string ack_request(std::string_view claimed);

  Load& load_;
  std::size_t index_;
  int fd_ = -1;
  Step step_ = Step::enqueue;
  std::string in_;
  std::int64_t sent_us_ = 0;
  std::size_t claimed_count_ = 0;
};

class Load {
 public:
  explicit Load(Options options) : options_(std::move(options)) {
    const std::string text(options_.payload_bytes > 12 ? options_.payload_bytes - 12 : 1, 'x');
    const std::string job = fmt::format(R"({{"payload":{{"text":"{}"}}}})", text);
    per_request_ = options_.shape == Shape::batch ? 100 : options_.shape == Shape::fill ? 1000 : 1;
    if (per_request_ == 1) {
      enqueue_ = request("POST", "/v1/queues/bench/jobs", job);
    } else {
      std::string body = R"({"jobs":[)";
      for (std::size_t i = 0; i < per_request_; ++i) body += (i == 0 ? "" : ",") + job;
      enqueue_ = request("POST", "/v1/queues/bench/jobs/batch", body + "]}");
    }
    claim_ = request("POST", "/v1/claim",
                     fmt::format(R"({{"queues":["bench"],"max":{},"wait":"30s"}})", per_request_));
  }

  int run();

  bool take_work() {
    if (started_ >= options_.jobs) return false;
    started_ += per_request_;
    return true;
  }
  void done(std::size_t jobs) { finished_ += jobs; }
  void latency(std::int64_t us) { latencies_us_.push_back(us); }
  bool is_cycle() const { return options_.shape == Shape::cycle || options_.shape == Shape::batch; }
  std::size_t per_request() const { return per_request_; }
  const std::string& enqueue_request() const { return enqueue_; }
  const std::string& claim_request() const { return claim_; }
  std::int64_t now_us() const { return clock_.boot_us(); }

 private:
  Options options_;
  SystemClock clock_;
  std::size_t per_request_ = 1;
  std::string enqueue_, claim_;
  std::uint64_t started_ = 0, finished_ = 0;
  std::vector<std::int64_t> latencies_us_;
};

void Connection::open(const Options& options, int epoll) {
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(options.port));
  inet_pton(AF_INET, options.host.c_str(), &to.sin_addr);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) die("can't connect");
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = index_;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd_, &event);
}

void Connection::send_text(const std::string& text) {
  sent_us_ = load_.now_us();
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t sent = send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent <= 0) die("the server closed a connection");
    done += static_cast<std::size_t>(sent);
  }
}

void Connection::begin() {
  if (!load_.take_work()) {
    // A claim may have given fewer than were enqueued: what is left is still claimed by somebody.
    if (!load_.is_cycle()) return;
    step_ = Step::claim;
    send_text(load_.claim_request());
    return;
  }
  step_ = Step::enqueue;
  send_text(load_.enqueue_request());
}

std::string Connection::ack_request(std::string_view claimed) {
  const auto ids = all_between(claimed, R"("id":")");
  const auto tokens = all_between(claimed, R"("lease_token":")");
  if (ids.size() != tokens.size()) die("a claim answer has other ids than tokens");
  claimed_count_ = ids.size();
  if (load_.per_request() == 1 && ids.size() == 1) {
    return request("POST", fmt::format("/v1/jobs/{}/ack", ids[0]),
                   fmt::format(R"({{"lease_token":"{}"}})", tokens[0]));
  }
  std::string body = R"({"items":[)";
  for (std::size_t i = 0; i < ids.size(); ++i) {
    body +=
        fmt::format(R"({}{{"id":"{}","lease_token":"{}"}})", i == 0 ? "" : ",", ids[i], tokens[i]);
  }
  return request("POST", "/v1/ack", body + "]}");
}

void Connection::on_response(int status, std::string_view body) {
  load_.latency(load_.now_us() - sent_us_);
  if (status >= 300) die(fmt::format("status {}: {}", status, body.substr(0, 300)));
  switch (step_) {
    case Step::enqueue:
      if (!load_.is_cycle()) {
        load_.done(load_.per_request());
        begin();
        return;
      }
      step_ = Step::claim;
      send_text(load_.claim_request());
      return;
    case Step::claim: {
      const std::string ack = ack_request(body);
      if (claimed_count_ == 0) {
        send_text(load_.claim_request());
        return;
      }
      step_ = Step::ack;
      send_text(ack);
      return;
    }
    case Step::ack: {
      const auto completed = all_between(body, R"("status":")");
      const auto good = std::count(completed.begin(), completed.end(), "completed");
      if (static_cast<std::size_t>(good) != claimed_count_)
        die("an ack was refused: " + std::string(body.substr(0, 300)));
      load_.done(claimed_count_);
      begin();
      return;
    }
  }
}

void Connection::readable() {
  char buffer[65536];
  const ssize_t got = recv(fd_, buffer, sizeof buffer, 0);
  if (got <= 0) die("the server closed a connection");
  in_.append(buffer, static_cast<std::size_t>(got));
  const std::size_t head_end = in_.find("\r\n\r\n");
  if (head_end == std::string::npos) return;
  const std::string head = to_lower(std::string_view(in_).substr(0, head_end));
  const std::size_t at = head.find("content-length: ");
  if (at == std::string::npos) die("an answer without Content-Length");
  const std::size_t length = std::strtoul(head.c_str() + at + 16, nullptr, 10);
  if (in_.size() < head_end + 4 + length) return;
  const int status = std::atoi(in_.c_str() + 9);
  const std::string body = in_.substr(head_end + 4, length);
  in_.erase(0, head_end + 4 + length);
  on_response(status, body);
}

int Load::run() {
  const int epoll = epoll_create1(EPOLL_CLOEXEC);
  std::vector<std::unique_ptr<Connection>> connections;
  for (std::size_t i = 0; i < options_.connections; ++i) {
    connections.push_back(std::make_unique<Connection>(*this, i));
    connections.back()->open(options_, epoll);
  }
  const std::int64_t start = now_us();
  for (const auto& connection : connections) connection->begin();
  std::vector<epoll_event> events(options_.connections);
  while (finished_ < options_.jobs) {
    const int count = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 60'000);
    if (count <= 0) die("no answer for a minute");
    for (int i = 0; i < count; ++i)
      connections[events[static_cast<std::size_t>(i)].data.u64]->readable();
  }
  const double seconds = static_cast<double>(now_us() - start) / 1e6;
  std::sort(latencies_us_.begin(), latencies_us_.end());
  const auto percentile = [&](std::size_t p) {
    return latencies_us_[(latencies_us_.size() - 1) * p / 100];
  };
  const std::string line = fmt::format(
      R"({{"jobs":{},"seconds":{:.3f},"jobs_per_s":{:.0f},"p50_us":{},"p99_us":{}}})", finished_,
      seconds, static_cast<double>(finished_) / seconds, percentile(50), percentile(99));
  std::printf("%s\n", line.c_str());
  return 0;
}

Options parse(char** arguments) {
  Options options;
  const auto address = split(arguments[1], ':');
  const std::string_view shape = arguments[2];
  if (address.size() != 2) die("the first argument is HOST:PORT");
  options.host = address[0];
  options.port = std::atoi(address[1].c_str());
  if (shape == "cycle") options.shape = Shape::cycle;
  if (shape == "batch") options.shape = Shape::batch;
  if (shape == "fill") options.shape = Shape::fill;
  options.connections = std::strtoul(arguments[3], nullptr, 10);
  options.jobs = std::strtoull(arguments[4], nullptr, 10);
  options.payload_bytes = std::strtoul(arguments[5], nullptr, 10);
  if (options.connections == 0 || options.jobs == 0) die("CONNECTIONS and JOBS are at least 1");
  return options;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  if (count != 6) {
    std::fprintf(
        stderr,
        "usage: http_load HOST:PORT enqueue|cycle|batch|fill CONNECTIONS JOBS PAYLOAD_BYTES\n");
    return 2;
  }
  return weir::bench::Load(weir::bench::parse(arguments)).run();
}
