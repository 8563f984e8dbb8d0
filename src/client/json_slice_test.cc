// SPDX-License-Identifier: Apache-2.0
// Raw values out of JSON text: exact texts, and no reading past the end on text that is broken.
#include "client/json_slice.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::client {
namespace {

TEST(JsonSlice, members_come_out_as_they_stand) {
  const std::string json =
      R"( { "a" : 1e400 , "b":"x\"}]\\", "c": {"a":[1,{"z":"]"}]} ,"d":[ ], "e":null,"f":true} )";
  EXPECT_EQ(json_member(json, "a"), "1e400");
  EXPECT_EQ(json_member(json, "b"), R"("x\"}]\\")");
  EXPECT_EQ(json_member(json, "c"), R"({"a":[1,{"z":"]"}]})");
  EXPECT_EQ(json_member(json, "d"), "[ ]");
  EXPECT_EQ(json_member(json, "e"), "null");
  EXPECT_EQ(json_member(json, "f"), "true");
  EXPECT_EQ(json_member(json, "z"), "");
}

TEST(JsonSlice, the_last_of_equal_names_counts) {
  EXPECT_EQ(json_member(R"({"a":1,"a":2})", "a"), "2");
}

TEST(JsonSlice, elements_come_out_in_order) {
  const auto elements = json_elements(R"([1, "a,b" ,[2,3],{"x":4}])");
  ASSERT_EQ(elements.size(), 4U);
  EXPECT_EQ(elements[1], "\"a,b\"");
  EXPECT_EQ(elements[2], "[2,3]");
  EXPECT_EQ(elements[3], R"({"x":4})");
  EXPECT_TRUE(json_elements("[]").empty());
  EXPECT_TRUE(json_elements("{}").empty());
}

TEST(JsonSlice, every_prefix_of_a_text_is_survived) {
  const std::string json = R"({"a":[1,"\\",{"b":"c\""}],"d":"e"})";
  for (std::size_t size = 0; size <= json.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees a read past it.
    const std::string cut(json, 0, size);
    json_member(cut, "d");
    json_elements(cut);
  }
  SUCCEED();
}

TEST(JsonSlice, depth_is_bounded_and_garbage_is_refused) {
  EXPECT_TRUE(is_json("[1e22,{}]"));
  EXPECT_FALSE(is_json(""));
  EXPECT_FALSE(is_json("1 2"));
  EXPECT_FALSE(is_json("{'a':1}"));
  EXPECT_FALSE(is_json("\"\xFF\""));
  EXPECT_TRUE(is_json(std::string(60, '[') + std::string(60, ']')));
  EXPECT_FALSE(is_json(std::string(100'000, '[')));
}

}  // namespace
}  // namespace weir::client
