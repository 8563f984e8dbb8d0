// SPDX-License-Identifier: Apache-2.0
#include "core/job/job.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

TEST(JobTest, options_are_compared_by_value_and_none_equals_empty) {
  Job a;
  Job b;
  a.options = std::make_shared<const JobOptions>(JobOptions{.max_attempts = 3});
  b.options = std::make_shared<const JobOptions>(JobOptions{.max_attempts = 3});
  EXPECT_EQ(a, b);
  b.options = std::make_shared<const JobOptions>(JobOptions{.max_attempts = 4});
  EXPECT_NE(a, b);
  a.options = nullptr;
  b.options = std::make_shared<const JobOptions>();
  EXPECT_EQ(a, b);
}

TEST(JobTest, every_kind_of_field_counts_in_a_comparison) {
  const Job plain;
  const auto differs = [&](auto change) {
    Job other;
    change(other);
    return !(other == plain);
  };
  EXPECT_TRUE(differs([](Job& j) { j.version = 1; }));
  EXPECT_TRUE(differs([](Job& j) { j.tags = {"t"}; }));
  EXPECT_TRUE(differs([](Job& j) { j.lease = Lease{}; }));
  EXPECT_TRUE(differs([](Job& j) { j.counters.kicks = 1; }));
  EXPECT_TRUE(differs([](Job& j) { j.original_enqueued_at = WallTime{1}; }));
  EXPECT_TRUE(differs([](Job& j) { j.encryption_key = 1; }));
  EXPECT_TRUE(differs([](Job& j) { j.has_result = true; }));
}

TEST(JobTest, charged_attempts_are_those_since_the_replay_without_the_excused) {
  Job job;
  job.attempt = 9;
  job.budget_start = 5;
  job.excused_since = 1;
  EXPECT_EQ(job.charged(), 3U);
}

}  // namespace
}  // namespace weir::core
