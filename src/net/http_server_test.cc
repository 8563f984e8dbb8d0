// SPDX-License-Identifier: Apache-2.0
// The server over real loopback sockets. Time is manual: the loop runs in the test's own thread
// where time matters.
#include "net/http_server.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>
#include <functional>

#include "net/server_fixture_for_test.h"

namespace weir::net {
namespace {

constexpr std::string_view kEcho = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";
constexpr std::string_view kHold = "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n";

// The loop in the test's thread, on a manual clock.
struct InlineServer {
  explicit InlineServer(HttpLimits limits = {}) : server(loop, handler, limits, &clock) {
    address = server.listen("127.0.0.1:0").value_or("");
  }
  // Runs rounds until `condition` holds; false after very many.
  bool run_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 2000 && !condition(); ++i) {
      loop.run_round(10);
      server.flush();
    }
    return condition();
  }
  std::string ask(TestSocket& socket, std::string_view request, std::string_view end) {
    socket.send(request);
    std::string out;
    run_until([&] {
      out += socket.receive_now();
      return out.find(end) != std::string::npos;
    });
    return out;
  }
  void advance(std::int64_t ms) {
    clock.advance(ms);
    server.check_deadlines();
    server.flush();
  }

  ManualClock clock;
  EventLoop loop;
  TargetHandler handler;
  HttpServer server;
  std::string address;
};

TEST(HttpServer, keeps_connections_alive_and_answers_pipelined_requests_in_order) {
  ThreadedServer s;
  TestSocket socket(s.address);
  for (int i = 0; i < 3; ++i) {
    socket.send(kEcho);
    EXPECT_TRUE(socket.receive_until("\r\n\r\nhi").ends_with("hi"));
  }
  socket.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\noneGET /stream HTTP/1.1\r\nHost: "
      "x\r\n\r\n" +
      std::string(kEcho));
  const std::string out = socket.receive_until("\r\n\r\nhi");
  EXPECT_LT(out.find("one"), out.find("two,"));
  EXPECT_LT(out.find("two,"), out.find("\r\n\r\nhi"));
}

TEST(HttpServer, more_pipelined_requests_than_the_limit_are_all_answered) {
  ThreadedServer s;
  TestSocket socket(s.address);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += kEcho;
  socket.send(many + "GET /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string out = socket.receive_all();
  int answers = 0;
  for (std::size_t at = out.find("HTTP/1.1 200"); at != std::string::npos;
       at = out.find("HTTP/1.1 200", at + 1)) {
    ++answers;
  }
  EXPECT_EQ(answers, 1001);
}

TEST(HttpServer, a_large_answer_arrives_whole_at_a_slow_reader) {
  ThreadedServer s;
  TestSocket socket(s.address);
  socket.send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string out = socket.receive_all();
  EXPECT_EQ(out.size() - out.find("\r\n\r\n") - 4, s.handler.large_bytes);
}

TEST(HttpServer, a_refusal_reaches_a_client_that_is_still_sending) {
  ThreadedServer s;
  TestSocket socket(s.address);
  const std::string body(900 * 1024, 'x');
  socket.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n");
  socket.send(body);
  EXPECT_TRUE(socket.receive_until("\r\n\r\n").starts_with("HTTP/1.1 413 "));
}

TEST(HttpServer, a_half_closed_client_gets_its_answers) {
  ThreadedServer s;
  TestSocket socket(s.address);
  socket.send(kEcho);
  socket.end_sending();
  EXPECT_TRUE(socket.receive_all().ends_with("\r\n\r\nhi"));
}

TEST(HttpServer, a_client_that_leaves_abandons_its_poll) {
  InlineServer s;
  TestSocket socket(s.address);
  socket.send(kHold);
  ASSERT_TRUE(s.run_until([&] { return s.handler.held.size() == 1; }));
  socket.close();
  EXPECT_TRUE(s.run_until([&] { return s.handler.abandoned == 1; }));
  EXPECT_EQ(s.server.connection_count(), 0U);
}

TEST(HttpServer, destroying_the_server_abandons_what_is_pending) {
  TargetHandler handler;
  EventLoop loop;
  auto server = std::make_unique<HttpServer>(loop, handler);
  TestSocket socket(server->listen("127.0.0.1:0").value_or(""));
  socket.send(kHold);
  for (int i = 0; i < 2000 && handler.held.empty(); ++i) loop.run_round(10);
  server.reset();
  EXPECT_EQ(handler.abandoned, 1);
  loop.run_round(0);
  handler.held[0]->respond({});
}

TEST(HttpServer, slow_heads_and_silent_clients_are_cut_off_and_others_are_not) {
  InlineServer s;
  TestSocket slow(s.address);
  TestSocket silent(s.address);
  TestSocket polling(s.address);
  TestSocket active(s.address);
  polling.send(kHold);
  s.ask(active, kEcho, "\r\n\r\nhi");
  slow.send("GET / HT");
  ASSERT_TRUE(
      s.run_until([&] { return s.handler.requests == 2 && s.server.connection_count() == 4; }));
  s.loop.run_round(10);
  s.advance(9'000);
  EXPECT_EQ(s.server.connection_count(), 4U);
  s.advance(1'300);
  std::string out;
  EXPECT_TRUE(s.run_until([&] {
    out += slow.receive_now();
    return out.find("EOF") != std::string::npos;
  }));
  EXPECT_TRUE(out.starts_with("HTTP/1.1 408 ")) << out;
  EXPECT_TRUE(s.run_until([&] { return silent.receive_now() == "EOF"; }));
  s.advance(40'000);
  EXPECT_TRUE(s.ask(active, kEcho, "\r\n\r\nhi").ends_with("hi"));
  s.advance(61'000);
  EXPECT_TRUE(s.run_until([&] { return active.receive_now() == "EOF"; }));
  EXPECT_EQ(polling.receive_now(), "");
  EXPECT_EQ(s.handler.abandoned, 0);
}

TEST(HttpServer, a_client_that_reads_nothing_is_cut_off) {
  InlineServer s;
  s.handler.large_bytes = 64 * 1024 * 1024;
  TestSocket socket(s.address);
  socket.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  ASSERT_TRUE(s.run_until([&] { return s.handler.requests == 1; }));
  for (int i = 0; i < 20; ++i) {
    s.loop.run_round(10);
    s.server.flush();
  }
  s.advance(29'000);
  EXPECT_EQ(s.server.connection_count(), 1U);
  s.advance(1'200);
  EXPECT_EQ(s.server.connection_count(), 0U);
}

TEST(HttpServer, over_the_connection_limit_clients_wait_their_turn) {
  HttpLimits limits;
  limits.connections_max = 2;
  InlineServer s(limits);
  TestSocket first(s.address);
  TestSocket second(s.address);
  TestSocket third(s.address);
  s.ask(first, kEcho, "\r\n\r\nhi");
  s.ask(second, kEcho, "\r\n\r\nhi");
  third.send(kEcho);
  for (int i = 0; i < 5; ++i) s.loop.run_round(10);
  EXPECT_EQ(s.server.connection_count(), 2U);
  EXPECT_EQ(s.handler.requests, 2);
  first.close();
  EXPECT_TRUE(s.run_until([&] { return s.handler.requests == 3; }));
}

// Lowers the number of descriptors so that only `more` can be opened; restores it at the end.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::close(next);
    rlimit lowered = before_;
    lowered.rlim_cur = static_cast<rlim_t>(next + more);
    ::setrlimit(RLIMIT_NOFILE, &lowered);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(HttpServer, out_of_descriptors_it_serves_who_is_there_rests_and_accepts_again) {
  InlineServer s;
  TestSocket early(s.address);
  s.ask(early, kEcho, "\r\n\r\nhi");
  std::vector<TestSocket> clients;
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back(s.address);  // the kernel's queue takes them
    clients.back().send(kEcho);
  }
  {
    const DescriptorLimit limit(5);
    for (int i = 0; i < 10; ++i) s.loop.run_round(0);
    s.server.flush();
    EXPECT_EQ(s.server.connection_count(), 6U);
    EXPECT_TRUE(s.ask(early, kEcho, "\r\n\r\nhi").ends_with("hi"));
    // No busy loop: with nothing to do a round has nothing to run, however often the retry comes
    // up.
    for (int i = 0; i < 50; ++i) {
      s.server.check_deadlines();
      EXPECT_LE(s.loop.run_round(0), 1U);
    }
    // The reserve was given up for the rest of the process.
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    EXPECT_LT(fd, 0);  // taken back by the retry, and nothing beyond it is free
  }
  s.server.check_deadlines();
  EXPECT_TRUE(s.run_until([&] { return s.handler.requests == 14; }));
  EXPECT_EQ(s.server.connection_count(), 13U);
}

TEST(HttpServer, stopping_lets_requests_in_hand_end_and_closes_the_idle) {
  InlineServer s;
  TestSocket idle(s.address);
  TestSocket busy(s.address);
  s.ask(idle, kEcho, "\r\n\r\nhi");
  busy.send(kHold);
  ASSERT_TRUE(s.run_until([&] { return s.handler.held.size() == 1; }));
  s.server.stop_accepting();
  EXPECT_TRUE(s.run_until([&] { return idle.receive_now() == "EOF"; }));
  s.handler.held[0]->respond({});
  std::string out;
  EXPECT_TRUE(s.run_until([&] {
    out += busy.receive_now();
    return out.ends_with("EOF");
  }));
  EXPECT_TRUE(out.starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(s.handler.abandoned, 0);
}

TEST(HttpServer, refuses_addresses_that_are_none_or_in_use) {
  EventLoop loop;
  TargetHandler handler;
  HttpServer server(loop, handler);
  for (const char* address :
       {"", "127.0.0.1", "example.org:80", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:x"}) {
    const auto bound = server.listen(address);
    ASSERT_FALSE(bound) << address;
    EXPECT_EQ(bound.error().code, ErrorCode::invalid_argument);
  }
  const auto first = server.listen("127.0.0.1:0");
  ASSERT_TRUE(first);
  const auto second = server.listen(*first);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::io_error);
  EXPECT_TRUE(server.listen("[::1]:0"));
}

TEST(EventLoop, posts_from_other_threads_wake_a_waiting_loop) {
  EventLoop loop;
  bool ran = false;
  std::thread other([&] { loop.post([&] { ran = true; }); });
  while (!ran) loop.run_round(-1);
  other.join();
}

TEST(EventLoop, a_round_ends_while_work_keeps_coming) {
  EventLoop loop;
  bool stops = false;
  std::function<void()> again = [&] {
    if (!stops) loop.post(again);
  };
  loop.post(again);
  EXPECT_GT(loop.run_round(0), 0U);
  EXPECT_GT(loop.run_round(-1), 0U);
  stops = true;
  loop.run_round(0);
}

TEST(EventLoop, signals_arrive_on_the_loop_again_and_again) {
  EventLoop loop;
  int seen = 0;
  loop.on_signal(SIGUSR1, [&] { ++seen; });
  for (int i = 1; i <= 3; ++i) {
    std::raise(SIGUSR1);
    while (seen < i) loop.run_round(-1);
  }
  EXPECT_EQ(loop.run_round(0), 0U);
}

TEST(EventLoop, a_cancelled_timer_does_not_run) {
  EventLoop loop;
  int ran = 0;
  const std::uint64_t id = loop.after(0, [&] { ran += 100; });
  loop.after(0, [&] { ++ran; });
  loop.cancel(id);
  while (ran == 0) loop.run_round(-1);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace weir::net
