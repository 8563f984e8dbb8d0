// SPDX-License-Identifier: Apache-2.0
// The strict reader: what is legal JSON is decided as an independent parser does, and nothing
// foreign makes it stray.
#include "doors/http/json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>

#include "base/prng.h"
#include "base/text.h"

namespace weir::doors::http {
namespace {

struct Pair {
  std::string text;
  std::int64_t number = -1;
};
constexpr Field<Pair> kPair[] = {
    {"text", "{}",
     [](JsonCursor& in, Pair& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.text, in.string());
       return {};
     }},
    {"number", "{}",
     [](JsonCursor& in, Pair& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.number, in.integer(0, 100));
       return {};
     },
     true},
};

std::string read_pair(std::string_view text, Pair& out) {
  const Result<void> read = read_body(text, Fields<Pair>(kPair), out);
  return read ? "" : read.error().detail;
}

TEST(JsonCursor, reads_fields_with_their_escapes) {
  Pair pair;
  EXPECT_EQ(read_pair(R"( { "number" : 7 , "te\u0078t" : "a\"\n\u00e9\ud83d\ude00" } )", pair), "");
  EXPECT_EQ(pair.number, 7);
  EXPECT_EQ(pair.text, "a\"\n\xC3\xA9\xF0\x9F\x98\x80");
}

TEST(JsonCursor, refusals_name_the_field) {
  Pair pair;
  EXPECT_NE(read_pair(R"({"numbr":1})", pair).find("did you mean \"number\""), std::string::npos);
  EXPECT_EQ(read_pair(R"({"number":1,"number":2})", pair), "number is given twice");
  EXPECT_EQ(read_pair(R"({"number":1,"numb\u0065r":2})", pair), "number is given twice");
  EXPECT_EQ(read_pair(R"({})", pair), "number is missing");
  EXPECT_EQ(read_pair(R"({"number":"1"})", pair), "number must be a whole number from 0 to 100");
  EXPECT_EQ(read_pair(R"({"number":1e2})", pair), "number must be a whole number from 0 to 100");
  EXPECT_EQ(read_pair(R"({"number":99999999999999999999})", pair),
            "number must be a whole number from 0 to 100");
  EXPECT_EQ(read_pair(R"({"number":1,"text":null})", pair), "text must be a string, not null");
  EXPECT_EQ(read_pair(R"({"number":1,"text":"\ud800"})", pair),
            "text holds half of a surrogate pair");
  EXPECT_NE(read_pair("{\"number\":1,\"text\":\"\xFF\"}", pair).find("not UTF-8"),
            std::string::npos);
  EXPECT_NE(read_pair(R"({"number":1} x)", pair), "");
  EXPECT_NE(read_pair(R"([1])", pair), "");
  EXPECT_NE(read_pair(R"({"number":1,})", pair), "");
}

TEST(JsonCursor, depth_is_bounded_and_never_recurses) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(is_json(nested(kJsonDepthMax)));
  EXPECT_FALSE(is_json(nested(kJsonDepthMax + 1)));
  EXPECT_FALSE(is_json(std::string(1'000'000, '[')));
  std::string objects;
  for (int i = 0; i < 500'000; ++i) objects += R"({"a":)";
  EXPECT_FALSE(is_json(objects));
}

TEST(JsonCursor, raw_values_keep_their_text) {
  for (const std::string_view text :
       {"3889108265204450030", "1e22", "-0", "1E+2", "0.1",
        "1234567890123456789012345678901234567890", R"({"a":1,"a":2})", R"(["\ud800", [ ] , {} ])",
        "null", "\"\""}) {
    JsonCursor in(text);
    const Result<std::string_view> raw = in.raw();
    ASSERT_TRUE(raw) << text;
    EXPECT_EQ(*raw, text);
  }
}

TEST(JsonCursor, malformed_texts_are_refused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "01",
                                      "1.",
                                      ".5",
                                      "-",
                                      "1e",
                                      "+1",
                                      "nul",
                                      "tru",
                                      "True",
                                      "NaN",
                                      "Infinity",
                                      "'a'",
                                      "\"a",
                                      "\"\\x\"",
                                      "\"\\u12g4\"",
                                      "\"\t\"",
                                      "{",
                                      "}",
                                      "[",
                                      "]",
                                      "[1,]",
                                      "[,1]",
                                      "[1 2]",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{\"a\":1 \"b\":2}",
                                      "1 2",
                                      "/**/1",
                                      "[1}",
                                      "{\"a\":1]",
                                      "\xEF\xBB\xBF"
                                      "1",
                                      "\x00"}) {
    EXPECT_FALSE(is_json(text)) << text;
  }
}

std::uint64_t seed() {
  const char* given = std::getenv("WEIR_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261129;
}

// Judges by another parser. It differs in one policy, which is left out: it refuses lone
// surrogates.
bool is_json_elsewhere(const std::string& text) {
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::parse(text, error, {}, options);
  return !error;
}

TEST(JsonCursor, agrees_with_another_parser_on_mutated_texts) {
  const std::uint64_t start = seed();
  SCOPED_TRACE("WEIR_SEED=" + std::to_string(start));
  Prng prng(start);
  const std::vector<std::string> corpus = {
      R"({"payload":{"a":[1,2.5e-3,true,false,null,"x\n"]},"kind":"mail","tags":["a","b"]})",
      R"([[],{},[{}],{"a":{"b":[0]}},-0,1E+2,"\u00e9\"\\"])",
      R"({"jobs":[{"payload":1},{"payload":"x","delay":"5s"}]})"};
  const std::string alphabet = R"({}[]",:\ue0123456789.+-tfn aE)";
  int agreed_valid = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::string text = corpus[prng.up_to(corpus.size() - 1)];
    for (std::uint64_t edits = prng.up_to(3); edits > 0; --edits) {
      const std::size_t at = prng.up_to(text.size() - 1);
      switch (prng.up_to(3)) {
        case 0:
          text[at] = alphabet[prng.up_to(alphabet.size() - 1)];
          break;
        case 1:
          text.erase(at, 1 + prng.up_to(4));
          break;
        case 2:
          text.insert(at, 1, alphabet[prng.up_to(alphabet.size() - 1)]);
          break;
        default:
          text = text.substr(0, at);
          break;
      }
      if (text.empty()) text = "0";
    }
    if (text.find("\\ud") != std::string::npos) continue;
    const bool expected = is_json_elsewhere(text);
    ASSERT_EQ(is_json(text), expected) << text;
    agreed_valid += expected ? 1 : 0;
    Pair pair;
    read_pair(text, pair);
  }
  EXPECT_GT(agreed_valid, 5'000);
}

TEST(JsonCursor, random_bytes_do_no_harm) {
  Prng prng(seed());
  for (int round = 0; round < 50'000; ++round) {
    std::string text;
    for (std::uint64_t size = prng.up_to(40); size > 0; --size)
      text.push_back(static_cast<char>(prng.up_to(255)));
    Pair pair;
    read_pair(text, pair);
    is_json(text);
  }
}

}  // namespace
}  // namespace weir::doors::http
