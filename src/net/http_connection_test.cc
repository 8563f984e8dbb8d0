// SPDX-License-Identifier: Apache-2.0
// HttpConnection without sockets: what comes in is split in every way, what goes out must not
// change.
#include "net/http_connection.h"

#include <deque>
#include <memory>
#include <optional>

#include "net/http_answer.h"

namespace weir::net {
namespace {

// Answers at once with "METHOD target body-size", or keeps the responder when the target says so.
class EchoHandler final : public HttpHandler {
 public:
  HttpHeadVerdict on_head(const HttpRequest& head) override {
    ++heads;
    HttpHeadVerdict verdict;
    verdict.body_bytes_max = body_bytes_max;
    if (head.target.starts_with("/refused")) {
      verdict.accept = false;
      verdict.refusal.status = 401;
    }
    return verdict;
  }
  void on_request(HttpRequest request, HttpResponderPtr responder) override {
    requests.push_back(request);
    if (request.target.starts_with("/later")) {
      if (request.target == "/later/poll") responder->on_abandoned([this] { ++abandoned; });
      kept.push_back(std::move(responder));
      return;
    }
    HttpResponse response;
    response.content_type = "text/plain";
    response.body =
        request.method + " " + request.target + " " + std::to_string(request.body.size());
    if (request.target == "/watched") responder->on_abandoned([this] { ++abandoned; });
    responder->respond(std::move(response));
  }
  void answer(std::size_t index, std::string body) {
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = std::move(body);
    kept[index]->respond(std::move(response));
  }

  std::size_t body_bytes_max = 1000;
  int heads = 0;
  int abandoned = 0;
  std::vector<HttpRequest> requests;
  std::vector<HttpResponderPtr> kept;
};

struct Fixture {
  explicit Fixture(HttpLimits given = {}) : limits(given) {}
  std::string drain() {
    const std::string out(connection.output());
    connection.sent(out.size());
    return out;
  }
  std::string feed(std::string_view bytes) {
    connection.feed(bytes);
    return drain();
  }
  HttpLimits limits;
  ManualClock clock;
  EchoHandler handler;
  HttpDateCache date{clock};
  HttpConnection connection{{handler, limits, clock, date}, "192.0.2.1", false};
};

constexpr std::string_view kGet = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";

int count(std::string_view text, std::string_view what) {
  int n = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++n;
  return n;
}

TEST(HttpConnection, answers_with_length_date_and_body) {
  Fixture f;
  EXPECT_EQ(f.feed(kGet),
            "HTTP/1.1 200 OK\r\nDate: Fri, 15 Jan 2027 08:00:00 GMT\r\nContent-Type: text/plain\r\n"
            "Content-Length: 12\r\n\r\nGET /a?b=c 0");
  EXPECT_FALSE(f.connection.should_close());
  EXPECT_EQ(f.handler.requests.at(0).peer, "192.0.2.1");
}

TEST(HttpConnection, head_answer_tells_the_length_and_has_no_body) {
  Fixture f;
  const std::string out = f.feed("HEAD /abc HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(out.find("Content-Length: 11\r\n"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
}

TEST(HttpConnection, values_are_trimmed_and_names_lowered) {
  Fixture f;
  f.feed("GET / HTTP/1.1\r\nHOST:  x \t\r\nX-Empty:\r\nX-A: b c\r\n\r\n");
  ASSERT_EQ(f.handler.requests.size(), 1U);
  const HttpHeaders expected{{"host", "x"}, {"x-empty", ""}, {"x-a", "b c"}};
  EXPECT_EQ(f.handler.requests[0].headers, expected);
}

// Every text is fed whole and cut at each byte boundary into two, and byte by byte.
TEST(HttpConnection, splitting_the_input_never_changes_the_output) {
  const std::vector<std::string> texts{
      std::string(kGet) + std::string(kGet),
      "\r\nPOST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + std::string(kGet),
      "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n" +
          std::string(kGet),
      "POST /t HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-T: "
      "1\r\n\r\n" +
          std::string(kGet),
      "POST /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nok" +
          std::string(kGet),
      "POST /big HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'),
      "POST /big HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" +
          std::string(1001, 'x') + "\r\n0\r\n\r\n",
      "GET / HTTP/1.0\r\n\r\n",
      "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + std::string(kGet),
      "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + std::string(kGet),
      std::string(kGet) + "GET / HTTP/1.1\nHost: x\n\n",
      std::string(kGet) + "garbage\r\n\r\n",
      "GET /refused HTTP/1.1\r\nHost: x\r\n\r\n" + std::string(kGet),
      "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n" +
          std::string(kGet),
      "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(3000, 'a') + "\r\n\r\n",
  };
  HttpLimits limits;
  limits.header_bytes_max = 2000;
  for (const std::string& text : texts) {
    Fixture whole(limits);
    const std::string expected = whole.feed(text);
    EXPECT_FALSE(expected.empty()) << text;
    for (std::size_t cut = 0; cut < text.size(); ++cut) {
      Fixture split(limits);
      std::string out = split.feed(std::string_view(text).substr(0, cut));
      out += split.feed(std::string_view(text).substr(cut));
      ASSERT_EQ(out, expected) << "cut at " << cut << " of " << text;
      ASSERT_EQ(split.connection.should_close(), whole.connection.should_close());
    }
    Fixture bytes(limits);
    std::string out;
    for (const char c : text) out += bytes.feed(std::string_view(&c, 1));
    ASSERT_EQ(out, expected) << text;
  }
}

TEST(HttpConnection, what_could_be_smuggled_gets_400_and_the_connection_closes) {
  const std::string post = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::string> texts{
      post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
      post + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
      post + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
      post + "Content-Length: 5, 5\r\n\r\nhello",
      post + "Content-Length: +5\r\n\r\nhello",
      post + "Content-Length: -5\r\n\r\nhello",
      post + "Content-Length: 0x5\r\n\r\nhello",
      post + "Content-Length: 5 5\r\n\r\nhello",
      post + "Content-Length:\r\n\r\n",
      post + "Content-Length: 99999999999999999999999\r\n\r\nhello",
      post + "Content-Length : 5\r\n\r\nhello",
      post + " Content-Length: 5\r\n\r\nhello",
      post + "Content-Length: 5\r\n folded\r\n\r\nhello",
      post + "X: a\r\n\tfolded\r\n\r\n",
      post + "Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n",
      post +
          "Transfer-Encoding: \x0b"
          "chunked\r\n\r\n0\r\n\r\n",
      post + "Transfer-Encoding:\r\n\r\n",
      post + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      post + "X: y\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      post + std::string("X: y\0z\r\n\r\n", 10),
      post + "X\r\n\r\n",
      post + ": y\r\n\r\n",
      post + "X y: z\r\n\r\n",
      post + "X: y\n\r\n",
      post + "X: y\r\n\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "POST / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
      "GET / HTTP/1.1\nHost: x\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\n\n",
      "GET /\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: x\r\n\r\n",
      "GET / http/1.1\r\nHost: x\r\n\r\n",
      "GET / HTTP/1.2\r\nHost: x\r\n\r\n",
      "GET / HTTP/3.0\r\nHost: x\r\n\r\n",
      "GET x HTTP/1.1\r\nHost: x\r\n\r\n",
      "G@T / HTTP/1.1\r\nHost: x\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "\n\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n5;x\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n5;x=\"\n\"\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n0\r\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\n\r\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0\r\n\n",
      post + "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n z\r\n\r\n",
      std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11),
      "SSH-2.0-OpenSSH_9.2\r\n",
      "*1\r\n$4\r\nPING\r\n",
      "put 0 0 60 5\r\nhello\r\n",
  };
  for (const std::string& text : texts) {
    Fixture f;
    const std::string out = f.feed(text + std::string(kGet));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 400 Bad Request\r\n")) << text << "\n-> " << out;
    EXPECT_EQ(count(out, "\r\nDate: "), 1) << text;
    EXPECT_NE(out.find("Connection: close\r\n"), std::string::npos) << text;
    EXPECT_TRUE(f.connection.should_close()) << text;
    EXPECT_TRUE(f.handler.requests.empty()) << text;
  }
}

TEST(HttpConnection, garbage_is_refused_at_its_first_bytes) {
  Fixture f;
  EXPECT_TRUE(f.feed("\x16\x03\x01").starts_with("HTTP/1.1 400 "));
}

TEST(HttpConnection, answers_leave_in_the_order_of_the_requests) {
  Fixture f;
  const std::string later =
      "GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\nGET /later/2 HTTP/1.1\r\nHost: x\r\n\r\n";
  EXPECT_EQ(f.feed(later + std::string(kGet)), "");
  f.handler.answer(1, "second");
  EXPECT_EQ(f.drain(), "");
  f.handler.answer(0, "first");
  const std::string out = f.drain();
  EXPECT_LT(out.find("first"), out.find("second"));
  EXPECT_LT(out.find("second"), out.find("GET /a?b=c 0"));
  EXPECT_EQ(count(out, "HTTP/1.1 200"), 3);
}

TEST(HttpConnection, reads_no_further_than_the_pipeline_limit_and_goes_on_after_answers) {
  HttpLimits limits;
  limits.pipelined_max = 2;
  Fixture f(limits);
  std::string input;
  for (int i = 0; i < 5; ++i)
    input += "GET /later/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  f.feed(input);
  EXPECT_EQ(f.handler.kept.size(), 2U);
  EXPECT_FALSE(f.connection.wants_input());
  EXPECT_FALSE(f.connection.resume());
  std::string out;
  for (std::size_t i = 0; i < 5; ++i) {
    f.handler.answer(i, "body" + std::to_string(i));
    out += f.drain();
    f.connection.resume();
  }
  EXPECT_EQ(count(out, "HTTP/1.1 200"), 5);
  EXPECT_TRUE(f.connection.wants_input());
}

TEST(HttpConnection, an_end_behind_kept_input_does_not_lose_requests) {
  HttpLimits limits;
  limits.pipelined_max = 1;
  Fixture f(limits);
  const std::string later = "GET /later/x HTTP/1.1\r\nHost: x\r\n\r\n";
  f.feed(later + later.substr(0, 10));
  f.feed(later.substr(10));
  f.connection.feed_end();
  f.handler.answer(0, "one");
  EXPECT_TRUE(f.drain().ends_with("one"));
  EXPECT_FALSE(f.connection.should_close());
  ASSERT_TRUE(f.connection.resume());
  ASSERT_EQ(f.handler.kept.size(), 2U);
  f.handler.answer(1, "two");
  EXPECT_TRUE(f.drain().ends_with("two"));
  EXPECT_TRUE(f.connection.should_close());
}

TEST(HttpConnection, continue_is_sent_only_after_the_head_was_accepted) {
  const std::string head = "Host: x\r\nExpect: 100-continue\r\nContent-Length: ";
  Fixture accepted;
  EXPECT_EQ(accepted.feed("POST / HTTP/1.1\r\n" + head + "2\r\n\r\n"),
            "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(accepted.feed("ok").starts_with("HTTP/1.1 200 "));
  Fixture refused;
  EXPECT_TRUE(
      refused.feed("POST /refused HTTP/1.1\r\n" + head + "2\r\n\r\n").starts_with("HTTP/1.1 401 "));
  Fixture large;
  EXPECT_TRUE(
      large.feed("POST / HTTP/1.1\r\n" + head + "2000\r\n\r\n").starts_with("HTTP/1.1 413 "));
  Fixture other;
  EXPECT_TRUE(
      other.feed("GET / HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n").starts_with("HTTP/1.1 417 "));
}

TEST(HttpConnection, continue_does_not_overtake_earlier_answers) {
  Fixture f;
  EXPECT_EQ(f.feed("GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\nExpect: "
                   "100-continue\r\n"
                   "Content-Length: 2\r\n\r\n"),
            "");
  f.handler.answer(0, "one");
  EXPECT_TRUE(f.drain().ends_with("oneHTTP/1.1 100 Continue\r\n\r\n"));
}

TEST(HttpConnection, a_large_body_is_refused_before_it_is_read) {
  Fixture f;
  const std::string out = f.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
  EXPECT_TRUE(out.starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(f.connection.should_close());
  EXPECT_FALSE(f.connection.wants_input());
}

TEST(HttpConnection, chunks_are_counted_against_the_limit) {
  Fixture f;
  f.feed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string out;
  for (int i = 0; i < 11; ++i) out += f.feed("64\r\n" + std::string(100, 'x') + "\r\n");
  EXPECT_TRUE(out.starts_with("HTTP/1.1 413 ")) << out;
  EXPECT_TRUE(f.handler.requests.empty());
}

TEST(HttpConnection, framing_of_chunks_has_a_limit_of_its_own) {
  for (const char* const endless : {"64;", "64;a=\"", "0"}) {
    Fixture f;
    f.feed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
           std::string(endless[0] == '0' ? "" : endless));
    std::string out;
    for (int i = 0; i < 100 && out.empty(); ++i) {
      out = f.feed(std::string(1000, endless[0] == '0' ? '0' : 'a'));
    }
    EXPECT_TRUE(out.starts_with("HTTP/1.1 400 ")) << endless << out;
    EXPECT_TRUE(f.connection.should_close());
  }
  // The smallest chunks still pass, and each body has the whole allowance.
  Fixture f;
  f.handler.body_bytes_max = 20'000;
  for (int request = 0; request < 3; ++request) {
    f.feed("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 10'000; ++i) f.feed("1\r\nx\r\n");
    EXPECT_TRUE(f.feed("0\r\n\r\n").starts_with("HTTP/1.1 200 "));
  }
}

TEST(HttpConnection, a_head_over_its_limits_gets_431) {
  Fixture long_value;
  EXPECT_TRUE(long_value.feed("GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(65 * 1024, 'a'))
                  .starts_with("HTTP/1.1 431 "));
  Fixture long_target;
  EXPECT_TRUE(long_target.feed("GET /" + std::string(65 * 1024, 'a')).starts_with("HTTP/1.1 431 "));
  Fixture many;
  std::string text = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (int i = 0; i < 200; ++i) text += "a: b\r\n";
  EXPECT_TRUE(many.feed(text + "\r\n").starts_with("HTTP/1.1 431 "));
}

TEST(HttpConnection, http_10_closes_unless_asked_to_stay) {
  Fixture plain;
  EXPECT_NE(plain.feed("GET / HTTP/1.0\r\n\r\n").find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(plain.connection.should_close());
  Fixture kept;
  EXPECT_NE(kept.feed("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                .find("Connection: keep-alive\r\n"),
            std::string::npos);
  EXPECT_FALSE(kept.connection.should_close());
}

TEST(HttpConnection, a_stream_is_chunked_and_ends_with_an_empty_chunk) {
  Fixture f;
  f.feed("GET /later/s HTTP/1.1\r\nHost: x\r\n\r\n");
  HttpResponse head;
  head.content_type = "text/event-stream";
  f.handler.kept[0]->begin_stream(head);
  EXPECT_NE(f.drain().find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(f.handler.kept[0]->write("data: 1\n\n"));
  EXPECT_EQ(f.drain(), "9\r\ndata: 1\n\n\r\n");
  f.handler.kept[0]->end_stream();
  EXPECT_EQ(f.drain(), "0\r\n\r\n");
  EXPECT_TRUE(f.feed(kGet).starts_with("HTTP/1.1 200 "));
}

TEST(HttpConnection, a_stream_to_http_10_ends_with_the_connection) {
  Fixture f;
  f.feed("GET /later/s HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  f.handler.kept[0]->begin_stream({});
  f.handler.kept[0]->write("abc");
  EXPECT_TRUE(f.drain().ends_with("\r\n\r\nabc"));
  f.handler.kept[0]->end_stream();
  EXPECT_TRUE(f.connection.should_close());
}

TEST(HttpConnection, a_stream_that_nobody_reads_is_cut_off_at_the_cap) {
  HttpLimits limits;
  limits.write_buffer_bytes_max = 1000;
  Fixture f(limits);
  f.feed("GET /later/poll HTTP/1.1\r\nHost: x\r\n\r\n");
  f.handler.kept[0]->begin_stream({});
  int written = 0;
  while (written < 100 && f.handler.kept[0]->write(std::string(100, 'x'))) ++written;
  EXPECT_LT(written, 12);
  EXPECT_TRUE(f.connection.is_broken());
  f.connection.abandon();
  EXPECT_EQ(f.handler.abandoned, 1);
  EXPECT_FALSE(f.handler.kept[0]->write("x"));
}

TEST(HttpConnection, a_client_that_goes_away_abandons_its_pending_answers_once) {
  Fixture f;
  f.feed("GET /later/poll HTTP/1.1\r\nHost: x\r\n\r\nGET /later/poll HTTP/1.1\r\nHost: x\r\n\r\n");
  f.connection.abandon();
  EXPECT_EQ(f.handler.abandoned, 2);
  f.connection.abandon();
  EXPECT_EQ(f.handler.abandoned, 2);
  f.handler.answer(0, "too late");
  EXPECT_EQ(f.drain(), "");
}

TEST(HttpConnection, an_answer_not_wholly_sent_counts_as_abandoned) {
  Fixture f;
  f.connection.feed("GET /watched HTTP/1.1\r\nHost: x\r\n\r\n");
  f.connection.sent(f.connection.output().size() - 1);
  f.connection.abandon();
  EXPECT_EQ(f.handler.abandoned, 1);
  Fixture whole;
  whole.feed("GET /watched HTTP/1.1\r\nHost: x\r\n\r\n");
  whole.connection.abandon();
  EXPECT_EQ(whole.handler.abandoned, 0);
}

TEST(HttpConnection, a_half_closed_client_gets_its_answer_but_not_a_poll) {
  Fixture plain;
  plain.feed("GET /later/x HTTP/1.1\r\nHost: x\r\n\r\n");
  plain.connection.feed_end();
  EXPECT_FALSE(plain.connection.should_close());
  plain.handler.answer(0, "here");
  EXPECT_TRUE(plain.drain().ends_with("here"));
  EXPECT_TRUE(plain.connection.should_close());
  Fixture poll;
  poll.feed("GET /later/poll HTTP/1.1\r\nHost: x\r\n\r\n");
  poll.connection.feed_end();
  EXPECT_TRUE(poll.connection.is_broken());
}

TEST(HttpConnection, an_error_behind_a_pending_answer_waits_for_it) {
  Fixture f;
  EXPECT_EQ(f.feed("GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\nrubbish\r\n\r\n"), "");
  EXPECT_FALSE(f.connection.should_close());
  f.handler.answer(0, "one");
  const std::string out = f.drain();
  EXPECT_LT(out.find("one"), out.find("HTTP/1.1 400"));
  EXPECT_TRUE(f.connection.should_close());
}

void advance(Fixture& f, std::int64_t ms) {
  f.clock.advance(ms);
  f.connection.check_deadline();
}

TEST(HttpConnection, a_slow_head_gets_408_after_its_time) {
  Fixture f;
  f.feed(kGet);
  advance(f, 59'000);
  f.feed("GET / HT");
  advance(f, 9'999);
  f.feed("TP/1");
  EXPECT_FALSE(f.connection.should_close());
  advance(f, 1);
  EXPECT_TRUE(f.drain().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(f.connection.should_close());
}

TEST(HttpConnection, a_silent_connection_is_closed_without_a_word) {
  Fixture fresh;
  EXPECT_EQ(fresh.connection.deadline_ms(), fresh.clock.boot_ms() + 10'000);
  advance(fresh, 10'000);
  EXPECT_TRUE(fresh.connection.should_close());
  EXPECT_EQ(fresh.drain(), "");
  Fixture idle;
  idle.feed(kGet);
  advance(idle, 59'999);
  EXPECT_FALSE(idle.connection.should_close());
  advance(idle, 1);
  EXPECT_TRUE(idle.connection.should_close());
}

TEST(HttpConnection, a_body_must_keep_its_least_rate) {
  Fixture f;
  f.handler.body_bytes_max = 1'000'000;
  f.feed("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n");
  // 1 KiB/s is just enough: 2 KiB every 2 s.
  for (int i = 0; i < 30; ++i) {
    f.feed(std::string(2048, 'x'));
    advance(f, 2'000);
    ASSERT_FALSE(f.connection.should_close()) << i;
  }
  advance(f, 10'000);
  EXPECT_TRUE(f.drain().starts_with("HTTP/1.1 408 "));
}

TEST(HttpConnection, a_long_poll_has_no_deadline) {
  Fixture f;
  f.feed("GET /later/poll HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(f.connection.deadline_ms(), kNoDeadline);
}

TEST(HttpConnection, a_client_that_reads_nothing_is_cut_off) {
  Fixture f;
  f.connection.feed(kGet);
  advance(f, 29'999);
  EXPECT_FALSE(f.connection.is_broken());
  advance(f, 1);
  EXPECT_TRUE(f.connection.is_broken());
}

TEST(HttpConnection, draining_ends_the_requests_in_hand_first) {
  Fixture f;
  f.feed("GET /later/1 HTTP/1.1\r\nHost: x\r\n\r\n");
  f.connection.drain();
  EXPECT_FALSE(f.connection.should_close());
  f.handler.answer(0, "done");
  EXPECT_TRUE(f.drain().ends_with("done"));
  EXPECT_TRUE(f.connection.should_close());
}

TEST(HttpAnswer, a_value_cannot_become_a_header) {
  std::string out;
  HttpResponse response;
  response.headers = {{"X-Name", "a\r\nSet-Cookie: b"}};
  append_http_answer(out, response, {}, "now");
  EXPECT_EQ(out.find("\r\nSet-Cookie"), std::string::npos);
}

}  // namespace
}  // namespace weir::net
