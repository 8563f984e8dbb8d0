// SPDX-License-Identifier: Apache-2.0
// What is shown: lists in pages, dead letters, queues of every legal name.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "doors/http/events.h"
#include "doors/http/test_door.h"
#include "doors/http/verbs.h"

namespace weir::doors {
namespace {

TEST(HttpDoorLists, pages_over_several_states_hold_each_job_once) {
  // B73: 28 jobs in 5 states, pages of 10, both orders, while others are made and removed.
  for (const std::string order : {"oldest", "newest"}) {
    TestDoor t;
    std::set<std::string> wanted;
    for (int i = 0; i < 28; ++i) {
      const std::string id = i % 5 == 0 ? t.enqueue("q", R"("delay":"1h")") : t.enqueue("q");
      wanted.insert(id);
      if (i % 5 == 1) {
        t.post("/v1/jobs/" + id + "/cancel");
      } else if (i % 5 == 2) {
        const TestDoor::Held held = t.claim();
        t.post("/v1/jobs/" + held.id + "/ack", R"({"lease_token":")" + held.token + R"("})");
      } else if (i % 5 == 3) {
        const TestDoor::Held held = t.claim();
        t.post("/v1/jobs/" + held.id + "/fail",
               R"({"lease_token":")" + held.token + R"(","dead":true})");
      }
    }
    std::vector<std::size_t> sizes;
    std::set<std::string> seen;
    std::string cursor;
    for (int page = 0; page < 10; ++page) {
      const boost::json::object answer = t.get("/v1/jobs?queue=q&limit=10&order=" + order +
                                               (cursor.empty() ? "" : "&cursor=" + cursor))
                                             ->json();
      const auto& jobs = answer.at("jobs").as_array();
      std::size_t known = 0;
      for (const auto& job : jobs) {
        const std::string id(job.at("id").as_string());
        EXPECT_TRUE(seen.insert(id).second) << id;
        known += wanted.contains(id) ? 1U : 0U;
      }
      sizes.push_back(known);
      if (page == 0 && order == "newest") t.enqueue("q");
      if (answer.at("next_cursor").is_null()) break;
      cursor = std::string(answer.at("next_cursor").as_string());
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{10, 10, 8})) << order;
    EXPECT_TRUE(std::includes(seen.begin(), seen.end(), wanted.begin(), wanted.end()));
  }
}

TEST(HttpDoorLists, filters_and_cursors_are_strict) {
  TestDoor t;
  const std::string a =
      t.enqueue("q", R"("kind":"mail","tags":["x"],"group":"g","unique_key":"u1")");
  t.enqueue("q", R"("kind":"sms")");
  t.enqueue("r");
  const auto count = [&t](const std::string& query) {
    return t.get("/v1/jobs?" + query)->json().at("jobs").as_array().size();
  };
  EXPECT_EQ(count("queue=q"), 2U);
  EXPECT_EQ(count("kind=mail"), 1U);
  EXPECT_EQ(count("tag=x"), 1U);
  EXPECT_EQ(count("group=g"), 1U);
  EXPECT_EQ(count("unique_key=u1"), 1U);
  EXPECT_EQ(count("status=pending,dead"), 3U);
  EXPECT_EQ(count("status=dead"), 0U);
  EXPECT_EQ(count("queue=none"), 0U);
  const std::string cursor = t.get("/v1/jobs?queue=q&limit=1")->text("next_cursor");
  EXPECT_FALSE(cursor.empty());
  EXPECT_EQ(count("queue=q&limit=1&cursor=" + cursor), 1U);
  for (const std::string& bad :
       {"queue=r&cursor=" + cursor, "queue=q&order=newest&cursor=" + cursor,
        std::string("cursor=x"), std::string("cursor="), std::string("status=waiting"),
        std::string("limit=0"), std::string("limit=1001"), std::string("limit=-1"),
        std::string("limit=NaN"), std::string("days=9999999999"), std::string("order=up"),
        std::string("queue=%00")}) {
    EXPECT_EQ(t.get("/v1/jobs?" + bad)->status(), 400) << bad;
  }
}

TEST(HttpDoorLists, dead_letters_show_what_died_and_why) {
  TestDoor t;
  const std::string id = t.enqueue("q", R"("kind":"mail")");
  const TestDoor::Held held = t.claim();
  t.post("/v1/jobs/" + id + "/fail",
         R"({"lease_token":")" + held.token +
             R"(","error":{"class":"deserialization","message":"no JSON"}})");
  const boost::json::object page = t.get("/v1/queues/q/dead?payload=1&history=1")->json();
  ASSERT_EQ(page.at("jobs").as_array().size(), 1U);
  const auto& dead = page.at("jobs").at(0).as_object();
  EXPECT_EQ(dead.at("status").as_string(), "dead");
  EXPECT_EQ(dead.at("payload").as_int64(), 1);
  EXPECT_TRUE(std::string_view(dead.at("reason").as_string()).starts_with("deserialization"));
  EXPECT_EQ(dead.at("history").as_array().size(), 1U);
  EXPECT_EQ(t.get("/v1/jobs?queue=q-dlq")->json().at("jobs").as_array().size(), 1U);
  EXPECT_EQ(t.get("/v1/queues/q-dlq")->json().at("counts").at("dead").as_int64(), 1);
  EXPECT_EQ(t.get("/v1/queues/none/dead")->status(), 404);
  EXPECT_EQ(t.post("/v1/jobs/" + id + "/replay", R"({"reason":"fixed"})")->text("status"),
            "pending");
  EXPECT_TRUE(t.get("/v1/queues/q/dead")->json().at("jobs").as_array().empty());
}

TEST(HttpDoorNames, every_legal_name_works_everywhere_and_every_other_is_refused) {
  // B63
  TestDoor t;
  for (const std::string& name :
       {std::string("test/transactions"), std::string("task:email"), std::string("#"),
        std::string("queue+name"), std::string("foo/bar.baz"),
        std::string("\xC2\xB0"
                    "C"),
        std::string("a b"), std::string(".."), std::string("%2F"), std::string(255, 'x'),
        std::string("<img src=x>"), std::string("jobs"), std::string("?a=b&c"),
        std::string("\"\\")}) {
    const std::string path = "/v1/queues/" + percent_encode(name);
    const Reply made = t.post(path + "/jobs", R"({"payload":1})");
    ASSERT_EQ(made->status(), 202) << name;
    EXPECT_EQ(made->text("queue"), name);
    EXPECT_EQ(t.get(path)->text("name"), name);
    EXPECT_EQ(t.get("/v1/jobs?queue=" + percent_encode(name))->json().at("jobs").as_array().size(),
              1U);
    EXPECT_EQ(t.post(path + "/pause", "")->status(), 200);
    EXPECT_EQ(t.post(path + "/resume", "")->status(), 200);
    EXPECT_EQ(t.get(path + "/dead")->status(), 200);
    const std::string claim_body = R"({"queues":[)" + json_string(name) + "]}";
    const boost::json::object claimed = t.post("/v1/claim", claim_body)->json();
    EXPECT_EQ(claimed.at("jobs").as_array().size(), 1U) << name;
    t.post(path + "/jobs", R"({"payload":2})");
    EXPECT_EQ(t.post(path + "/purge", "")->json().at("removed").as_int64(), 1) << name;
    EXPECT_EQ(t.ask("DELETE", path)->status(), 409) << name;
    EXPECT_EQ(t.ask("DELETE", path + "?force=1")->status(), 200) << name;
    t.pass(2'000);
    EXPECT_EQ(t.get(path)->status(), 404) << name;
  }
  for (const char* bad : {"a%00b", "a%0Ab", "%7F", "a%zz", "%FF", "%C0%AF", "%ED%A0%80"}) {
    const std::string path = "/v1/queues/" + std::string(bad);
    EXPECT_EQ(t.post(path + "/jobs", R"({"payload":1})")->status(), 400) << bad;
    EXPECT_EQ(t.ask("PUT", path, "{}")->status(), 400) << bad;
    EXPECT_EQ(t.get(path)->status(), 400) << bad;
  }
  EXPECT_EQ(t.post("/v1/queues/" + std::string(256, 'x') + "/jobs", R"({"payload":1})")->status(),
            400);
  EXPECT_EQ(t.post("/v1/queues//jobs", R"({"payload":1})")->status(), 400);
  EXPECT_TRUE(t.get("/v1/queues")->json().at("queues").as_array().empty());
}

}  // namespace
}  // namespace weir::doors
