// SPDX-License-Identifier: Apache-2.0
// Small text functions that several folders need: UTF-8 checks, names, JSON escaping, numbers,
// sizes, percent coding.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir {

bool is_valid_utf8(std::string_view text);

// The rule for every name that a client chooses (queue, kind, group, key, tag): `min`..`max` bytes
// of UTF-8 without control characters. Errors: invalid_argument, naming `what` and the rule that
// was broken.
Result<void> check_name(std::string_view what, std::string_view name, std::size_t max_bytes,
                        std::size_t min_bytes = 1);

// Appends `text` as a JSON string with its quotes. Invalid UTF-8 is replaced by U+FFFD.
void append_json_string(std::string& out, std::string_view text);
std::string json_string(std::string_view text);

// Whole-text parses of decimal numbers; errors: invalid_argument with `what`.
Result<std::uint64_t> parse_u64(std::string_view what, std::string_view text);
Result<std::int64_t> parse_i64(std::string_view what, std::string_view text);

// "1MiB", "64KiB", "512" (bytes). Errors: invalid_argument.
Result<std::uint64_t> parse_size_bytes(std::string_view text);
std::string format_size(std::uint64_t bytes);

// Percent coding of one path segment or query value. decode: false on a bad escape.
std::string percent_encode(std::string_view text);
bool percent_decode(std::string_view text, std::string& out, bool plus_is_space = false);

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string to_lower(std::string_view text);
bool equals_ignore_case(std::string_view a, std::string_view b);

// Cuts to at most `max_bytes` at a character boundary.
std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

// '*' matches any run of characters; nothing else is special. Linear time.
bool glob_match(std::string_view pattern, std::string_view text);

// The nearest of `words` to `word` for "did you mean", or empty when none is near.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& words);

}  // namespace weir
