// SPDX-License-Identifier: Apache-2.0
// The runner itself, and HttpConnection played by it.
#include "wire/transcript.h"

#include <memory>

#include "net/http_connection.h"
#include "wire/pattern.h"

namespace weir::wire {
namespace {

// A line protocol: "add N" adds, "show" answers, "quit" closes. Keeps bytes until the line ends.
Session make_counter() {
  struct State {
    std::string input;
    int sum = 0;
    bool is_closed = false;
  };
  const auto state = std::make_shared<State>();
  Session session;
  session.feed = [state](std::string_view bytes) {
    state->input += bytes;
    std::string out;
    for (std::size_t end = state->input.find("\r\n"); end != std::string::npos;
         end = state->input.find("\r\n")) {
      const std::string line = state->input.substr(0, end);
      state->input.erase(0, end + 2);
      if (line.starts_with("add ")) state->sum += std::stoi(line.substr(4));
      if (line == "show") out += "SUM " + std::to_string(state->sum) + "\r\n";
      if (line == "quit") state->is_closed = true;
    }
    return out;
  };
  session.advance = [state](std::int64_t ms) {
    state->sum += static_cast<int>(ms);
    return std::string();
  };
  session.is_closed = [state] { return state->is_closed; };
  return session;
}

std::string play_counter(std::string_view text) {
  const auto transcript = parse_transcript("counter", text);
  return transcript ? play_all_ways(*transcript, make_counter, 1) : transcript.error().detail;
}

TEST(Transcript, a_right_one_passes_in_every_split) {
  EXPECT_EQ(
      play_counter(
          "# adds\nC: add 2\nC: add 3\nC: show\nS: SUM {sum:digits}\nC: add {sum}\n@advance 7ms\n"
          "C: show\nS: SUM 17\nC> show\\r\\nshow\\r\\n\nS> SUM 17\\r\\nSUM 1{*}\\r\\n\nC: "
          "quit\n@closed\n"),
      "");
}

TEST(Transcript, every_kind_of_difference_is_found) {
  EXPECT_NE(play_counter("C: add 2\nC: show\nS: SUM 3\n"), "");
  EXPECT_NE(play_counter("C: show\n"), "");
  EXPECT_NE(play_counter("C: show\nC: show\nS: SUM 0\n"), "");
  EXPECT_NE(play_counter("C: show\nS: SUM 0\nS: SUM 0\n"), "");
  EXPECT_NE(play_counter("C: show\nS: SUM 0\n@closed\n"), "");
  EXPECT_NE(play_counter("C: show\nS: SUM {x:word} \n"), "");
  EXPECT_NE(play_counter("@close\n"), "");
  EXPECT_NE(play_counter("@sleep 3\n"), "");
  EXPECT_NE(play_counter("X: y\n"), "");
}

TEST(Transcript, a_session_that_depends_on_the_split_is_caught) {
  const auto transcript = parse_transcript("naive", "C: ping\nS: pong\n");
  ASSERT_TRUE(transcript);
  const SessionFactory naive = [] {
    return Session{.feed = [](std::string_view bytes) {
      return std::string(bytes == "ping\r\n" ? "pong\r\n" : "");
    }};
  };
  EXPECT_EQ(play(*transcript, naive(), Split::whole), "");
  EXPECT_TRUE(play_all_ways(*transcript, naive, 1).starts_with("byte by byte: "));
}

TEST(Pattern, braces_of_json_are_literal) {
  Captures captures;
  EXPECT_TRUE(
      match_pattern(R"({"id":"{id:digits}","x":{*}})", R"({"id":"42","x":{"y":1}})", captures));
  EXPECT_EQ(captures["id"], "42");
  EXPECT_TRUE(match_pattern(R"({"id":"{id}"})", R"({"id":"42"})", captures));
  EXPECT_FALSE(match_pattern(R"({"id":"{id}"})", R"({"id":"43"})", captures));
  EXPECT_EQ(fill_in(R"(/v1/jobs/{id} {other} {})", captures), "/v1/jobs/42 {other} {}");
}

class Echo final : public HttpHandler {
 public:
  HttpHeadVerdict on_head(const HttpRequest&) override { return {.body_bytes_max = 100}; }
  void on_request(HttpRequest request, HttpResponderPtr responder) override {
    HttpResponse response;
    response.body = R"({"method":")" + request.method + R"(","body":")" + request.body + R"("})";
    responder->respond(std::move(response));
  }
};

Session make_http() {
  struct State {
    net::HttpLimits limits;
    ManualClock clock;
    Echo handler;
    net::HttpDateCache date{clock};
    net::HttpConnection connection{{handler, limits, clock, date}, "", false};
    std::string drain() {
      const std::string out(connection.output());
      connection.sent(out.size());
      return out;
    }
  };
  const auto state = std::make_shared<State>();
  return Session{.feed =
                     [state](std::string_view bytes) {
                       state->connection.feed(bytes);
                       return state->drain();
                     },
                 .advance =
                     [state](std::int64_t ms) {
                       state->clock.advance(ms);
                       state->connection.check_deadline();
                       return state->drain();
                     },
                 .close =
                     [state] {
                       state->connection.feed_end();
                       return state->drain();
                     },
                 .is_closed = [state] { return state->connection.should_close(); }};
}

TEST(Transcript, http_messages_are_blocks) {
  const auto transcript = parse_transcript("http", R"(@http
C: POST /a HTTP/1.1
C: Host: x
C: Content-Length: {len}
C:
C: hello

C: HEAD /b HTTP/1.1
C: Host: x
C:

C: POST /c HTTP/1.1
C: Host: x
C: Expect: 100-continue
C: Content-Length: {len}
C:
C: one
C: two
S: HTTP/1.1 200 OK
S: content-type: application/{kind:word}
S: !Connection
S:
S: {"method":"{method:word}","body":"hello"}

S: HTTP/1.1 200 OK

S: HTTP/1.1 100 Continue

S: HTTP/1.1 200 OK
S: Content-Type: application/{kind}
S:
S: {"method":"{method}","body":"one
S: two"}

C> GET / HT
@advance 10s
S: HTTP/1.1 408 {*}
S: Connection: close
@closed
)");
  ASSERT_TRUE(transcript) << transcript.error().detail;
  EXPECT_EQ(play_all_ways(*transcript, make_http, 1), "");
}

}  // namespace
}  // namespace weir::wire
