// SPDX-License-Identifier: Apache-2.0
// What the drivers rest on: percentiles that are near the samples, and marks that notice a job that
// is lost, doubled or acked out of turn.
#include <algorithm>
#include <vector>

#include "base/prng.h"
#include "driver/flow.h"
#include "driver/histogram.h"
#include "driver/ledger.h"
#include "driver/ring.h"

namespace weir::bench {
namespace {

// Against a sorted list of the same samples, over nine decades: at most 1/64 above, never below.
TEST(histogram, percentiles_are_within_a_bucket_of_the_sorted_samples) {
  Prng prng(7);
  std::vector<std::uint64_t> samples;
  Histogram histogram;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t value = prng.next() >> (33 + prng.next() % 30);
    samples.push_back(value);
    histogram.add(value);
  }
  std::sort(samples.begin(), samples.end());
  for (const double share : {0.0, 0.1, 0.5, 0.9, 0.99, 1.0}) {
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(samples.size() - 1));
    const std::uint64_t exact = samples[rank];
    EXPECT_GE(histogram.percentile_us(share), exact) << share;
    EXPECT_LE(histogram.percentile_us(share), exact + exact / 64 + 1) << share;
  }
}

TEST(histogram, without_samples_is_zero_and_takes_the_largest_value) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile_us(0.5), 0U);
  histogram.add(~std::uint64_t{0});
  EXPECT_GT(histogram.percentile_us(0.5), std::uint64_t{1} << 37);
}

TEST(ledger, each_mark_is_set_once_and_in_order) {
  Ledger ledger(3, 0);
  EXPECT_FALSE(ledger.put(0)) << "never sent";
  EXPECT_FALSE(ledger.claimed(0)) << "never sent";
  EXPECT_TRUE(ledger.sent(0, 5));
  EXPECT_FALSE(ledger.sent(0, 6));
  EXPECT_FALSE(ledger.acked(0)) << "never claimed";
  EXPECT_TRUE(ledger.claimed(0)) << "a consumer may be faster than the answer of the put";
  EXPECT_TRUE(ledger.put(0));
  EXPECT_FALSE(ledger.put(0));
  EXPECT_FALSE(ledger.claimed(0));
  EXPECT_TRUE(ledger.acked(0));
  EXPECT_FALSE(ledger.acked(0));
  EXPECT_FALSE(ledger.sent(3, 0)) << "not of this run";
  EXPECT_EQ(ledger.count_put(), 1U);
  EXPECT_EQ(ledger.count_claimed(), 1U);
  EXPECT_EQ(ledger.count_acked(), 1U);
}

TEST(ledger, jobs_of_an_earlier_run_are_put_already) {
  Ledger ledger(4, 2);
  EXPECT_TRUE(ledger.claimed(1));
  EXPECT_FALSE(ledger.claimed(2));
  EXPECT_EQ(ledger.count_put(), 2U);
}

TEST(ring, keeps_order_while_it_grows) {
  Ring<int> ring(2);
  int next = 0;
  int expected = 0;
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 3; ++i) ring.push(next++);
    EXPECT_EQ(ring.pop(), expected++);
  }
  while (ring.size() > 0) EXPECT_EQ(ring.pop(), expected++);
  EXPECT_EQ(expected, next);
}

Options small_run() {
  Options options;
  options.jobs = 10;
  options.depth = 2;
  options.payload_bytes = 20;
  return options;
}

TEST(flow, claims_follow_answered_puts_or_wait_one_at_a_time) {
  Flow flow(small_run());
  EXPECT_EQ(flow.take_claims(2, false), 0U);
  EXPECT_EQ(flow.take_claims(2, true), 1U) << "one may wait in the server";
  std::uint64_t number = 99;
  ASSERT_TRUE(flow.take_put(number));
  EXPECT_EQ(number, 0U);
  flow.put_done(0);
  EXPECT_EQ(flow.take_claims(2, false), 0U) << "the waiting claim takes it";
  ASSERT_TRUE(flow.take_put(number));
  flow.put_done(1);
  EXPECT_EQ(flow.take_claims(2, false), 1U);
}

TEST(flow, producers_stop_at_the_backlog_and_go_on_after_an_ack) {
  Flow flow(small_run());
  std::uint64_t number = 0;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(flow.take_put(number));
  EXPECT_FALSE(flow.take_put(number)) << "2 x 1 connection x 2 in flight";
  flow.put_done(0);
  flow.claimed(0);
  EXPECT_FALSE(flow.take_put(number));
  flow.acked(0);
  EXPECT_TRUE(flow.take_put(number));
  EXPECT_FALSE(flow.is_finished());
}

// Deep in a queue consumers may run ahead of producers by one backlog, not by all that waits.
TEST(flow, jobs_put_before_are_claimed_at_the_pace_of_the_producers) {
  Options options = small_run();
  options.before = 1000;
  Flow flow(options);
  EXPECT_EQ(flow.take_claims(10, false), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) {
    flow.claimed(i);
    flow.acked(i);
  }
  EXPECT_EQ(flow.take_claims(10, false), 0U);
  std::uint64_t number = 0;
  ASSERT_TRUE(flow.take_put(number)) << "more acked than put is no backlog";
  EXPECT_EQ(number, 1000U);
  flow.put_done(number);
  EXPECT_EQ(flow.take_claims(10, false), 1U);
}

TEST(flow, payload_carries_the_number) {
  const Flow flow(small_run());
  std::string payload;
  flow.append_payload(payload, 0x12ab);
  EXPECT_EQ(payload, "00000000000012abxxxx");
  EXPECT_EQ(flow.number_of(payload), 0x12abU);
}

TEST(flow_death, a_doubled_or_foreign_job_ends_the_run) {
  Flow flow(small_run());
  std::uint64_t number = 0;
  ASSERT_TRUE(flow.take_put(number));
  flow.put_done(0);
  flow.claimed(0);
  EXPECT_EXIT(flow.claimed(0), testing::ExitedWithCode(1), "job 0: claimed twice");
  EXPECT_EXIT(flow.claimed(7), testing::ExitedWithCode(1), "job 7: claimed twice or never put");
  EXPECT_EXIT(flow.acked(1), testing::ExitedWithCode(1), "job 1: acked twice or never claimed");
  EXPECT_EXIT(flow.number_of("short"), testing::ExitedWithCode(1), "5 bytes instead of 20");
  EXPECT_EXIT(flow.number_of("not a number at all!"), testing::ExitedWithCode(1),
              "without its number");
}

TEST(flow_death, a_report_with_a_job_missing_is_refused) {
  Flow flow(small_run());
  std::uint64_t number = 0;
  ASSERT_TRUE(flow.take_put(number));
  flow.put_done(0);
  EXPECT_EXIT(flow.report(), testing::ExitedWithCode(1), "the marks say 1 put, 0 claimed, 0 acked");
}

}  // namespace
}  // namespace weir::bench
