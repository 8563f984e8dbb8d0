// SPDX-License-Identifier: Apache-2.0
// Requests that take time: claims whose client goes, idempotency keys, waiting, event streams.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "doors/http/events.h"
#include "doors/http/test_door.h"
#include "doors/http/verbs.h"

namespace weir::doors {
namespace {

TEST(HttpDoorClaim, a_client_that_goes_while_waiting_swallows_nothing) {
  TestDoor t;
  const Reply gone = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s"})");
  t.settle();
  EXPECT_FALSE(gone->response);
  gone->abandon();
  const std::string id = t.enqueue();
  EXPECT_FALSE(gone->response);
  EXPECT_EQ(t.get("/v1/jobs/" + id)->text("status"), "pending");
  EXPECT_EQ(t.claim().id, id);
}

TEST(HttpDoorClaim, an_answer_that_never_left_gives_its_jobs_back_uncharged) {
  TestDoor t;
  const std::string id = t.enqueue();
  const Reply gone = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s"})");
  t.settle();
  ASSERT_TRUE(gone->response);
  EXPECT_EQ(t.get("/v1/jobs/" + id)->text("status"), "processing");
  gone->abandon();
  t.settle();
  const boost::json::object job = t.get("/v1/jobs/" + id)->json();
  EXPECT_EQ(job.at("status").as_string(), "pending");
  EXPECT_EQ(job.at("charged_attempts").as_int64(), 0);
}

TEST(HttpDoorClaim, a_waiting_claim_is_answered_at_once_and_else_in_time) {
  TestDoor t;
  const Reply first = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"10s","max":5})");
  t.settle();
  t.enqueue();
  ASSERT_TRUE(first->response);
  EXPECT_EQ(first->json().at("jobs").as_array().size(), 1U);
  const Reply second = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"10s"})");
  t.pass(9'999);
  EXPECT_FALSE(second->response);
  t.pass(2);
  ASSERT_TRUE(second->response);
  EXPECT_EQ(second->status(), 200);
  EXPECT_EQ(second->body(), R"({"jobs":[]})");
}

TEST(HttpDoorClaim, takes_no_idempotency_key) {
  TestDoor t;
  const std::string id = t.enqueue();
  const Reply reply = t.post("/v1/claim", R"({"queues":["q"]})", {{"idempotency-key", "k"}});
  EXPECT_EQ(reply->status(), 400);
  EXPECT_EQ(t.get("/v1/jobs/" + id)->text("status"), "pending");
}

TEST(HttpDoorKeys, a_repeat_gets_the_same_answer_and_a_running_one_conflicts) {
  TestDoor t;
  const HttpHeaders key = {{"idempotency-key", "order-7"}};
  const Reply first = t.put("POST", "/v1/queues/q/jobs", R"({"payload":1})", key);
  const Reply running = t.put("POST", "/v1/queues/q/jobs", R"({"payload":1})", key);
  t.settle();
  EXPECT_EQ(first->status(), 202);
  EXPECT_EQ(running->status(), 409);
  EXPECT_EQ(running->code(), "conflict");
  const Reply again = t.post("/v1/queues/q/jobs", R"({"payload":1})", key);
  EXPECT_EQ(again->status(), 202);
  EXPECT_EQ(again->body(), first->body());
  EXPECT_EQ(again->header("Location"), first->header("Location"));
  EXPECT_EQ(again->header("Idempotent-Replayed"), "true");
  EXPECT_EQ(t.post("/v1/queues/q/jobs", R"({"payload":2})", key)->status(), 422);
  // Another route or another token is another request.
  EXPECT_EQ(t.post("/v1/queues/r/jobs", R"({"payload":1})", key)->header("Idempotent-Replayed"),
            "");
  t.token = t.make_token(31);
  EXPECT_NE(t.post("/v1/queues/q/jobs", R"({"payload":1})", key)->text("id"), first->text("id"));
}

TEST(HttpDoorKeys, options_in_headers_are_part_of_the_request) {
  TestDoor t;
  const HttpHeaders base = {{"content-type", "text/plain"}, {"idempotency-key", "k"}};
  HttpHeaders p1 = base;
  p1.emplace_back("weir-class", "P1");
  EXPECT_EQ(t.post("/v1/queues/q/jobs", "hello", base)->status(), 202);
  EXPECT_EQ(t.post("/v1/queues/q/jobs", "hello", p1)->status(), 422);
  EXPECT_EQ(t.post("/v1/queues/q/jobs", "hello", base)->header("Idempotent-Replayed"), "true");
}

TEST(HttpDoorKeys, keys_outlive_their_day_by_nothing) {
  TestDoor t;
  const HttpHeaders key = {{"idempotency-key", "k"}};
  const std::string first = t.post("/v1/queues/q/jobs", R"({"payload":1})", key)->text("id");
  t.clock.advance(core::kIdempotencyMs + 1'000);
  t.pass(1'100);
  EXPECT_NE(t.post("/v1/queues/q/jobs", R"({"payload":1})", key)->text("id"), first);
  EXPECT_EQ(
      t.post("/v1/queues/q/jobs", R"({"payload":1})", {{"idempotency-key", std::string(256, 'k')}})
          ->status(),
      400);
  EXPECT_EQ(t.post("/v1/queues/q/jobs", R"({"payload":1})", {{"idempotency-key", ""}})->status(),
            400);
}

TEST(HttpDoorKeys, lists_of_verbs_are_remembered_item_by_item) {
  TestDoor t;
  t.enqueue();
  t.enqueue();
  const TestDoor::Held a = t.claim();
  const TestDoor::Held b = t.claim();
  const auto body = [](std::vector<TestDoor::Held> items) {
    std::string text;
    for (const TestDoor::Held& item : items) {
      text += (text.empty() ? "" : ",") +
              (R"({"id":")" + item.id + R"(","lease_token":")" + item.token + R"("})");
    }
    return R"({"items":[)" + text + "]}";
  };
  const HttpHeaders key = {{"idempotency-key", "k"}};
  const Reply first = t.post("/v1/ack", body({a}), key);
  EXPECT_EQ(first->status(), 200);
  // The same key with more items: refused as a whole, and the second job keeps its lease.
  EXPECT_EQ(t.post("/v1/ack", body({a, b}), key)->status(), 422);
  EXPECT_EQ(t.get("/v1/jobs/" + b.id)->text("status"), "processing");
  const Reply again = t.post("/v1/ack", body({a}), key);
  EXPECT_EQ(again->body(), first->body());
  EXPECT_EQ(again->header("Idempotent-Replayed"), "true");
  const Reply both = t.post("/v1/ack", body({a, b, {.id = "999", .token = "x"}}));
  const boost::json::object answer = both->json();
  const auto& results = answer.at("results").as_array();
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results.at(0).at("status").as_string(), "completed");
  EXPECT_EQ(results.at(1).at("status").as_string(), "completed");
  EXPECT_EQ(results.at(2).at("error").at("code").as_string(), "not_found");
}

TEST(HttpDoorWait, answers_when_the_job_has_ended) {
  TestDoor t;
  const std::string id = t.enqueue();
  const Reply waiting = t.put("GET", "/v1/jobs/" + id + "?wait=30s&history=1");
  const Reply gone = t.put("GET", "/v1/jobs/" + id + "?wait=30s");
  t.settle();
  EXPECT_FALSE(waiting->response);
  gone->abandon();
  const TestDoor::Held held = t.claim();
  t.post("/v1/jobs/" + id + "/ack",
         R"({"lease_token":")" + held.token + R"(","result":{"sum":12345678901234567890}})");
  ASSERT_TRUE(waiting->response);
  EXPECT_FALSE(gone->response);
  EXPECT_EQ(waiting->text("status"), "completed");
  EXPECT_NE(waiting->body().find(R"("result":{"sum":12345678901234567890})"), std::string::npos)
      << waiting->body();
  EXPECT_EQ(waiting->json().at("history").as_array().size(), 1U);
  // An ended job answers at once, one that does not end answers in time as it is.
  EXPECT_EQ(t.get("/v1/jobs/" + id + "?wait=30s")->text("status"), "completed");
  const std::string other = t.enqueue();
  const Reply late = t.put("GET", "/v1/jobs/" + other + "?wait=5s");
  t.pass(5'001);
  ASSERT_TRUE(late->response);
  EXPECT_EQ(late->text("status"), "pending");
  EXPECT_EQ(t.get("/v1/jobs/" + other + "?wait=61s")->status(), 400);
}

TEST(HttpDoorEvents, what_happens_is_streamed_and_filtered) {
  TestDoor t;
  const Reply all = t.put("GET", "/v1/events");
  const Reply mail = t.put("GET", "/v1/events?queue=mail*");
  EXPECT_TRUE(all->is_streaming);
  EXPECT_EQ(all->response->content_type, "text/event-stream");
  t.enqueue("pay");
  t.enqueue("mail.out");
  EXPECT_NE(all->streamed.find("\"queue\":\"pay\""), std::string::npos);
  EXPECT_NE(all->streamed.find("event: enqueue\ndata: {"), std::string::npos) << all->streamed;
  EXPECT_NE(all->streamed.find("id: "), std::string::npos);
  EXPECT_EQ(mail->streamed.find("pay"), std::string::npos);
  EXPECT_NE(mail->streamed.find("mail.out"), std::string::npos);
  // A heartbeat, and a client that went is forgotten.
  ASSERT_EQ(t.timers.size(), 1U);
  EXPECT_EQ(t.timers[0].first, http::kHeartbeatMs);
  mail->abandon();
  const auto beat = t.timers[0].second;
  beat();
  EXPECT_TRUE(all->streamed.ends_with(": beat\n\n"));
  EXPECT_EQ(t.timers.size(), 2U);
  t.door->end_streams();
  EXPECT_TRUE(all->has_ended);
  t.enqueue("pay");
  t.timers[1].second();
  EXPECT_EQ(t.timers.size(), 2U);
}

TEST(HttpDoorEvents, a_revoked_token_ends_its_streams_and_its_waiting_calls) {
  TestDoor t;
  const std::string admin = t.make_token(31);
  const std::string worker = t.make_token(31);
  t.token = worker;
  const std::string job = t.enqueue("other", R"("delay":"1h")");
  const Reply stream = t.put("GET", "/v1/events");
  const Reply claim = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s"})");
  const Reply waiting = t.put("GET", "/v1/jobs/" + job + "?wait=60s");
  t.settle();
  t.token = admin;
  t.ask("DELETE", "/v1/tokens/" + worker.substr(0, worker.find('.')));
  const std::string id = t.enqueue("q");
  EXPECT_TRUE(stream->has_ended);
  EXPECT_EQ(stream->streamed.find("event:"), std::string::npos) << stream->streamed;
  EXPECT_EQ(claim->status(), 401);
  const Reply shown = t.get("/v1/jobs/" + id);
  EXPECT_EQ(shown->text("status"), "pending");  // and uncharged
  EXPECT_EQ(shown->json().at("charged_attempts").as_int64(), 0);
  t.post("/v1/jobs/" + job + "/cancel");
  EXPECT_EQ(waiting->status(), 401);
}

TEST(HttpDoorEvents, a_head_request_gets_a_head_and_no_stream) {
  TestDoor t;
  const Reply reply = t.ask("HEAD", "/v1/events");
  EXPECT_EQ(reply->status(), 200);
  EXPECT_FALSE(reply->is_streaming);
}

TEST(HttpDoorEvents, a_bound_token_sees_only_its_queues) {
  TestDoor t;
  const std::string admin = t.make_token(31);
  t.token = t.make_token(31, {"mail*"});
  const Reply stream = t.put("GET", "/v1/events");
  t.token = admin;
  t.enqueue("pay");
  t.enqueue("mail.out");
  EXPECT_EQ(stream->streamed.find("pay"), std::string::npos);
  EXPECT_NE(stream->streamed.find("mail.out"), std::string::npos);
}

}  // namespace
}  // namespace weir::doors
