// SPDX-License-Identifier: Apache-2.0
// base: known vectors for digests, round trips for texts, and the rules of names, times and
// durations.
#include <set>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/prng.h"
#include "base/text.h"
#include "base/time.h"

namespace weir {
namespace {

TEST(error_table, has_one_row_per_code_with_distinct_texts) {
  std::set<std::string_view> texts;
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const ErrorInfo& info = error_info(static_cast<ErrorCode>(i));
    EXPECT_EQ(static_cast<int>(info.code), i);
    EXPECT_GE(info.http_status, 400);
    EXPECT_NE(info.exit_code, 0);
    EXPECT_TRUE(texts.insert(info.text).second) << info.text;
  }
}

TEST(time, formats_and_parses_back_to_the_millisecond) {
  for (const char* text : {"2026-11-29T16:30:00Z", "9999-12-31T23:59:59.999Z",
                           "2024-02-29T00:00:00.001Z", "1970-01-02T00:00:00Z"}) {
    const auto at = parse_rfc3339(text);
    ASSERT_TRUE(at) << text;
    EXPECT_EQ(format_rfc3339(*at), text);
  }
  EXPECT_EQ(kWallTimeMax, *parse_rfc3339("9999-12-31T23:59:59.999999Z"));
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-01-01T01:30:00+02:00")), "2025-12-31T23:30:00Z");
}

TEST(time, refuses_what_is_no_instant) {
  for (const char* text : {"", "2026", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z",
                           "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Zx",
                           "10000-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(duration, parses_units_sums_and_plain_milliseconds_and_saturates) {
  EXPECT_EQ(*parse_duration_ms("250ms"), 250);
  EXPECT_EQ(*parse_duration_ms("1h30m"), 90 * kMsPerMinute);
  EXPECT_EQ(*parse_duration_ms("2592000000"), 2'592'000'000);
  EXPECT_EQ(*parse_duration_ms("99999999999999999999d"), INT64_MAX);
  for (const char* text : {"", "s", "5x", "-5s", "1h30", "1.5h", " 5s"})
    EXPECT_FALSE(parse_duration_ms(text)) << text;
  for (const std::int64_t ms : {0L, 1L, 999L, 1000L, 90'061'001L, 7 * kMsPerDay}) {
    EXPECT_EQ(*parse_duration_ms(format_duration(ms)), ms);
  }
}

TEST(digest, agrees_with_published_vectors) {
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c("56789", crc32c("1234")), 0xE3069283U);
  // SipHash-2-4-128 of the empty text under key 00 01 … 0f: a3817f04ba25a8e66df67214c7550293.
  const Hash128 key{.high = 0x0F0E0D0C0B0A0908ULL, .low = 0x0706050403020100ULL};
  const Hash128 empty = siphash128(key, "");
  EXPECT_EQ(empty.low, 0xE6A825BA047F81A3ULL);
  EXPECT_EQ(empty.high, 0x930255C71472F66DULL);
}

TEST(digest, base64_round_trips_and_refuses_other_text) {
  Prng prng(7);
  for (int size = 0; size < 70; ++size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(prng.up_to(255));
    std::string back;
    ASSERT_TRUE(base64_decode(base64_encode(bytes), back));
    EXPECT_EQ(back, bytes);
  }
  std::string out;
  for (const char* text : {"A", "AA", "AAA", "A===", "AA=A", "AB==", "AAB=", "A A=", "AAAA="}) {
    EXPECT_FALSE(base64_decode(text, out)) << text;
  }
}

TEST(bytes, reader_reads_what_writer_wrote_and_never_past_the_end) {
  std::string out;
  ByteWriter w(out);
  w.u8(1);
  w.u32(2);
  w.u64(UINT64_MAX);
  w.varint(UINT64_MAX);
  w.svarint(INT64_MIN);
  w.svarint(-1);
  w.text("weir");
  ByteReader r(out);
  EXPECT_EQ(r.u8(), 1);
  EXPECT_EQ(r.u32(), 2U);
  EXPECT_EQ(r.u64(), UINT64_MAX);
  EXPECT_EQ(r.varint(), UINT64_MAX);
  EXPECT_EQ(r.svarint(), INT64_MIN);
  EXPECT_EQ(r.svarint(), -1);
  EXPECT_EQ(r.text(), "weir");
  EXPECT_TRUE(r.ok() && r.at_end());
  for (std::size_t cut = 0; cut < out.size(); ++cut) {
    ByteReader short_input(std::string_view(out).substr(0, cut));
    short_input.u8(), short_input.u32(), short_input.u64(), short_input.varint(),
        short_input.svarint();
    short_input.svarint(), short_input.text();
    EXPECT_FALSE(short_input.ok()) << cut;
  }
}

TEST(text, names_are_utf8_without_control_characters) {
  EXPECT_TRUE(check_name("queue", "°C", 255));
  EXPECT_TRUE(check_name("queue", "foo/bar.baz#+ ..", 255));
  EXPECT_TRUE(check_name("queue", std::string(255, 'a'), 255));
  for (const std::string& bad :
       {std::string(), std::string(256, 'a'), std::string("a\0b", 3), std::string("a\nb"),
        std::string("\x7F"), std::string("\xC2\x85"), std::string("\xFF"),
        std::string("\xED\xA0\x80"), std::string("\xC0\x80")}) {
    EXPECT_FALSE(check_name("queue", bad, 255));
  }
}

TEST(text, percent_coding_round_trips_every_byte) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  for (const std::string& text :
       {all, std::string(".."), std::string("%2F"), std::string("a b+c")}) {
    std::string back;
    ASSERT_TRUE(percent_decode(percent_encode(text), back));
    EXPECT_EQ(back, text);
  }
  EXPECT_EQ(percent_encode(".."), "%2E%2E");
  std::string out;
  EXPECT_FALSE(percent_decode("%", out));
  EXPECT_FALSE(percent_decode("%g0", out));
}

TEST(text, json_strings_escape_controls_and_replace_what_is_not_utf8) {
  EXPECT_EQ(json_string("a\"b\\\n\x01°"), "\"a\\\"b\\\\\\n\\u0001°\"");
  EXPECT_EQ(json_string("\xFF"), "\"\xEF\xBF\xBD\"");
}

TEST(text, globs_match_linearly) {
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("mail*", "mail.out"));
  EXPECT_TRUE(glob_match("*a*b", "xaxxb"));
  EXPECT_FALSE(glob_match("a", "ab"));
  std::string pattern;
  for (int i = 0; i < 1000; ++i) pattern += "*a";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(5000, 'a')));
}

TEST(text, sizes_and_cuts) {
  EXPECT_EQ(*parse_size_bytes("1MiB"), 1'048'576U);
  EXPECT_EQ(*parse_size_bytes("512"), 512U);
  EXPECT_FALSE(parse_size_bytes("1MB"));
  EXPECT_FALSE(parse_size_bytes("99999999999TiB"));
  EXPECT_EQ(cut_utf8("a°b", 2), "a");
  EXPECT_EQ(nearest_word("enqeue", {"claim", "enqueue", "work"}), "enqueue");
  EXPECT_EQ(nearest_word("zzz", {"claim", "enqueue", "work"}), "");
}

TEST(prng, draws_are_portable_and_in_bounds) {
  Prng prng(42);
  EXPECT_EQ(prng.next(), 1546998764402558742ULL);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_LE(prng.up_to(6), 6U);
    const auto v = prng.between(-3, 3);
    EXPECT_TRUE(v >= -3 && v <= 3);
  }
  prng.between(INT64_MIN, INT64_MAX);
}

}  // namespace
}  // namespace weir
