// SPDX-License-Identifier: Apache-2.0
// The mailbox: its bound, the quarter that is kept for workers, and how much one turn takes.
#include "engine/mailbox.h"

#include <gtest/gtest.h>

namespace weir::engine {
namespace {

core::Request enqueue_of(std::size_t payload_bytes) {
  core::Enqueue command{.queue = "q"};
  command.jobs.emplace_back().body.payload = std::string(payload_bytes, 'x');
  return core::Request{.command = std::move(command)};
}
core::Request ack() { return core::Request{.command = core::Ack{}}; }

TEST(Mailbox, keeps_the_last_quarter_for_workers) {
  Mailbox mailbox(8);
  for (int i = 0; i < 6; ++i) EXPECT_TRUE(mailbox.put(enqueue_of(1), nullptr));
  const Result<void> refused = mailbox.put(enqueue_of(1), nullptr);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
  EXPECT_GT(refused.error().retry_after_ms, 0);
  EXPECT_TRUE(mailbox.put(ack(), nullptr));
  EXPECT_TRUE(mailbox.put(core::Request{.command = core::Extend{}}, nullptr));
  const Result<void> full = mailbox.put(core::Request{.command = core::Fail{}}, nullptr);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::unavailable);
}

TEST(Mailbox, is_bounded_in_bytes_too) {
  Mailbox mailbox(100'000);
  std::size_t taken = 0;
  while (mailbox.put(enqueue_of(core::kMiB), nullptr)) ++taken;
  EXPECT_GT(taken, 40U);
  EXPECT_LT(taken, 49U);  // three quarters of 64 MiB
  EXPECT_TRUE(mailbox.put(ack(), nullptr));
  std::vector<Work> works;
  mailbox.take(works);
  EXPECT_TRUE(mailbox.put(enqueue_of(core::kMiB), nullptr));
}

TEST(Mailbox, every_verb_of_a_worker_counts_as_such) {
  EXPECT_TRUE(is_worker_verb(core::Ack{}));
  EXPECT_TRUE(is_worker_verb(core::Fail{}));
  EXPECT_TRUE(is_worker_verb(core::Release{}));
  EXPECT_TRUE(is_worker_verb(core::Snooze{}));
  EXPECT_TRUE(is_worker_verb(core::Extend{}));
  EXPECT_TRUE(is_worker_verb(core::Progress{}));
  EXPECT_FALSE(is_worker_verb(core::Enqueue{}));
  EXPECT_FALSE(is_worker_verb(core::Claim{}));
  EXPECT_FALSE(is_worker_verb(core::Cancel{}));
}

TEST(Mailbox, a_turn_takes_so_many_commands_and_no_more) {
  Mailbox mailbox(core::kMailboxCommandsMax);
  for (std::size_t i = 0; i < core::kTurnCommandsMax + 5; ++i)
    ASSERT_TRUE(mailbox.put(ack(), nullptr));
  std::vector<Work> works;
  mailbox.take(works);
  EXPECT_EQ(works.size(), core::kTurnCommandsMax);
  works.clear();
  mailbox.take(works);
  EXPECT_EQ(works.size(), 5U);
  EXPECT_TRUE(mailbox.is_empty());
}

TEST(Mailbox, a_turn_takes_so_many_bytes_and_a_larger_command_alone) {
  Mailbox mailbox(100);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(mailbox.put(enqueue_of(core::kMiB), nullptr));
  ASSERT_TRUE(mailbox.put(enqueue_of(6 * core::kMiB), nullptr));
  ASSERT_TRUE(mailbox.put(enqueue_of(1), nullptr));
  std::vector<Work> works;
  mailbox.take(works);
  EXPECT_EQ(works.size(), 3U);  // the records besides the payloads count too
  works.clear();
  mailbox.take(works);
  EXPECT_EQ(works.size(), 2U);
  works.clear();
  mailbox.take(works);
  EXPECT_EQ(works.size(), 1U);
  EXPECT_GT(works[0].bytes, core::kTurnBytesMax);
  works.clear();
  mailbox.take(works);
  EXPECT_EQ(works.size(), 1U);
}

TEST(Mailbox, own_commands_go_first_also_when_it_is_full) {
  Mailbox mailbox(1);
  ASSERT_TRUE(mailbox.put(ack(), nullptr));
  mailbox.put_own(core::Request{.command = core::Release{}});
  std::vector<Work> works;
  mailbox.take(works);
  ASSERT_EQ(works.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<core::Release>(works[0].request.command));
}

}  // namespace
}  // namespace weir::engine
