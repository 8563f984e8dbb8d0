// SPDX-License-Identifier: Apache-2.0
#include "core/job/state.h"

#include <gtest/gtest.h>

namespace weir::core {
namespace {

TEST(StateTest, words_parse_back_to_their_states) {
  for (const JobState state : kJobStates) EXPECT_EQ(job_state_from(to_string(state)), state);
  EXPECT_EQ(job_state_from("ready"), std::nullopt);
  EXPECT_EQ(job_state_from(""), std::nullopt);
}

TEST(StateTest, every_verb_has_a_word_and_an_edge) {
  for (int i = 1; i <= kVerbCount; ++i) {
    const auto verb = static_cast<Verb>(i);
    EXPECT_NE(to_string(verb), "unknown");
    bool has_edge = false;
    for (const JobState a : kJobStates) {
      has_edge =
          has_edge || is_legal_edge(verb, std::nullopt, a) || is_legal_edge(verb, a, std::nullopt);
      for (const JobState b : kJobStates) has_edge = has_edge || is_legal_edge(verb, a, b);
    }
    EXPECT_TRUE(has_edge) << to_string(verb);
  }
}

// And a dead one by a claim that names it.
TEST(StateTest, ended_jobs_leave_their_state_by_replay_or_removal_only) {
  for (const JobState from : kJobStates) {
    if (!is_ended(from)) continue;
    for (int i = 1; i <= kVerbCount; ++i) {
      for (const JobState to : kJobStates) {
        const auto verb = static_cast<Verb>(i);
        if (!is_legal_edge(verb, from, to)) continue;
        if (from == JobState::dead && to == JobState::processing) {
          EXPECT_EQ(verb, Verb::claim);
          continue;
        }
        EXPECT_EQ(verb, Verb::replay);
        EXPECT_EQ(to, JobState::pending);
        EXPECT_NE(from, JobState::completed);
      }
    }
  }
}

TEST(StateTest, only_a_claim_leads_into_processing) {
  for (int i = 1; i <= kVerbCount; ++i) {
    const auto verb = static_cast<Verb>(i);
    for (const JobState from : kJobStates) {
      if (from == JobState::processing) continue;
      const bool can_be_claimed = from == JobState::pending || from == JobState::scheduled ||
                                  from == JobState::failed || from == JobState::dead;
      EXPECT_EQ(is_legal_edge(verb, from, JobState::processing),
                verb == Verb::claim && can_be_claimed);
    }
  }
}

TEST(StateTest, an_illegal_edge_aborts_with_its_words) {
  EXPECT_DEATH(check_edge(Verb::ack, JobState::pending, JobState::completed),
               "ack pending completed");
}

TEST(StateTest, classes_parse_back_and_have_growing_slas) {
  std::int64_t before = 0;
  for (int i = 0; i < kPriorityClassCount; ++i) {
    const auto c = static_cast<PriorityClass>(i);
    EXPECT_EQ(priority_class_from(to_string(c)), c);
    EXPECT_GT(sla_ms(c), before);
    before = sla_ms(c);
  }
  EXPECT_EQ(priority_class_from("P5"), std::nullopt);
  EXPECT_EQ(priority_class_from("p0"), std::nullopt);
}

}  // namespace
}  // namespace weir::core
