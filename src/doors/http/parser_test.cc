// SPDX-License-Identifier: Apache-2.0
// Bytes to commands: what each field becomes, and that whatever is odd is refused by name.
#include "doors/http/parser.h"

#include <gtest/gtest.h>

namespace weir::doors::http {
namespace {

HttpRequest json_request(std::string body) {
  return {.method = "POST",
          .target = "/",
          .headers = {{"content-type", "application/json"}},
          .body = std::move(body)};
}

Result<core::NewJob> parse_one(std::string body) {
  WEIR_TRY_ASSIGN(core::Enqueue enqueue, parse_enqueue(json_request(std::move(body)), "q", {}));
  return enqueue.jobs.front();
}

std::string refusal(std::string body) {
  const Result<core::NewJob> job = parse_one(std::move(body));
  if (job) return "";
  EXPECT_EQ(job.error().code, ErrorCode::invalid_argument);
  return job.error().detail;
}

TEST(ParseEnqueue, every_field_arrives) {
  const Result<core::NewJob> job = parse_one(
      R"({"kind":"mail","payload":{"to":1},"content_type":"application/json","class":"P0","priority":-5,"delay":"1m30s",)"
      R"("max_attempts":3,"retry":"exp2","lease":90000,"timeout":"5m","ttl":"7d","group":"g","key":"k","unique_key":"u",)"
      R"("unique_window":"1h","tags":["a","b"],"headers":{"X-A":"1","x-b":"é"}})");
  ASSERT_TRUE(job) << job.error().detail;
  EXPECT_EQ(job->kind, "mail");
  EXPECT_EQ(job->body.payload, R"({"to":1})");
  EXPECT_EQ(job->priority_class, core::PriorityClass::P0);
  EXPECT_EQ(job->priority, -5);
  EXPECT_EQ(job->delay_ms, 90'000);
  EXPECT_EQ(job->options.max_attempts, 3U);
  EXPECT_EQ(job->options.retry->name, "exp2");
  EXPECT_EQ(job->options.lease_ms, 90'000);
  EXPECT_EQ(job->options.timeout_ms, 300'000);
  EXPECT_EQ(job->ttl_ms, 7 * kMsPerDay);
  EXPECT_EQ(job->group, "g");
  EXPECT_EQ(job->limit_key, "k");
  EXPECT_EQ(job->unique_key, "u");
  EXPECT_EQ(job->unique_window_ms, kMsPerHour);
  EXPECT_EQ(job->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job->body.headers, (std::vector<core::TypedHeader>{{"X-A", "1"}, {"x-b", "é"}}));
}

TEST(ParseEnqueue, numbers_of_a_payload_keep_every_digit) {
  for (const std::string text : {"3889108265204450030", "[899999999999999990,999999999999999990]",
                                 "[130775545883395173]", "18446744073709551615", "1e22", "0.1",
                                 "-0", "1E+2", "1234567890123456789012345678901234567890"}) {
    const Result<core::NewJob> job = parse_one(R"({"payload": )" + text + " }");
    ASSERT_TRUE(job) << text;
    EXPECT_EQ(job->body.payload, text);
  }
}

TEST(ParseEnqueue, delays_are_kept_exactly_or_refused) {
  for (const std::int64_t ms :
       {std::int64_t{2'592'000'000}, std::int64_t{2147483647}, std::int64_t{2147483648},
        std::int64_t{4294967295}, std::int64_t{4294967296}, std::int64_t{1} << 53,
        std::numeric_limits<std::int64_t>::max()}) {
    const Result<core::NewJob> job =
        parse_one(R"({"payload":1,"delay":)" + std::to_string(ms) + "}");
    ASSERT_TRUE(job);
    EXPECT_EQ(job->delay_ms, ms);
  }
  for (const char* bad : {"-1", "1e400", "9223372036854775808", "1.5", "\"-5s\"", "\"5 parsecs\"",
                          "null", "true", "[]"}) {
    EXPECT_NE(refusal(R"({"payload":1,"delay":)" + std::string(bad) + "}").find("delay"),
              std::string::npos)
        << bad;
  }
  EXPECT_EQ(parse_one(R"({"payload":1,"delay":"5"})")->delay_ms, 5);
  EXPECT_EQ(parse_one(R"({"payload":1,"run_at":"9999-12-31T23:59:59.999Z"})")->run_at,
            kWallTimeMax);
  EXPECT_NE(refusal(R"({"payload":1,"run_at":"10000-01-01T00:00:00Z"})"), "");
}

TEST(ParseEnqueue, contradictions_and_slips_are_refused) {
  EXPECT_NE(refusal(R"({"kind":"a"})").find("payload is missing"), std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"payload_base64":"AA=="})").find("choose one"),
            std::string::npos);
  EXPECT_NE(
      refusal(R"({"payload":1,"delay":1,"run_at":"2027-01-01T00:00:00Z"})").find("choose one"),
      std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"priorty":1})").find("\"priorty\"; did you mean \"priority\""),
            std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"class":"P5"})").find("class must be one of"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"priority":4294967296})").find("priority"), std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"tags":["a",1]})").find("tags[1]"), std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"headers":{"a":"1","a":"2"}})").find("twice"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"payload_base64":"A"})").find("base64"), std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"retry":"lader"})"), "");
  EXPECT_NE(refusal(R"({"payload":1,"retry":{"base":"1s","factor":0,"cap":"1m"}})"), "");
  EXPECT_NE(refusal(R"({"payload":1,"retry":{"base":"1s","factor":2}})").find("cap"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"payload":1,"retry":{"delays":["1s"],"jitter":0}})"), "");
  EXPECT_NE(refusal(R"({"payload":1,"content_type":"image/png"})").find("payload_base64"),
            std::string::npos);
}

TEST(ParseEnqueue, another_content_type_makes_the_body_the_payload) {
  HttpRequest request{.method = "POST",
                      .headers = {{"content-type", "image/png"},
                                  {"weir-kind", "thumb"},
                                  {"weir-class", "P3"},
                                  {"weir-priority", "7"},
                                  {"weir-delay", "5s"},
                                  {"weir-max-attempts", "2"},
                                  {"weir-tags", "a, b"},
                                  {"weir-header-x-request", "r1"},
                                  {"traceparent", "00-abc-def-01"}},
                      .body = std::string("\x89PNG\0\xFF", 6)};
  const Result<core::Enqueue> enqueue = parse_enqueue(request, "q", {});
  ASSERT_TRUE(enqueue) << enqueue.error().detail;
  const core::NewJob& job = enqueue->jobs.front();
  EXPECT_EQ(job.body.payload, request.body);
  EXPECT_EQ(job.body.content_type, "image/png");
  EXPECT_EQ(job.kind, "thumb");
  EXPECT_EQ(job.priority_class, core::PriorityClass::P3);
  EXPECT_EQ(job.priority, 7);
  EXPECT_EQ(job.delay_ms, 5000);
  EXPECT_EQ(job.options.max_attempts, 2U);
  EXPECT_EQ(job.tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job.body.headers, (std::vector<core::TypedHeader>{{"x-request", "r1"},
                                                              {"traceparent", "00-abc-def-01"}}));

  request.headers.emplace_back("weir-knd", "x");
  const Result<core::Enqueue> refused = parse_enqueue(request, "q", {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "unknown header Weir-knd; did you mean Weir-kind?");
  request.headers.back() = {"weir-priority", "8"};
  EXPECT_FALSE(parse_enqueue(request, "q", {}));
  request.headers.back() = {"weir-lease", "{\"a\":1}"};
  EXPECT_FALSE(parse_enqueue(request, "q", {}));
  request.headers.back() = {"weir-timeout", "soon"};
  EXPECT_FALSE(parse_enqueue(request, "q", {}));
}

TEST(ParseEnqueue, a_bad_job_of_a_batch_is_named_by_its_index) {
  const Result<core::Enqueue> batch = parse_enqueue_batch(
      json_request(R"({"jobs":[{"payload":1},{"payload":2,"delay":"x"}]})"), "q", {});
  ASSERT_FALSE(batch);
  EXPECT_TRUE(batch.error().detail.starts_with("jobs[1].delay")) << batch.error().detail;
  const Result<core::Enqueue> lacking =
      parse_enqueue_batch(json_request(R"({"jobs":[{"payload":1},{}]})"), "q", {});
  ASSERT_FALSE(lacking);
  EXPECT_TRUE(lacking.error().detail.starts_with("jobs[1]")) << lacking.error().detail;
  std::string many = R"({"jobs":[)";
  for (int i = 0; i < 1001; ++i) many += i == 0 ? R"({"payload":1})" : R"(,{"payload":1})";
  const Result<core::Enqueue> over = parse_enqueue_batch(json_request(many + "]}"), "q", {});
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::too_large);
  EXPECT_FALSE(parse_enqueue_batch(json_request(R"({"jobs":[]})"), "q", {}));
}

TEST(ParseVerbs, fail_carries_the_whole_error) {
  const Result<core::Fail> fail = parse_fail(
      core::JobId{7},
      R"({"lease_token":"x","error":{"class":"timeout","code":"E1","http_status":503,"message":"m"},"retry_after":"5s","dead":true})");
  ASSERT_TRUE(fail) << fail.error().detail;
  EXPECT_EQ(fail->job, core::JobId{7});
  EXPECT_EQ(
      fail->error,
      (core::JobError{.error_class = "timeout", .code = "E1", .http_status = 503, .message = "m"}));
  EXPECT_EQ(fail->retry_after_ms, 5000);
  EXPECT_TRUE(fail->dead);
  EXPECT_FALSE(parse_fail(core::JobId{7}, R"({"error":{}})"));
  EXPECT_FALSE(parse_fail(core::JobId{7}, R"({"id":"7","lease_token":"x"})"));
}

TEST(ParseVerbs, items_need_ids_and_stay_within_bounds) {
  const Result<std::vector<core::Command>> items =
      parse_items(BatchVerb::ack,
                  R"({"items":[{"id":"18446744073709551615","lease_token":"x","result":1e22}]})");
  ASSERT_TRUE(items) << items.error().detail;
  const auto& ack = std::get<core::Ack>(items->front());
  EXPECT_EQ(ack.job.value, 18446744073709551615U);
  EXPECT_EQ(ack.result, "1e22");
  EXPECT_FALSE(parse_items(BatchVerb::ack, R"({"items":[]})"));
  const auto refused = parse_items(
      BatchVerb::extend, R"({"items":[{"id":"1","lease_token":"x"},{"lease_token":"x"}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().detail, "items[1].id is missing");
  EXPECT_FALSE(parse_items(BatchVerb::fail, R"({"items":[{"id":1,"lease_token":"x"}]})"));
}

TEST(ParseClaim, bounds_are_said) {
  EXPECT_TRUE(parse_claim(
      R"({"queues":["a"],"max":1000,"wait":"60s","classes":["P0"],"kinds":["k"],"worker_id":"w","lease":"30s"})"));
  EXPECT_FALSE(parse_claim(R"({"queues":[]})"));
  EXPECT_FALSE(parse_claim(R"({})"));
  EXPECT_FALSE(parse_claim(R"({"queues":["a\u0000b"]})"));
  EXPECT_FALSE(parse_claim(R"({"queues":["a"],"max":0})"));
  EXPECT_FALSE(parse_claim(R"({"queues":["a"],"max":-1})"));
  EXPECT_FALSE(parse_claim(R"({"queues":["a"],"max":9223372036854775807})"));
  EXPECT_EQ(parse_claim(R"({"queues":["a"],"wait":"61s"})").error().detail,
            "wait must be at most 1m; claim again after it");
}

TEST(ParseQueue, settings_by_their_json_names) {
  const Result<core::QueuePatch> patch = parse_queue_patch(
      R"({"class":"P1","retry":{"base":"1s","factor":2,"cap":"15m","jitter":0.2},"max_attempts":4,"lease":"2m","timeout":"10m",)"
      R"("ttl":"1d","max_depth":1000,"payload_max":"64KiB","durability":"interval:100ms","claim":"sync","delivery":"at-most-once",)"
      R"("order":"fifo","completed_retention":"1h","completed_max":10,"dead_retention":"30d","paused":true,"draining":false})",
      {});
  ASSERT_TRUE(patch) << patch.error().detail;
  EXPECT_EQ(patch->priority_class, core::PriorityClass::P1);
  EXPECT_EQ(patch->retry->base_ms, 1000);
  EXPECT_EQ(patch->retry->max_attempts, 5U);
  EXPECT_EQ(patch->max_attempts, 4U);
  EXPECT_EQ(patch->payload_bytes_max, 65536U);
  EXPECT_EQ(patch->durability, core::Durability::interval);
  EXPECT_EQ(patch->durability_interval_ms, 100);
  EXPECT_EQ(patch->claim, core::ClaimMode::sync);
  EXPECT_EQ(patch->delivery, core::DeliveryMode::at_most_once);
  EXPECT_EQ(patch->order, core::QueueOrder::fifo);
  EXPECT_EQ(patch->dead_retention_ms, 30 * kMsPerDay);
  EXPECT_EQ(patch->paused, true);
  EXPECT_EQ(patch->draining, false);
  for (const char* bad :
       {R"({"durability":"never"})", R"({"durability":"interval:0"})", R"({"claim":"later"})",
        R"({"max_depth":-1})", R"({"retry":{"delays":[]}})", R"({"name":"x"})",
        R"({"payload_max":"big"})"}) {
    EXPECT_FALSE(parse_queue_patch(bad, {})) << bad;
  }
  const RetryPolicies named = {[] {
    core::RetryPolicy policy = core::exp2_policy();
    policy.name = "mine";
    return policy;
  }()};
  EXPECT_EQ(parse_queue_patch(R"({"retry":"mine"})", named)->retry->name, "mine");
}

TEST(ParseEdit, if_match_takes_entity_tags) {
  EXPECT_EQ(parse_edit(core::JobId{1}, "{}", "\"7\"")->if_match, 7U);
  EXPECT_EQ(parse_edit(core::JobId{1}, "{}", "W/\"7\"")->if_match, 7U);
  EXPECT_EQ(parse_edit(core::JobId{1}, "{}", "*")->if_match, std::nullopt);
  EXPECT_FALSE(parse_edit(core::JobId{1}, "{}", "\"x\""));
}

TEST(Query, strict_and_decoded) {
  const Result<Query> query = Query::parse("queue=a%2Fb+c&limit=10", "queue,limit");
  ASSERT_TRUE(query);
  EXPECT_EQ(*query->find("queue"), "a/b c");
  EXPECT_EQ(*query->number("limit", 1, 1, 100), 10U);
  EXPECT_FALSE(Query::parse("limti=1", "queue,limit"));
  EXPECT_FALSE(Query::parse("limit=1&limit=2", "queue,limit"));
  EXPECT_FALSE(Query::parse("x=1", ""));
  EXPECT_FALSE(Query::parse("queue=%zz", "queue"));
  for (const char* bad : {"-1", "NaN", "101", "9999999999999999999999", "", "1.5", "0"}) {
    EXPECT_FALSE(Query::parse("limit=" + std::string(bad), "limit")->number("limit", 1, 1, 100))
        << bad;
  }
}

TEST(ContentType, json_is_told_from_the_rest) {
  EXPECT_TRUE(is_json_type("application/json"));
  EXPECT_TRUE(is_json_type("Application/JSON; charset=UTF-8"));
  EXPECT_FALSE(is_json_type("application/json; charset=latin1"));
  EXPECT_FALSE(is_json_type("application/jsonp"));
  EXPECT_FALSE(is_json_type("application/cloudevents+json"));
  EXPECT_FALSE(is_json_type(""));
}

TEST(JobId, decimal_texts_only) {
  EXPECT_EQ(parse_job_id("1970670598291982290")->value, 1970670598291982290U);
  for (const char* bad : {"", "0", "-1", "+1", "1.0", "0x1", "18446744073709551616", " 1", "abc"}) {
    EXPECT_FALSE(parse_job_id(bad)) << bad;
  }
}

}  // namespace
}  // namespace weir::doors::http
