// SPDX-License-Identifier: Apache-2.0
// Patterns of expected text: literal characters and, in braces,
//   {*}            any run of characters, also none
//   {name:*}       the same with at least one character, kept under that name
//   {name:digits}  one or more digits, kept       {name:word}  letters, digits, '-', '_', '.', kept
//   {name}         what was kept under that name earlier
// Everything else in braces is literal, so JSON needs no escaping.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace weir::wire {

using Captures = std::map<std::string, std::string, std::less<>>;

// Does `pattern` match all of `text`? Fills `captures` if it does, leaves them alone if not.
bool match_pattern(std::string_view pattern, std::string_view text, Captures& captures);

// Matches `pattern` against a beginning of `text`, the shortest that works; npos when none does.
std::size_t match_prefix(std::string_view pattern, std::string_view text, Captures& captures);

// Replaces {name} by what was kept; unknown names stay as they are.
std::string fill_in(std::string_view text, const Captures& captures);

}  // namespace weir::wire
