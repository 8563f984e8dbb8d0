// SPDX-License-Identifier: Apache-2.0
#include "core/job/error_rule.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

ErrorVerdict verdict(const JobError& error) { return classify({}, error).then; }

TEST(ErrorRuleTest, built_in_statuses) {
  for (const int status : {408, 425, 429, 500, 502, 503, 599}) {
    EXPECT_EQ(verdict({.http_status = status}), ErrorVerdict::retry) << status;
  }
  for (const int status : {400, 401, 403, 404, 409, 410, 422, 499}) {
    EXPECT_EQ(verdict({.http_status = status}), ErrorVerdict::dead) << status;
  }
  for (const int status : {0, 200, 301, 600}) {
    EXPECT_EQ(classify({}, {.http_status = status}).name, "other") << status;
  }
}

TEST(ErrorRuleTest, built_in_classes) {
  for (const char* word : {"timeout", "connection", "crash", "", "anything"}) {
    EXPECT_EQ(verdict({.error_class = word}), ErrorVerdict::retry) << word;
  }
  for (const char* word : {"authentication", "deserialization", "business"}) {
    EXPECT_EQ(verdict({.error_class = word}), ErrorVerdict::dead) << word;
  }
}

TEST(ErrorRuleTest, configured_rules_go_first_in_their_order) {
  const std::vector<ErrorRule> rules = {
      {.name = "a", .message = "*quota*", .then = ErrorVerdict::dead},
      {.name = "b", .http_status_min = 500, .http_status_max = 599, .then = ErrorVerdict::dead},
      {.name = "c", .error_class = "business", .code = "soft-*", .then = ErrorVerdict::retry}};
  EXPECT_EQ(classify(rules, {.http_status = 503, .message = "over quota now"}).name, "a");
  EXPECT_EQ(classify(rules, {.http_status = 503}).name, "b");
  EXPECT_EQ(classify(rules, {.error_class = "business", .code = "soft-1"}).name, "c");
  EXPECT_EQ(classify(rules, {.error_class = "business", .code = "hard"}).name, "business");
}

TEST(ErrorRuleTest, status_ranges_parse_whole_or_not_at_all) {
  ErrorRule rule;
  ASSERT_TRUE(parse_http_status_range("404", rule));
  EXPECT_EQ(rule.http_status_min, 404);
  EXPECT_EQ(rule.http_status_max, 404);
  ASSERT_TRUE(parse_http_status_range("5xx", rule));
  EXPECT_EQ(rule.http_status_min, 500);
  EXPECT_EQ(rule.http_status_max, 599);
  ASSERT_TRUE(parse_http_status_range("400-417", rule));
  EXPECT_EQ(rule.http_status_min, 400);
  EXPECT_EQ(rule.http_status_max, 417);
  for (const char* bad :
       {"", "5", "6xx", "0xx", "99", "1000", "400-", "-400", "500-400", "4x4", "40 "}) {
    EXPECT_FALSE(parse_http_status_range(bad, rule)) << bad;
  }
}

}  // namespace
}  // namespace weir::core
