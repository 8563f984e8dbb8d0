// SPDX-License-Identifier: Apache-2.0
// Who is let in, and what the whole door keeps: hosts, sites, scopes, bodies, faults, tokens,
// draining.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "doors/http/events.h"
#include "doors/http/test_door.h"
#include "doors/http/verbs.h"

namespace weir::doors {
namespace {

constexpr core::Scope kScopes[] = {core::Scope::enqueue, core::Scope::work, core::Scope::read,
                                   core::Scope::operate, core::Scope::admin};

std::string filled_in(std::string_view path, std::string_view parameter) {
  const std::size_t open = path.find('{');
  if (open == std::string_view::npos) return std::string(path);
  return std::string(path.substr(0, open)) + std::string(parameter) +
         std::string(path.substr(path.find('}') + 1));
}

TEST(HttpDoorScopes, every_cell_of_routes_by_scopes) {
  TestDoor t;
  std::vector<std::pair<core::Scope, std::string>> tokens;
  for (const core::Scope scope : kScopes)
    tokens.emplace_back(scope, t.make_token(scope_bit(scope)));
  int denied = 0;
  for (const http::Route& route : http::routes()) {
    const std::string path = filled_in(route.path, "1");
    for (const auto& [scope, token] : tokens) {
      t.token = token;
      const bool is_allowed = route.access == http::Access::open || route.scopes == 0 ||
                              (route.scopes & scope_bit(scope)) != 0 || scope == core::Scope::admin;
      const Reply reply = t.put(route.method, path);
      t.settle();
      const bool is_denied = reply->status() == 403 && !reply->is_streaming;
      EXPECT_EQ(is_denied, !is_allowed)
          << route.method << " " << path << " with " << core::to_string(scope);
      denied += is_denied ? 1 : 0;
      reply->abandon();
    }
    if (route.access == http::Access::open) continue;
    t.token = {};
    const Reply anonymous = t.ask(route.method, path);
    EXPECT_EQ(anonymous->status(), 401) << route.method << " " << path;
    EXPECT_EQ(anonymous->header("WWW-Authenticate"), "Bearer realm=\"weir\"");
  }
  EXPECT_GT(denied, 90);
}

TEST(HttpDoorScopes, a_token_reaches_only_its_queues_by_every_way) {
  TestDoor t;
  const std::string id = t.enqueue("pay");
  const std::string other = t.enqueue("mail");
  const TestDoor::Held held = t.claim("pay");
  t.token = t.make_token(31, {"mail*"});
  const std::string token_body = R"({"lease_token":")" + held.token + R"("})";
  const std::tuple<const char*, std::string, std::string> calls[] = {
      {"POST", "/v1/queues/pay/jobs", R"({"payload":1})"},
      {"POST", "/v1/queues/pay/jobs/batch", R"({"jobs":[{"payload":1}]})"},
      {"POST", "/v1/claim", R"({"queues":["mail","pay"]})"},
      {"POST", "/v1/jobs/" + id + "/ack", token_body},
      {"POST", "/v1/jobs/" + id + "/fail", token_body},
      {"POST", "/v1/jobs/" + id + "/release", token_body},
      {"POST", "/v1/jobs/" + id + "/extend", token_body},
      {"POST", "/v1/jobs/" + id + "/cancel", "{}"},
      {"POST", "/v1/jobs/" + id + "/promote", "{}"},
      {"POST", "/v1/jobs/" + id + "/replay", "{}"},
      {"PATCH", "/v1/jobs/" + id, R"({"priority":1})"},
      {"DELETE", "/v1/jobs/" + id, ""},
      {"GET", "/v1/jobs/" + id, ""},
      {"GET", "/v1/jobs?queue=pay", ""},
      {"GET", "/v1/jobs?queue=pay-dlq", ""},
      {"GET", "/v1/queues/pay", ""},
      {"GET", "/v1/queues/pay-dlq", ""},
      {"GET", "/v1/queues/pay/dead", ""},
      {"PUT", "/v1/queues/pay", "{}"},
      {"DELETE", "/v1/queues/pay?force=1", ""},
      {"POST", "/v1/queues/pay/pause", ""},
      {"POST", "/v1/queues/pay/purge", ""},
      {"POST", "/v1/store/backup", R"({"to":"/tmp/x"})"},
      {"GET", "/v1/audit", ""},
      {"POST", "/v1/tokens", R"({"scopes":["read"]})"},
      {"POST", "/v1/tokens", R"({"scopes":["read"],"queues":["*"]})"}};
  for (const auto& [method, target, body] : calls) {
    EXPECT_EQ(t.ask(method, target, body)->status(), 403) << method << " " << target;
  }
  const boost::json::object items =
      t.post("/v1/ack", R"({"items":[{"id":")" + id + R"(","lease_token":"x"}]})")->json();
  EXPECT_EQ(items.at("results").at(0).at("error").at("code").as_string(), "permission_denied");
  const boost::json::object listed = t.get("/v1/jobs")->json();
  ASSERT_EQ(listed.at("jobs").as_array().size(), 1U);
  EXPECT_EQ(listed.at("jobs").at(0).at("id").as_string(), other);
  EXPECT_EQ(t.get("/v1/queues")->json().at("queues").as_array().size(), 1U);
  // The lease is untouched by all that.
  t.token = t.make_token(31);
  EXPECT_EQ(t.post("/v1/jobs/" + id + "/ack", token_body)->status(), 200);
}

TEST(HttpDoorScopes, another_namespace_is_not_there) {
  TestDoor t;
  const std::string id = t.enqueue("q");
  const TestDoor::Held held = t.claim("q");
  t.token = t.make_token(31, {}, 5);
  EXPECT_EQ(t.get("/v1/jobs/" + id)->status(), 404);
  EXPECT_EQ(t.post("/v1/jobs/" + id + "/cancel")->status(), 404);
  EXPECT_EQ(
      t.post("/v1/jobs/" + id + "/ack", R"({"lease_token":")" + held.token + R"("})")->status(),
      404);
  EXPECT_EQ(t.get("/v1/queues/q")->status(), 404);
  EXPECT_TRUE(t.get("/v1/jobs")->json().at("jobs").as_array().empty());
  const std::string own = t.enqueue("q");
  EXPECT_EQ(t.get("/v1/jobs/" + own)->status(), 200);
  t.token = t.make_token(31);
  EXPECT_EQ(t.get("/v1/jobs/" + own)->status(), 404);
}

TEST(HttpDoorHosts, names_that_are_not_ours_are_refused) {
  TestDoor t({.allowed_hosts = {"queue.example"}});
  for (const char* host : {"localhost", "localhost:7350", "LOCALHOST", "127.0.0.1:7350",
                           "127.0.0.2:7350", "[::1]:7350", "queue.example:80"}) {
    EXPECT_EQ(t.ask("GET", "/livez", {}, {{"host", host}})->status(), 200) << host;
  }
  for (const char* host : {"", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io",
                           "queue.example.evil", "[::1", "[", "localhost@evil.example"}) {
    const Reply reply = t.ask("POST", "/v1/queues/q/jobs", R"({"payload":1})", {{"host", host}});
    EXPECT_EQ(reply->status(), 403) << host;
  }
  EXPECT_EQ(t.get("/v1/queues/q")->status(), 404);
}

TEST(HttpDoorHosts, other_sites_are_refused) {
  TestDoor t({.allowed_origins = {"https://ops.example"}});
  const auto status = [&t](HttpHeaders headers) {
    return t.ask("POST", "/v1/queues/q/jobs", R"({"payload":1})", std::move(headers))->status();
  };
  EXPECT_EQ(status({{"origin", "https://ops.example"}}), 202);
  EXPECT_EQ(status({{"origin", "http://localhost:7350"}}), 202);
  EXPECT_EQ(status({{"sec-fetch-site", "same-origin"}}), 202);
  for (const char* origin :
       {"null", "", "https://evil.example", "https://ops.example.evil", "http://ops.example",
        "https://localhost:7350", "http://localhost:7351", "http://localhost"}) {
    EXPECT_EQ(status({{"origin", origin}}), 403) << origin;
  }
  EXPECT_EQ(status({{"sec-fetch-site", "cross-site"}}), 403);
}

TEST(HttpDoorHead, large_bodies_are_refused_before_they_are_read) {
  TestDoor t;
  const auto head = [&t](std::string target, HttpHeaders headers) {
    headers.emplace_back("host", "localhost");
    return t.door->on_head(
        {.method = "POST", .target = std::move(target), .headers = std::move(headers)});
  };
  const HttpHeadVerdict too_large = head("/v1/queues/q/jobs", {{"content-length", "9000000"}});
  EXPECT_FALSE(too_large.accept);
  EXPECT_EQ(too_large.refusal.status, 413);
  EXPECT_NE(too_large.refusal.body.find("reference"), std::string::npos);
  const HttpHeadVerdict chunked = head("/v1/queues/q/jobs", {{"transfer-encoding", "chunked"}});
  EXPECT_TRUE(chunked.accept);
  EXPECT_LT(chunked.body_bytes_max, 3 * core::kMiB);
  EXPECT_EQ(head("/v1/queues/q/jobs/batch", {{"transfer-encoding", "chunked"}}).body_bytes_max,
            core::kRequestBytesMax);
  EXPECT_FALSE(head("/nowhere", {{"transfer-encoding", "chunked"}}).accept);
  EXPECT_TRUE(head("/nowhere", {{"content-length", "10"}}).accept);
  EXPECT_FALSE(head("/nowhere", {{"content-length", "10"}, {"expect", "100-continue"}}).accept);
  t.make_token(31);
  EXPECT_FALSE(head("/v1/queues/q/jobs", {{"content-length", "1000000"}}).accept);
  EXPECT_LE(head("/v1/queues/q/jobs", {{"content-length", "10"}}).body_bytes_max, 64 * core::kKiB);
}

TEST(HttpDoorGuard, an_exception_is_answered_and_the_server_lives) {
  TestDoor t({.backup = [](const std::string&) -> Result<void> {
    static_cast<void>(std::string().at(3));  // throws
    return {};
  }});
  const Reply reply = t.post("/v1/store/backup", R"({"to":"/somewhere"})");
  EXPECT_EQ(reply->status(), 500);
  EXPECT_EQ(reply->code(), "internal");
  EXPECT_EQ(t.get("/livez")->status(), 200);
}

TEST(HttpDoorReplies, every_answer_forbids_caches_and_sniffing) {
  TestDoor t;
  t.enqueue();
  for (const char* target : {"/livez", "/readyz", "/v1/info", "/v1/jobs", "/nowhere",
                             "/v1/queues/q", "/openapi.json", "/metrics"}) {
    const Reply reply = t.get(target);
    EXPECT_EQ(reply->header("Cache-Control"), "no-store") << target;
    EXPECT_EQ(reply->header("X-Content-Type-Options"), "nosniff") << target;
  }
  const Reply reply = t.ask("PUT", "/v1/jobs/1");
  EXPECT_EQ(reply->status(), 405);
  EXPECT_EQ(reply->header("Allow"), "GET, PATCH, DELETE");
}

TEST(HttpDoorTokens, the_first_token_closes_the_server_and_revoking_ends_one) {
  TestDoor t;
  const Reply made = t.post("/v1/tokens", R"({"name":"ops","scopes":["admin"],"expires_in":"1h"})");
  ASSERT_EQ(made->status(), 201) << made->body();
  const std::string secret = made->text("token");
  EXPECT_EQ(t.get("/v1/queues")->status(), 401);
  t.token = secret;
  EXPECT_EQ(t.get("/v1/queues")->status(), 200);
  const Reply worker = t.post("/v1/tokens", R"({"scopes":["work"],"queues":["q"]})");
  const std::string listed = t.get("/v1/tokens")->body();
  EXPECT_EQ(listed.find(secret.substr(secret.find('.') + 1)), std::string::npos);
  EXPECT_NE(listed.find(worker->text("id")), std::string::npos);
  EXPECT_EQ(t.ask("DELETE", "/v1/tokens/" + worker->text("id"))->status(), 200);
  EXPECT_EQ(t.ask("DELETE", "/v1/tokens/wt_none")->status(), 404);
  t.token = worker->text("token");
  EXPECT_EQ(t.post("/v1/claim", R"({"queues":["q"]})")->status(), 401);
  t.token = secret;
  EXPECT_EQ(t.get("/v1/audit")->status(), 200);
  EXPECT_FALSE(t.get("/v1/audit")->json().at("audit").as_array().empty());
  t.clock.advance(kMsPerHour);
  EXPECT_EQ(t.get("/v1/queues")->status(), 401);
}

TEST(HttpDoorTokens, a_repeated_creation_does_not_show_the_secret_again) {
  TestDoor t;
  const std::string admin = t.make_token(31);
  t.token = admin;
  const HttpHeaders key = {{"idempotency-key", "k"}};
  const Reply first = t.post("/v1/tokens", R"({"scopes":["work"]})", key);
  const Reply again = t.post("/v1/tokens", R"({"scopes":["work"]})", key);
  EXPECT_EQ(again->text("id"), first->text("id"));
  EXPECT_TRUE(again->json().at("token").is_null());
  EXPECT_EQ(t.get("/v1/tokens")->json().at("tokens").as_array().size(), 2U);
}

TEST(HttpDoorDrain, new_work_is_refused_and_acks_go_on) {
  TestDoor t;
  const std::string id = t.enqueue();
  const TestDoor::Held held = t.claim();
  const Reply waiting = t.put("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s"})");
  t.settle();
  t.engine.drain();
  t.settle();
  for (const Reply& reply : {waiting, t.post("/v1/claim", R"({"queues":["q"]})"),
                             t.post("/v1/queues/q/jobs", R"({"payload":1})")}) {
    EXPECT_EQ(reply->status(), 503);
    EXPECT_EQ(reply->code(), "unavailable");
    EXPECT_FALSE(reply->header("Retry-After").empty());
  }
  EXPECT_EQ(t.get("/readyz")->status(), 503);
  EXPECT_EQ(t.get("/livez")->status(), 200);
  EXPECT_EQ(t.post("/v1/jobs/" + id + "/extend",
                   R"({"lease_token":")" + held.token + R"(","lease":"60s"})")
                ->status(),
            200);
  EXPECT_EQ(
      t.post("/v1/jobs/" + id + "/ack", R"({"lease_token":")" + held.token + R"("})")->status(),
      200);
}

TEST(HttpDoorFull, a_full_store_refuses_jobs_and_lets_work_end) {
  TestDoor t;
  const std::string id = t.enqueue();
  const TestDoor::Held held = t.claim();
  t.memory.set_capacity(1);
  const Reply refused = t.post("/v1/queues/q/jobs", R"({"payload":1})", {{"idempotency-key", "k"}});
  EXPECT_EQ(refused->status(), 507);
  EXPECT_EQ(refused->code(), "store_full");
  EXPECT_EQ(
      t.post("/v1/jobs/" + id + "/ack", R"({"lease_token":")" + held.token + R"("})")->status(),
      200);
  t.memory.set_capacity(0);
  EXPECT_EQ(t.post("/v1/queues/q/jobs", R"({"payload":1})", {{"idempotency-key", "k"}})->status(),
            202);
}

TEST(HttpDoorOpenApi, describes_every_route_and_all_references_resolve) {
  TestDoor t;
  const Reply reply = t.get("/openapi.json");
  const boost::json::object document = reply->json();
  const auto& paths = document.at("paths").as_object();
  std::set<std::string> operations;
  for (const http::Route& route : http::routes()) {
    const auto& operation = paths.at(route.path).at(to_lower(route.method)).as_object();
    EXPECT_TRUE(operations.insert(std::string(operation.at("operationId").as_string())).second)
        << route.operation;
    for (const std::string& name : split(route.query, ',')) {
      EXPECT_TRUE(name.empty() || boost::json::serialize(operation).find("\"name\":\"" + name +
                                                                         "\"") != std::string::npos)
          << route.operation << " " << name;
    }
  }
  const auto& schemas = document.at("components").at("schemas").as_object();
  const std::string_view text = reply->body();
  constexpr std::string_view mark = "#/components/schemas/";
  for (std::size_t at = text.find(mark); at != std::string_view::npos;
       at = text.find(mark, at + 1)) {
    const std::string_view rest = text.substr(at + mark.size());
    const std::string_view name = rest.substr(0, rest.find('"'));
    EXPECT_TRUE(schemas.contains(name)) << name;
  }
}

}  // namespace
}  // namespace weir::doors
