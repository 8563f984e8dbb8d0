// SPDX-License-Identifier: Apache-2.0
// NDJSON in batches: limits, line numbers, and what is no job.
#include "cli/ndjson.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weir::cli {
namespace {

TEST(Ndjson, lines_become_batches_of_a_thousand_in_order) {
  std::string text;
  for (int i = 1; i <= 2'345; ++i) text += "{\"payload\":" + std::to_string(i) + "}\n";
  std::istringstream in(text);
  NdjsonReader reader(in);
  std::vector<std::size_t> sizes;
  std::uint64_t next = 1;
  while (true) {
    const auto batch = reader.next();
    ASSERT_TRUE(batch);
    if (batch->jobs.empty()) break;
    sizes.push_back(batch->jobs.size());
    for (std::size_t i = 0; i < batch->jobs.size(); ++i, ++next) {
      EXPECT_EQ(batch->jobs[i], "{\"payload\":" + std::to_string(next) + "}");
      EXPECT_EQ(batch->lines[i], next);
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1000, 1000, 345}));
}

TEST(Ndjson, a_batch_stays_under_the_size_of_a_request_and_loses_no_line) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "{\"payload\":\"" + std::string(1'000'000, 'x') + "\"}\n";
  std::istringstream in(text);
  NdjsonReader reader(in);
  std::size_t jobs = 0;
  while (true) {
    const auto batch = reader.next();
    ASSERT_TRUE(batch);
    if (batch->jobs.empty()) break;
    std::size_t bytes = 0;
    for (const std::string& job : batch->jobs) bytes += job.size() + 1;
    EXPECT_LE(bytes, 8U * 1024 * 1024);
    jobs += batch->jobs.size();
    EXPECT_EQ(batch->lines.back(), jobs);
  }
  EXPECT_EQ(jobs, 20U);
}

TEST(Ndjson, blank_lines_carriage_returns_marks_and_a_missing_last_break_are_fine) {
  std::istringstream in("\xEF\xBB\xBF{\"a\":1}\r\n\n  \n {\"a\":2} ");
  NdjsonReader reader(in);
  const auto batch = reader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->jobs, (std::vector<std::string>{"{\"a\":1}", "{\"a\":2}"}));
  EXPECT_EQ(batch->lines, (std::vector<std::uint64_t>{1, 4}));
}

TEST(Ndjson, what_is_no_object_is_named_by_its_line) {
  for (const char* bad : {"[1]", "1", "\"x\"", "{", "{} {}", "{'a':1}"}) {
    std::istringstream in(std::string("{}\n") + bad + "\n{}\n");
    NdjsonReader reader(in);
    const auto batch = reader.next();
    ASSERT_FALSE(batch) << bad;
    EXPECT_EQ(batch.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(batch.error().detail.find("line 2"), std::string::npos);
  }
}

}  // namespace
}  // namespace weir::cli
