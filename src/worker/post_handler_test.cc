// SPDX-License-Identifier: Apache-2.0
// Webhooks: what is sent, how answers are read, signatures against a published vector, addresses
// that are refused.
#include "worker/post_handler.h"

#include <gtest/gtest.h>

#include "base/digest.h"
#include "client/fake_transport_for_test.h"
#include "worker/retry_after.h"
#include "worker/webhook_signature.h"

namespace weir::worker {
namespace {

// The example of the Standard Webhooks specification.
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

TEST(WebhookSignature, agrees_with_the_published_example) {
  const auto key = parse_webhook_secret(kSecret);
  ASSERT_TRUE(key);
  EXPECT_EQ(
      webhook_signature(*key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, "{\"test\": 2432232314}"),
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

TEST(WebhookSignature, secrets_of_another_form_are_refused) {
  EXPECT_TRUE(parse_webhook_secret(std::string(kSecret) + "\n")) << "a file ends in a line break";
  for (const char* text :
       {"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_!!!", "whsec_c2hvcnQ="}) {
    EXPECT_FALSE(parse_webhook_secret(text)) << text;
  }
}

struct PostTest : testing::Test {
  client::FakeTransport transport;
  ManualClock clock;
  Cancel cancel;
  client::ClaimedJob job{.id = "42",
                         .queue = "q",
                         .kind = "k\xC3\xA9",
                         .payload = "{\"n\":1e22}",
                         .content_type = "application/json",
                         .headers = {{"traceparent", "00-1"},
                                     {"Host", "evil"},
                                     {"webhook-id", "forged"},
                                     {"weir-job-id", "forged"},
                                     {"x-bad", "a\r\nb"},
                                     {"X-Tenant", "t"}},
                         .attempt = 2,
                         .max_attempts = 6,
                         .fence = 9,
                         .lease_token = "tok"};

  HandlerResult run(PostOptions options = {.url = "http://127.0.0.1/hook"}) {
    return PostHandler(std::move(options), transport, clock).run(job, cancel);
  }
};

TEST_F(PostTest, the_request_is_the_payload_described_and_signed) {
  transport.answer(204, "");
  const std::string key = parse_webhook_secret(kSecret).value_or("");
  ASSERT_EQ(run({.url = "http://127.0.0.1/hook", .signing_key = key}).kind,
            HandlerResult::Kind::ack);
  const net::HttpCall& call = transport.calls.at(0);
  EXPECT_EQ(call.method, "POST");
  EXPECT_EQ(call.body, job.payload);
  EXPECT_EQ(client::header_of(call, "content-type"), "application/json");
  EXPECT_EQ(client::header_of(call, "weir-job-id"), "42");
  EXPECT_EQ(client::header_of(call, "weir-attempt"), "2");
  EXPECT_EQ(client::header_of(call, "weir-kind"), "k%C3%A9");
  EXPECT_EQ(client::header_of(call, "traceparent"), "00-1");
  EXPECT_EQ(client::header_of(call, "x-tenant"), "t");
  EXPECT_EQ(client::header_of(call, "host"), "(none)");
  EXPECT_EQ(client::header_of(call, "x-bad"), "(none)");
  EXPECT_EQ(client::header_of(call, "webhook-id"), "job_42");
  EXPECT_EQ(client::header_of(call, "webhook-timestamp"), "1800000000");
  // Computed here from the parts, not by the function under test.
  const Sha256 digest = hmac_sha256(key, "job_42.1800000000." + job.payload);
  EXPECT_EQ(client::header_of(call, "webhook-signature"),
            "v1," + base64_encode({reinterpret_cast<const char*>(digest.data()), digest.size()}));
  for (const auto& [name, value] : call.headers)
    EXPECT_EQ(value.find("tok"), std::string::npos) << name;
}

TEST_F(PostTest, statuses_become_acks_and_failures_that_the_rules_decide) {
  for (const int status : {200, 201, 202, 204}) {
    transport.answer(status, "");
    EXPECT_EQ(run().kind, HandlerResult::Kind::ack) << status;
  }
  for (const int status : {301, 302, 400, 401, 404, 408, 410, 422, 425, 429, 500, 502, 503, 504}) {
    transport.answer(status, "why");
    const HandlerResult result = run();
    EXPECT_EQ(result.kind, HandlerResult::Kind::fail) << status;
    EXPECT_EQ(result.report.http_status, status);
    EXPECT_FALSE(result.report.dead) << "the server's rules decide";
    EXPECT_NE(result.report.message.find(std::to_string(status)), std::string::npos);
  }
}

TEST_F(PostTest, a_json_answer_is_the_result_and_another_is_not) {
  transport.answer(200, "{\"r\": 1e22}", {{"content-type", "application/json"}});
  EXPECT_EQ(run().result, "{\"r\": 1e22}");
  transport.answer(200, "{\"r\":1}", {{"content-type", "text/html"}});
  EXPECT_EQ(run().result, std::nullopt);
  transport.answer(200, "{broken", {{"content-type", "application/json"}});
  EXPECT_EQ(run().result, std::nullopt);
  transport.answer(200, "\"" + std::string(300 * 1024, 'x') + "\"",
                   {{"content-type", "application/json"}});
  EXPECT_EQ(run().result, std::nullopt);
}

TEST_F(PostTest, retry_after_is_honoured_as_seconds_and_as_a_date) {
  transport.answer(429, "", {{"retry-after", "120"}});
  EXPECT_EQ(run().report.retry_after_ms, 120'000);
  transport.answer(503, "", {{"retry-after", "Fri, 15 Jan 2027 08:01:00 GMT"}});
  EXPECT_EQ(run().report.retry_after_ms, 60'000);
  transport.answer(503, "", {{"retry-after", "whenever"}});
  EXPECT_EQ(run().report.retry_after_ms, std::nullopt);
}

TEST_F(PostTest, what_is_not_reached_fails_by_its_kind) {
  transport.fail(ErrorCode::unavailable, "connection refused");
  EXPECT_EQ(run().report.error_class, "connection");
  transport.fail(ErrorCode::unavailable, "timed out", true);
  EXPECT_EQ(run().report.error_class, "timeout");
}

TEST_F(PostTest, the_run_can_be_cut_off) {
  transport.answer(200, "");
  run();
  EXPECT_EQ(transport.calls.at(0).cancel, &cancel.flag());
}

// The real client: addresses are judged before anything is sent.
TEST_F(PostTest, addresses_that_are_not_public_are_refused_before_any_byte) {
  client::HttpTransport real;
  for (const char* url :
       {"http://[::ffff:7f00:1]/", "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://10.0.0.1/",
        "http://192.168.1.1/", "http://172.16.0.1/", "http://100.64.0.1/", "http://0.0.0.0/",
        "http://224.0.0.1/", "http://[::]/", "http://[64:ff9b::7f00:1]/", "http://[fe80::1]/",
        "http://10.255.0.1:8080/"}) {
    PostOptions options{.url = url, .timeout_ms = 5'000};
    const HandlerResult result = PostHandler(options, real, clock).run(job, cancel);
    EXPECT_EQ(result.kind, HandlerResult::Kind::fail) << url;
    EXPECT_EQ(result.report.code, "address_refused") << url << ": " << result.report.message;
    EXPECT_FALSE(result.report.dead) << "fails by its retry policy";
  }
}

TEST(RetryAfter, dates_of_another_form_say_nothing) {
  const WallTime now{784111770000};  // seven seconds before the example
  EXPECT_EQ(parse_retry_after_ms("Sun, 06 Nov 1994 08:49:37 GMT", now), 7'000);
  EXPECT_EQ(parse_retry_after_ms("Sun, 06 Nov 1994 08:49:00 GMT", now), 0);
  EXPECT_EQ(parse_retry_after_ms("Sun, 06 Nov 9994 08:49:37 GMT", now), 24 * kMsPerHour);
  EXPECT_EQ(parse_retry_after_ms("18446744073709551615", now), 24 * kMsPerHour);
  for (const char* text : {"", "-1", "1.5", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994", "Sun, 06 Foo 1994 08:49:37 GMT",
                           "Sun, 06 ovD 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 CET"}) {
    EXPECT_EQ(parse_retry_after_ms(text, now), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace weir::worker
