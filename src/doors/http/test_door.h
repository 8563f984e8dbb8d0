// SPDX-License-Identifier: Apache-2.0
// For tests: the HTTP door over an engine and the memory store with a manual clock, driven by whole
// requests.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doors/auth.h"
#include "doors/http/http_door.h"
#include "store/memory/memory_store.h"

namespace weir::doors {

// An answer in the making. Values are read when it has come.
class TestResponder final : public HttpResponder {
 public:
  void respond(HttpResponse got) override {
    EXPECT_FALSE(response.has_value()) << "answered twice";
    response = std::move(got);
  }
  void begin_stream(HttpResponse head) override {
    EXPECT_FALSE(response.has_value()) << "answered twice";
    response = std::move(head);
    is_streaming = true;
  }
  bool write(std::string_view bytes) override {
    if (is_gone) return false;
    streamed += bytes;
    return true;
  }
  void end_stream() override { has_ended = true; }
  void on_abandoned(std::function<void()> callback) override { abandoned = std::move(callback); }

  // The client goes away.
  void abandon() {
    is_gone = true;
    if (const auto callback = std::exchange(abandoned, nullptr)) callback();
  }

  int status() const { return response ? response->status : 0; }
  const std::string& body() const {
    static const std::string none;
    return response ? response->body : none;
  }
  std::string header(std::string_view name) const {
    if (!response) return {};
    for (const auto& [known, value] : response->headers) {
      if (known == name) return value;
    }
    return {};
  }
  boost::json::object json() const {
    boost::json::error_code error;
    boost::json::value value = boost::json::parse(body(), error);
    EXPECT_FALSE(error) << body();
    return value.is_object() ? value.as_object() : boost::json::object();
  }
  // A text member, or "" when it is not there or no text.
  std::string text(std::string_view name) const {
    const boost::json::object object = json();
    const boost::json::value* value = object.if_contains(name);
    return value != nullptr && value->is_string() ? std::string(value->as_string()) : std::string();
  }
  std::string code() const { return text("code"); }

  std::optional<HttpResponse> response;
  std::string streamed;
  bool is_streaming = false;
  bool has_ended = false;
  bool is_gone = false;
  std::function<void()> abandoned;
};
using Reply = std::shared_ptr<TestResponder>;

// One thread.
class TestDoor {
 public:
  explicit TestDoor(HttpDoorOptions options = {})
      : memory({.seed = 7}), engine(memory, clock, {.prng_seed = 11}) {
    EXPECT_TRUE(engine.start());
    options.clock = &clock;
    options.after = [this](std::int64_t delay_ms, std::function<void()> task) {
      timers.emplace_back(delay_ms, std::move(task));
    };
    door = std::make_unique<HttpDoor>(engine, std::move(options));
    settle();
  }

  void settle() {
    for (int turns = 0; turns < 10'000; ++turns) {
      const Result<bool> more = engine.run_turn();
      ASSERT_TRUE(more) << more.error().detail;
      if (!*more) return;
    }
    FAIL() << "the engine does not come to rest";
  }
  void pass(std::int64_t duration_ms) {
    settle();
    while (duration_ms > 0) {
      const std::int64_t step =
          std::min(duration_ms, std::max<std::int64_t>(1, engine.next_turn_in_ms()));
      clock.advance(step);
      duration_ms -= step;
      settle();
    }
  }

  // Puts a request; its answer comes with settle() at the earliest.
  Reply put(std::string_view method, std::string_view target, std::string_view body = {},
            HttpHeaders headers = {}) {
    HttpRequest request{.method = std::string(method),
                        .target = std::string(target),
                        .headers = std::move(headers)};
    const auto lacks = [&request](std::string_view name) { return !request.has_header(name); };
    if (lacks("host")) request.headers.emplace_back("host", "localhost:7350");
    if (!body.empty() && lacks("content-type"))
      request.headers.emplace_back("content-type", "application/json");
    if (!token.empty() && lacks("authorization"))
      request.headers.emplace_back("authorization", "Bearer " + token);
    if (!body.empty()) request.headers.emplace_back("content-length", std::to_string(body.size()));
    auto reply = std::make_shared<TestResponder>();
    const HttpHeadVerdict verdict = door->on_head(request);
    if (!verdict.accept) {
      reply->respond(verdict.refusal);
      return reply;
    }
    EXPECT_LE(body.size(), verdict.body_bytes_max);
    request.body = std::string(body);
    door->on_request(std::move(request), reply);
    return reply;
  }
  Reply ask(std::string_view method, std::string_view target, std::string_view body = {},
            HttpHeaders headers = {}) {
    Reply reply = put(method, target, body, std::move(headers));
    settle();
    EXPECT_TRUE(reply->response.has_value()) << method << " " << target;
    return reply;
  }
  Reply get(std::string_view target) { return ask("GET", target); }
  Reply post(std::string_view target, std::string_view body = "{}", HttpHeaders headers = {}) {
    return ask("POST", target, body, std::move(headers));
  }

  // The id of a new job with payload 1.
  std::string enqueue(const std::string& queue = "q", const std::string& more = {}) {
    const Reply reply = post("/v1/queues/" + queue + "/jobs",
                             R"({"payload":1)" + (more.empty() ? "" : "," + more) + "}");
    EXPECT_EQ(reply->status(), 202) << reply->body();
    return reply->text("id");
  }
  struct Held {
    std::string id, token;
  };
  Held claim(const std::string& queue = "q") {
    const Reply reply = post("/v1/claim", R"({"queues":[")" + queue + R"("]})");
    const boost::json::object answer = reply->json();
    const auto& jobs = answer.at("jobs").as_array();
    if (jobs.empty()) return {};
    const auto& job = jobs[0].as_object();
    return {.id = std::string(job.at("id").as_string()),
            .token = std::string(job.at("lease_token").as_string())};
  }
  std::string make_token(ScopeMask scopes, std::vector<std::string> queues = {},
                         std::uint32_t namespace_id = 0) {
    NewToken made = doors::make_token(
        {.scopes = scopes, .queues = std::move(queues), .namespace_id = namespace_id},
        clock.wall_now(), "test");
    EXPECT_TRUE(engine.submit(
        {.command = core::PutToken{.token = made.token}, .principal = {.id = "server"}},
        [](const core::Answer& answer) {
          EXPECT_EQ(std::get_if<Error>(&answer.outcome), nullptr);
        }));
    settle();
    return made.text;
  }

  ManualClock clock;
  store::memory::MemoryStore memory;
  engine::Engine engine;
  std::unique_ptr<HttpDoor> door;
  std::vector<std::pair<std::int64_t, std::function<void()>>> timers;
  std::string token;  // sent with every request when set
};

}  // namespace weir::doors
