// SPDX-License-Identifier: Apache-2.0
// Every code and every outcome has its word.
#include "doors/http/map.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "doors/http/reply.h"

namespace weir::doors::http {
namespace {

boost::json::object parsed(const HttpResponse& response) {
  return boost::json::parse(response.body).as_object();
}

std::string header(const HttpResponse& response, std::string_view name) {
  for (const auto& [known, value] : response.headers) {
    if (known == name) return value;
  }
  return {};
}

TEST(HttpMap, every_error_code_has_its_status_and_its_problem) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    EXPECT_EQ(http_status(code), error_info(code).http_status) << to_string(code);
    const HttpResponse response =
        to_response({.outcome = Error{.code = code, .detail = "why \"it\" failed"}});
    EXPECT_EQ(response.status, http_status(code));
    EXPECT_EQ(response.content_type, "application/problem+json");
    const boost::json::object problem = parsed(response);
    EXPECT_EQ(problem.at("code").as_string(), to_string(code));
    EXPECT_EQ(problem.at("status").as_int64(), http_status(code));
    EXPECT_EQ(problem.at("detail").as_string(), "why \"it\" failed");
    EXPECT_TRUE(problem.contains("type") && problem.contains("title"));
    const bool may_repeat = error_info(code).retry == RetryAdvice::later;
    EXPECT_EQ(!header(response, "Retry-After").empty(), may_repeat) << to_string(code);
  }
}

TEST(HttpMap, the_words_of_the_contract_have_their_numbers) {
  const std::pair<ErrorCode, int> contract[] = {{ErrorCode::invalid_argument, 400},
                                                {ErrorCode::unauthenticated, 401},
                                                {ErrorCode::permission_denied, 403},
                                                {ErrorCode::not_found, 404},
                                                {ErrorCode::lease_lost, 409},
                                                {ErrorCode::conflict, 409},
                                                {ErrorCode::gone, 410},
                                                {ErrorCode::too_large, 413},
                                                {ErrorCode::unsupported_media_type, 415},
                                                {ErrorCode::idempotency_mismatch, 422},
                                                {ErrorCode::queue_saturated, 429},
                                                {ErrorCode::rate_limited, 429},
                                                {ErrorCode::store_full, 507},
                                                {ErrorCode::unavailable, 503},
                                                {ErrorCode::internal, 500}};
  for (const auto& [code, status] : contract)
    EXPECT_EQ(http_status(code), status) << to_string(code);
}

TEST(HttpMap, saturation_says_depth_and_when_to_come_back) {
  const HttpResponse response = problem(Error{.code = ErrorCode::queue_saturated,
                                              .detail = "full",
                                              .retry_after_ms = 1001,
                                              .depth = 1000,
                                              .max_depth = 1000});
  EXPECT_EQ(header(response, "Retry-After"), "2");
  EXPECT_EQ(parsed(response).at("depth").as_int64(), 1000);
  EXPECT_EQ(parsed(response).at("max_depth").as_int64(), 1000);
}

TEST(HttpMap, an_enqueue_is_accepted_and_a_unique_hit_is_not_new) {
  core::Answer answer{.outcome = core::Enqueued{.ids = {core::JobId{9007199254740993}},
                                                .first_state = core::JobState::scheduled}};
  HttpResponse response = to_response(answer, {.queue = "q"});
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(header(response, "Location"), "/v1/jobs/9007199254740993");
  EXPECT_EQ(
      response.body,
      R"({"id":"9007199254740993","status":"scheduled","queue":"q","status_url":"/v1/jobs/9007199254740993",)"
      R"("duplicate":false,"durable":true})");
  std::get<core::Enqueued>(answer.outcome).duplicates = {0};
  answer.durable = false;
  answer.replayed = true;
  response = to_response(answer, {.queue = "q"});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "Idempotent-Replayed"), "true");
  EXPECT_TRUE(parsed(response).at("duplicate").as_bool());
  EXPECT_FALSE(parsed(response).at("durable").as_bool());
}

TEST(HttpMap, every_outcome_is_json) {
  const core::Outcome outcomes[] = {
      core::Nothing{},
      core::Enqueued{.ids = {core::JobId{1}}},
      core::Claimed{},
      core::NotClaimable{},
      core::Moved{.job = core::JobId{1}, .state = core::JobState::failed, .retry_after_ms = 1500},
      core::Extended{.job = core::JobId{1}, .lease_expires_at = WallTime{1'800'000'000'000}},
      core::Removed{.count = 3},
      core::QueueChanged{.queue = {.name = "q"}, .created = true, .warnings = {"w"}},
      core::TokenChanged{.id = "wt_x"},
      core::Kicked{.count = 2},
      Error{}};
  static_assert(std::size(outcomes) == std::variant_size_v<core::Outcome>);
  for (const core::Outcome& outcome : outcomes) {
    const HttpResponse response = to_response({.outcome = outcome, .durable = false});
    EXPECT_FALSE(parsed(response).contains("nothing")) << response.body;
    std::string item;
    JsonWriter out(item);
    write_item(out, core::JobId{1}, {.outcome = outcome});
    EXPECT_NO_THROW(boost::json::parse(item)) << item;
  }
  const HttpResponse failed = to_response({.outcome = outcomes[4]});
  EXPECT_EQ(parsed(failed).at("retry_after").as_string(), "1s500ms");
  EXPECT_EQ(parsed(failed).at("retry_after_ms").as_int64(), 1500);
  EXPECT_EQ(to_response({.outcome = outcomes[7]}).status, 201);
  // Claims leave as deliveries; one that comes here is a fault of ours, not an empty success.
  EXPECT_EQ(to_response({.outcome = core::Claimed{}}).status, 500);
}

}  // namespace
}  // namespace weir::doors::http
