// SPDX-License-Identifier: Apache-2.0
// The book of standing demands: lines, order, deadlines, and that only what is stirred is looked
// at.
#include "engine/demands.h"

#include <gtest/gtest.h>

namespace weir::engine {
namespace {

Demand wants(std::vector<std::string> queues, std::uint32_t credit = 1,
             std::int64_t wait_ms = 1000) {
  return Demand{.queues = std::move(queues), .credit = credit, .wait_ms = wait_ms};
}

TEST(DemandBook, demands_for_the_same_stand_in_one_line_in_order) {
  DemandBook book;
  const DemandId first = book.add(wants({"a", "b"}), nullptr, 0);
  const DemandId second = book.add(wants({"b", "a", "a"}), nullptr, 0);
  ASSERT_EQ(book.stirred().size(), 1U);
  const DemandLine& line = *book.stirred().begin()->second;
  EXPECT_EQ(line.credit, 2U);
  EXPECT_EQ(line.waiting.begin()->first, first);
  EXPECT_EQ(line.waiting.rbegin()->first, second);
}

TEST(DemandBook, other_kinds_classes_or_namespaces_make_another_line) {
  DemandBook book;
  book.add(wants({"a"}), nullptr, 0);
  Demand kinds = wants({"a"});
  kinds.kinds = {"mail"};
  book.add(kinds, nullptr, 0);
  Demand classes = wants({"a"});
  classes.classes = {core::PriorityClass::P0};
  book.add(classes, nullptr, 0);
  Demand other = wants({"a"});
  other.principal.namespace_id = 3;
  book.add(other, nullptr, 0);
  EXPECT_EQ(book.stirred().size(), 4U);
}

TEST(DemandBook, a_queue_stirs_only_the_lines_that_name_it) {
  DemandBook book;
  for (int queue = 0; queue < 1000; ++queue) {
    for (int i = 0; i < 5; ++i) book.add(wants({"q" + std::to_string(queue)}), nullptr, 0);
  }
  while (!book.stirred().empty()) book.settle(*book.stirred().begin()->second);
  book.stir_queue(0, "q7");
  ASSERT_EQ(book.stirred().size(), 1U);
  EXPECT_EQ(book.stirred().begin()->second->queues, std::vector<std::string>{"q7"});
  book.stir_queue(1, "q8");
  book.stir_queue(0, "none");
  EXPECT_EQ(book.stirred().size(), 1U);
}

TEST(DemandBook, the_last_of_a_line_takes_it_away) {
  DemandBook book;
  const DemandId id = book.add(wants({"a"}), nullptr, 0);
  EXPECT_TRUE(book.withdraw(id));
  EXPECT_FALSE(book.withdraw(id));
  EXPECT_EQ(book.size(), 0U);
  EXPECT_TRUE(book.stirred().empty());
  book.stir_queue(0, "a");
  EXPECT_TRUE(book.stirred().empty());
}

TEST(DemandBook, nobody_times_out_before_having_been_looked_at) {
  DemandBook book;
  book.add(wants({"a"}, 1, 0), nullptr, 100);
  EXPECT_TRUE(book.take_expired(100).empty());
  book.settle(*book.stirred().begin()->second);
  EXPECT_EQ(book.take_expired(100).size(), 1U);
  EXPECT_EQ(book.size(), 0U);
}

TEST(DemandBook, deadlines_are_kept_in_order) {
  DemandBook book;
  book.add(wants({"a"}, 1, 500), nullptr, 0);
  const DemandId soon = book.add(wants({"a"}, 1, 200), nullptr, 0);
  EXPECT_EQ(book.next_deadline_boot_ms(), 200);
  book.withdraw(soon);
  EXPECT_EQ(book.next_deadline_boot_ms(), 500);
}

}  // namespace
}  // namespace weir::engine
