// SPDX-License-Identifier: Apache-2.0
// Cuts the raw text of values out of JSON text that a parser has already accepted: payloads must
// leave as they came, to the last digit, and every DOM loses digits.
#pragma once

#include <string_view>
#include <vector>

namespace weir::client {

// The text of member `key` of the object `json`, or empty when there is none. `key` needs no
// escapes. On text that is not valid JSON the answer is unspecified, but nothing outside `json` is
// read.
std::string_view json_member(std::string_view json, std::string_view key);

// The texts of the elements of the array `json`.
std::vector<std::string_view> json_elements(std::string_view json);

// Is this whole text one JSON value, at most 64 deep?
bool is_json(std::string_view text);

}  // namespace weir::client
