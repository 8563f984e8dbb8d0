// SPDX-License-Identifier: Apache-2.0
#include "core/job/lease.h"

#include <gtest/gtest.h>

#include "base/prng.h"

namespace weir::core {
namespace {

constexpr Hash128 kSecret{.high = 11, .low = 12};

TEST(LeaseTest, a_token_differs_by_secret_job_and_attempt) {
  const LeaseToken token = lease_token(kSecret, JobId{1}, 1);
  EXPECT_EQ(token, lease_token(kSecret, JobId{1}, 1));
  EXPECT_NE(token.proof, lease_token(kSecret, JobId{2}, 1).proof);
  EXPECT_NE(token.proof, lease_token(kSecret, JobId{1}, 2).proof);
  EXPECT_NE(token.proof, lease_token({.high = 11, .low = 13}, JobId{1}, 1).proof);
}

TEST(LeaseTest, the_text_of_a_token_parses_back) {
  for (const std::uint32_t attempt : {0U, 1U, 999U, UINT32_MAX}) {
    const LeaseToken token = lease_token(kSecret, JobId{7}, attempt);
    EXPECT_EQ(lease_token_from(to_string(token)), token);
  }
}

TEST(LeaseTest, other_texts_are_no_tokens) {
  const std::string good = to_string(lease_token(kSecret, JobId{7}, 12));
  for (std::string bad :
       {std::string(), std::string("."), good + "0", good.substr(0, good.size() - 1), "0" + good,
        "+" + good, " " + good, "4294967296" + good.substr(2), "99999999999" + good.substr(2)}) {
    EXPECT_EQ(lease_token_from(bad), std::nullopt) << bad;
  }
  std::string upper = good;
  upper.back() = 'G';
  EXPECT_EQ(lease_token_from(upper), std::nullopt);
  Prng prng(5);
  for (int i = 0; i < 20'000; ++i) {
    std::string noise(prng.up_to(50), ' ');
    for (char& c : noise) c = static_cast<char>(prng.up_to(255));
    EXPECT_EQ(lease_token_from(noise), std::nullopt);
  }
}

TEST(LeaseTest, a_lease_is_current_until_its_deadline_and_not_at_it) {
  Job job;
  job.id = JobId{4};
  job.attempt = 2;
  job.state = JobState::processing;
  job.lease = Lease{.deadline_at = StoreTime{100}};
  const LeaseToken token = lease_token(kSecret, job.id, 2);
  EXPECT_EQ(check_lease(kSecret, job.id, &job, token, StoreTime{99}), LeaseCheck::current);
  EXPECT_EQ(check_lease(kSecret, job.id, &job, token, StoreTime{100}), LeaseCheck::lost);
  EXPECT_EQ(check_lease({.high = 1, .low = 12}, job.id, &job, token, StoreTime{99}),
            LeaseCheck::lost);
  job.lease->deadline_at = StoreTime::never();
  EXPECT_EQ(check_lease(kSecret, job.id, &job, token, StoreTime{1LL << 60}), LeaseCheck::current);
}

TEST(LeaseTest, fences_grow_with_epoch_before_attempt_and_fit_a_double) {
  EXPECT_LT(fence(1, UINT32_MAX), fence(2, 0));
  EXPECT_LT(fence(1, 1), fence(1, 2));
  const std::uint64_t largest = fence(kEpochMax, UINT32_MAX);
  EXPECT_EQ(static_cast<std::uint64_t>(static_cast<double>(largest)), largest);
}

}  // namespace
}  // namespace weir::core
