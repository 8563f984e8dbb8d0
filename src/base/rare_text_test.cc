// SPDX-License-Identifier: Apache-2.0
// A RareText holds, copies, moves and compares texts of every length like a string does.
#include "base/rare_text.h"

#include <gtest/gtest.h>

namespace weir {
namespace {

TEST(RareTextTest, it_is_the_text_that_it_was_given) {
  EXPECT_TRUE(RareText().empty());
  EXPECT_TRUE(RareText("").empty());
  for (const std::size_t size : {1U, 7U, 8U, 300U}) {
    const std::string text(size, 'x');
    const RareText rare(text);
    EXPECT_EQ(rare, text);
    EXPECT_EQ(rare.size(), size);
    EXPECT_EQ(rare.str(), text);
    EXPECT_FALSE(rare.empty());
  }
  EXPECT_EQ(RareText(std::string_view("a\0b", 3)).size(), 3U);
}

TEST(RareTextTest, copies_are_their_own) {
  RareText first("one");
  RareText copy = first;
  first = "another";
  EXPECT_EQ(copy, "one");
  copy = first;
  first.clear();
  EXPECT_EQ(copy, "another");
  copy = first;
  EXPECT_TRUE(copy.empty());
  const RareText& self = copy;
  copy = "kept";
  copy = self;
  EXPECT_EQ(copy, "kept");
}

TEST(RareTextTest, a_move_takes_the_text) {
  RareText first("one");
  RareText second = std::move(first);
  EXPECT_EQ(second, "one");
  RareText third;
  third = std::move(second);
  EXPECT_EQ(third, "one");
  EXPECT_FALSE(third == RareText("two"));
}

}  // namespace
}  // namespace weir
