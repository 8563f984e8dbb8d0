// SPDX-License-Identifier: Apache-2.0
// The client against our own server over loopback.
#include "net/http_client.h"

#include "net/server_fixture_for_test.h"

namespace weir::net {
namespace {

TEST(HttpClient, sends_method_headers_and_body_and_reads_the_answer) {
  ThreadedServer s;
  HttpClient client;
  const auto answer =
      client.call({.method = "POST", .url = s.url("/echo"), .body = std::string(200'000, 'b')});
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->body, std::string(200'000, 'b'));
  const auto get = client.call({.url = s.url("/headers"), .headers = {{"X-Empty", "value"}}});
  ASSERT_TRUE(get);
  EXPECT_EQ(get->body, "value|127.0.0.1");
  const auto head = client.call({.method = "HEAD", .url = s.url("/large")});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->body, "");
  const auto removal = client.call({.method = "DELETE", .url = s.url("/echo")});
  ASSERT_TRUE(removal);
  EXPECT_EQ(removal->status, 200);
}

TEST(HttpClient, reuses_its_connection) {
  ThreadedServer s;
  HttpClient client;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(client.call({.url = s.url("/echo")}));
  EXPECT_EQ(s.server.connection_count(), 1U);
}

TEST(HttpClient, does_not_follow_redirects) {
  ThreadedServer s;
  HttpClient client;
  const auto answer = client.call({.url = s.url("/redirect")});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 302);
  EXPECT_EQ(s.handler.requests, 1);
}

TEST(HttpClient, refuses_a_loopback_server_before_any_byte_unless_it_is_literal) {
  ThreadedServer s;
  HttpClient client;
  const auto refused =
      client.call({.url = s.url("/echo"), .addresses = AddressPolicy::public_only});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
  EXPECT_EQ(s.handler.requests, 0);
  // Also when a connection to it is open already.
  ASSERT_TRUE(client.call({.url = s.url("/echo")}));
  EXPECT_FALSE(client.call({.url = s.url("/echo"), .addresses = AddressPolicy::public_only}));
  const auto literal =
      client.call({.url = s.url("/echo"), .addresses = AddressPolicy::literal_loopback});
  EXPECT_TRUE(literal) << literal.error().detail;
}

TEST(HttpClient, names_that_lead_inside_are_refused_before_any_byte) {
  ThreadedServer s;
  const std::string port = s.address.substr(s.address.rfind(':'));
  std::vector<std::string> addresses;
  HttpClient client([&](const std::string&) { return addresses; });
  const HttpCall call{.url = "http://rebind.example" + port + "/echo",
                      .timeout_ms = 2'000,
                      .addresses = AddressPolicy::public_only};
  for (const auto& inside : std::vector<std::vector<std::string>>{
           {"127.0.0.1"}, {"192.0.2.1", "127.0.0.1"}, {"8.8.8.8", "127.0.0.1"}, {"::1"}, {}}) {
    addresses = inside;
    const auto refused = client.call(call);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
  }
  EXPECT_EQ(s.handler.requests, 0);
}

TEST(HttpClient, connects_to_the_very_addresses_that_were_checked) {
  ThreadedServer s;
  const std::string port = s.address.substr(s.address.rfind(':'));
  int lookups = 0;
  // localhost as a literal may be loopback; the name itself is resolved by us, once.
  HttpClient client([&](const std::string& host) {
    ++lookups;
    EXPECT_EQ(host, "localhost");
    return std::vector<std::string>{"127.0.0.1"};
  });
  const auto answer = client.call(
      {.url = "http://localhost" + port + "/echo", .addresses = AddressPolicy::literal_loopback});
  ASSERT_TRUE(answer) << answer.error().detail;
  EXPECT_EQ(lookups, 1);
}

TEST(HttpClient, a_failed_lookup_fails_the_call) {
  HttpClient client([](const std::string&) -> Result<std::vector<std::string>> {
    return failure(ErrorCode::unavailable, "no such name");
  });
  const auto answer =
      client.call({.url = "http://nowhere.example/", .addresses = AddressPolicy::public_only});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
}

TEST(HttpClient, caps_the_answer) {
  ThreadedServer s;
  HttpClient client;
  const auto answer = client.call({.url = s.url("/large"), .response_bytes_max = 1024});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::too_large);
}

TEST(HttpClient, tells_a_timeout_from_other_failures) {
  ThreadedServer s;
  HttpClient client;
  bool timed_out = false;
  const auto late = client.call({.url = s.url("/hold"), .timeout_ms = 50}, &timed_out);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(timed_out);
  const auto nobody = client.call({.url = "http://127.0.0.1:1/"}, &timed_out);
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code, ErrorCode::unavailable);
  EXPECT_FALSE(timed_out);
}

TEST(HttpClient, a_call_is_cancelled_from_outside) {
  ThreadedServer s;
  HttpClient client;
  std::atomic<bool> cancel = true;
  const auto answer = client.call({.url = s.url("/hold"), .timeout_ms = 60'000, .cancel = &cancel});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::unavailable);
}

TEST(HttpClient, a_stream_is_handed_on_as_it_comes_and_may_be_ended) {
  ThreadedServer s;
  HttpClient client;
  std::string seen;
  const auto whole = client.call({.url = s.url("/stream"), .on_body = [&](std::string_view bytes) {
                                    seen += bytes;
                                    return true;
                                  }});
  ASSERT_TRUE(whole);
  EXPECT_EQ(seen, "one,two,");
  EXPECT_EQ(whole->body, "");
  const auto ended =
      client.call({.url = s.url("/endless"), .on_body = [](std::string_view) { return false; }});
  ASSERT_TRUE(ended) << ended.error().detail;
  EXPECT_EQ(ended->status, 200);
}

TEST(HttpClient, a_header_with_a_line_break_is_refused) {
  HttpClient client;
  const auto answer = client.call({.url = "http://127.0.0.1:1/", .headers = {{"X", "a\r\nY: b"}}});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace weir::net
