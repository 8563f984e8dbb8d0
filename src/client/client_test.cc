// SPDX-License-Identifier: Apache-2.0
// What the client sends and how it reads what comes back, against a transport that plays the
// server.
#include "client/client.h"

#include <gtest/gtest.h>

#include "client/fake_transport_for_test.h"
#include "client/problem.h"

namespace weir::client {
namespace {

struct ClientTest : testing::Test {
  FakeTransport transport;
  Client client{Options{.urls = {"http://one/"}, .token = "wt_a.b"}, transport};

  const net::HttpCall& last() { return transport.calls.back(); }
};

TEST_F(ClientTest, calls_carry_the_token_and_the_address_without_double_slashes) {
  transport.answer(200, "{}");
  ASSERT_TRUE(client.request("GET", "/v1/info"));
  EXPECT_EQ(last().url, "http://one/v1/info");
  EXPECT_EQ(header_of(last(), "authorization"), "Bearer wt_a.b");
}

TEST_F(ClientTest, queue_names_are_coded_so_that_none_climbs_or_splits_the_path) {
  for (const auto& [name, coded] :
       std::vector<std::pair<std::string, std::string>>{{"foo/bar", "foo%2Fbar"},
                                                        {"..", "%2E%2E"},
                                                        {".", "%2E"},
                                                        {"#", "%23"},
                                                        {"%2F", "%252F"},
                                                        {"a b", "a%20b"}}) {
    transport.answer(202, R"({"id":"1","status":"pending"})");
    ASSERT_TRUE(client.enqueue(name, NewJob{}));
    EXPECT_EQ(last().url, "http://one/v1/queues/" + coded + "/jobs");
  }
}

TEST_F(ClientTest, json_payloads_leave_to_the_last_digit) {
  transport.answer(
      202, R"({"id":"1970670598291982290","status":"pending","duplicate":true,"durable":false})");
  const std::string payload =
      R"({"n":[3889108265204450030,1e22,-0,1E+2,1234567890123456789012345678901234567890]})";
  const auto answer = client.enqueue("q", NewJob{.payload = payload});
  ASSERT_TRUE(answer);
  EXPECT_NE(last().body.find("\"payload\":" + payload), std::string::npos) << last().body;
  EXPECT_EQ(answer->id, "1970670598291982290");
  EXPECT_TRUE(answer->duplicate);
  EXPECT_FALSE(answer->durable);
}

TEST_F(ClientTest, what_is_no_json_travels_as_base64_with_its_type) {
  EXPECT_EQ(job_json(NewJob{.payload = "hello"}),
            R"({"payload_base64":"aGVsbG8=","content_type":"text/plain; charset=utf-8"})");
  EXPECT_EQ(job_json(NewJob{.payload = "\xFF"}),
            R"({"payload_base64":"/w==","content_type":"application/octet-stream"})");
  EXPECT_EQ(job_json(NewJob{.payload = "1", .content_type = "image/png"}),
            R"({"payload_base64":"MQ==","content_type":"image/png"})");
}

TEST_F(ClientTest, every_option_of_a_job_is_sent) {
  const NewJob job{.payload = "1",
                   .kind = "k",
                   .priority_class = "P0",
                   .group = "g",
                   .key = "y",
                   .unique_key = "u",
                   .priority = -3,
                   .delay_ms = 5,
                   .lease_ms = 6,
                   .timeout_ms = 7,
                   .ttl_ms = 8,
                   .unique_window_ms = 9,
                   .max_attempts = 2,
                   .run_at = "2030-01-01T00:00:00Z",
                   .retry = "exp2",
                   .tags = {"a", "b\""},
                   .headers = {{"traceparent", "00-1"}}};
  EXPECT_EQ(
      job_json(job),
      R"({"payload":1,"kind":"k","class":"P0","priority":-3,"delay":5,"run_at":"2030-01-01T00:00:00Z",)"
      R"("max_attempts":2,"retry":"exp2","lease":6,"timeout":7,"ttl":8,"group":"g","key":"y","unique_key":"u",)"
      R"("unique_window":9,"tags":["a","b\""],"headers":{"traceparent":"00-1"}})");
}

TEST_F(ClientTest, a_batch_is_one_request_with_its_key) {
  transport.answer(202, R"({"ids":["1","2"],"duplicates":[]})");
  const std::vector<std::string> jobs = {R"({"payload":1})", R"({"payload":2})"};
  ASSERT_TRUE(client.enqueue_batch("q", jobs, "key-0"));
  EXPECT_EQ(last().body, R"({"jobs":[{"payload":1},{"payload":2}]})");
  EXPECT_EQ(header_of(last(), "idempotency-key"), "key-0");
}

TEST_F(ClientTest, claimed_jobs_keep_payload_text_bytes_and_headers) {
  transport.answer(
      200,
      R"({"jobs":[{"id":"7","queue":"q","kind":null,"payload":{"a":10000000000000000001, "s":"}]"},
    "content_type":"application/json","headers":{"traceparent":"00-x"},"attempt":2,"fence":4294967298,"max_attempts":6,
    "lease_token":"t7","lease_expires_at":"2026-11-29T10:00:00Z","created_at":"2026-11-29T09:00:00Z","timeout":"1m30s"},
    {"id":"8","queue":"q","payload_base64":"AP8=","content_type":"x/y","attempt":1,"fence":1,"max_attempts":1,"lease_token":"t8"}]})");
  const auto jobs = client.claim({.queues = {"q", "r"},
                                  .classes = {"P0"},
                                  .max = 3,
                                  .wait_ms = 1000,
                                  .lease_ms = 60000,
                                  .worker_id = "w"},
                                 nullptr);
  ASSERT_TRUE(jobs) << jobs.error().detail;
  EXPECT_EQ(
      last().body,
      R"({"max":3,"wait":1000,"queues":["q","r"],"classes":["P0"],"lease":60000,"worker_id":"w"})");
  EXPECT_GT(last().timeout_ms, 1000);
  ASSERT_EQ(jobs->size(), 2U);
  EXPECT_EQ((*jobs)[0].payload, R"({"a":10000000000000000001, "s":"}]"})");
  EXPECT_EQ((*jobs)[0].kind, "");
  EXPECT_EQ((*jobs)[0].fence, 4294967298U);
  EXPECT_EQ((*jobs)[0].timeout_ms, 90'000);
  EXPECT_EQ((*jobs)[0].headers, (HttpHeaders{{"traceparent", "00-x"}}));
  EXPECT_EQ((*jobs)[1].payload, std::string("\0\xFF", 2));
}

TEST_F(ClientTest, an_answer_that_cannot_be_read_is_an_error_and_no_crash) {
  for (const char* body : {"", "[]", "{\"jobs\":[{}]}", "{\"jobs\":[1]}", "<html>"}) {
    transport.answer(200, body);
    EXPECT_FALSE(client.claim({.queues = {"q"}}, nullptr)) << body;
  }
}

TEST_F(ClientTest, an_ack_of_a_job_that_is_gone_is_done_and_a_lost_lease_is_not) {
  transport.answer(410, R"({"code":"gone"})");
  EXPECT_TRUE(client.ack({.job_id = "7", .token = "t"}, std::nullopt));
  EXPECT_EQ(last().body, R"({"lease_token":"t"})");
  transport.answer(409, R"({"code":"lease_lost","detail":"d"})");
  const auto lost = client.ack({.job_id = "7", .token = "t"}, R"({"r":1})");
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::lease_lost);
  EXPECT_EQ(last().body, R"({"lease_token":"t","result":{"r":1}})");
}

TEST_F(ClientTest, a_failure_is_sent_in_full) {
  transport.answer(200, R"({"status":"failed","retry_after":"4s"})");
  const auto answer = client.fail({.job_id = "7", .token = "t"}, {.error_class = "crash",
                                                                  .code = "SIGSEGV",
                                                                  .http_status = 503,
                                                                  .message = "line\n\"two\"",
                                                                  .retry_after_ms = 1500,
                                                                  .dead = true});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->retry_after_ms, 4000);
  EXPECT_EQ(last().url, "http://one/v1/jobs/7/fail");
  EXPECT_EQ(
      last().body,
      R"({"lease_token":"t","error":{"message":"line\n\"two\"","class":"crash","code":"SIGSEGV",)"
      R"("http_status":503},"retry_after":1500,"dead":true})");
}

TEST_F(ClientTest, one_extend_carries_many_leases_and_each_has_its_own_answer) {
  transport.answer(200, R"({"results":[{"id":"1","lease_expires_at":"2026-11-29T10:00:00Z"},
    {"id":"2","status":409,"code":"lease_lost","detail":"x"},{"error":{"code":"gone"}}]})");
  const std::vector<ExtendItem> items = {
      {.lease = {.job_id = "1", .token = "a"}, .lease_ms = 60000},
      {.lease = {.job_id = "2", .token = "b"}, .lease_ms = 60000},
      {.lease = {.job_id = "3", .token = "c"}, .lease_ms = 60000}};
  const auto results = client.extend(items);
  ASSERT_TRUE(results);
  EXPECT_EQ((*results)[0]->ms, parse_rfc3339("2026-11-29T10:00:00Z")->ms);
  EXPECT_EQ((*results)[1].error().code, ErrorCode::lease_lost);
  EXPECT_EQ((*results)[2].error().code, ErrorCode::gone);
}

TEST_F(ClientTest, an_extend_answer_of_the_wrong_length_is_refused) {
  transport.answer(200, R"({"results":[]})");
  const std::vector<ExtendItem> items = {{.lease = {.job_id = "1", .token = "a"}, .lease_ms = 1}};
  EXPECT_FALSE(client.extend(items));
}

TEST_F(ClientTest, unfinished_counts_retries_scheduled_and_running_jobs_but_no_ended_ones) {
  transport.answer(
      200,
      R"({"counts":{"scheduled":1,"pending":2,"processing":4,"failed":8,"blocked":16,"completed":99,"dead":99}})");
  EXPECT_EQ(client.unfinished("q").value_or(0), 31U);
  transport.answer(404, R"({"code":"not_found"})");
  EXPECT_EQ(client.unfinished("q").value_or(9), 0U);
}

TEST_F(ClientTest, every_code_of_a_problem_becomes_the_same_error) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    transport.answer(418,
                     "{\"code\":\"" + std::string(to_string(code)) +
                         "\",\"detail\":\"why\",\"depth\":3,\"max_depth\":4}",
                     {{"Retry-After", "2"}});
    const auto answer = client.request("GET", "/v1/queues");
    ASSERT_FALSE(answer);
    EXPECT_EQ(
        answer.error(),
        (Error{.code = code, .detail = "why", .retry_after_ms = 2000, .depth = 3, .max_depth = 4}));
  }
}

TEST_F(ClientTest, what_a_proxy_says_is_judged_by_its_status) {
  transport.answer(502, "<html>bad gateway</html>");
  EXPECT_EQ(client.request("GET", "/v1/queues").error().code, ErrorCode::unavailable);
  transport.answer(403, "no");
  EXPECT_EQ(client.request("GET", "/v1/queues").error().code, ErrorCode::permission_denied);
}

TEST(ClientUrls, the_next_call_goes_to_the_next_server_after_one_that_is_not_reached) {
  FakeTransport transport;
  Client client(Options{.urls = {"http://one", "two:7350"}}, transport);
  transport.fail(ErrorCode::unavailable, "refused");
  const auto first = client.request("GET", "/v1/info");
  EXPECT_NE(first.error().detail.find("http://one"), std::string::npos);
  transport.answer(200, "{}");
  ASSERT_TRUE(client.request("GET", "/v1/info"));
  EXPECT_EQ(transport.calls.back().url, "http://two:7350/v1/info");
}

TEST_F(ClientTest, events_are_followed_until_the_caller_has_enough) {
  transport.answer(200, "id: 4-1\nevent: ack\ndata: {\"n\":1}\n\ndata: {\"n\":2}\n\n");
  std::vector<std::string> seen;
  const auto ended =
      client.follow_events({{"queue", "a b"}}, "4-0", [&seen](const ServerEvent& event) {
        seen.push_back(event.id + event.name + event.data);
        return seen.size() < 2;
      });
  EXPECT_TRUE(ended);
  EXPECT_EQ(seen, (std::vector<std::string>{"4-1ack{\"n\":1}", "4-1message{\"n\":2}"}));
  EXPECT_EQ(last().url, "http://one/v1/events?queue=a%20b");
  EXPECT_EQ(header_of(last(), "last-event-id"), "4-0");
}

TEST_F(ClientTest, a_refused_stream_says_why) {
  transport.answer(401, R"({"code":"unauthenticated","detail":"no token"})");
  const auto ended = client.follow_events({}, "", [](const ServerEvent&) { return true; });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::unauthenticated);
}

}  // namespace
}  // namespace weir::client
