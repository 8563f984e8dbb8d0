// SPDX-License-Identifier: Apache-2.0
// A configuration file as a tree of values that know their line. toml++ stays behind
// toml_reader.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace weir::config {

struct Value;
struct Entry;
using Array = std::vector<Value>;
using Table = std::vector<Entry>;  // in the order of the file

// Value.
struct Value {
  std::variant<std::string, std::int64_t, double, bool, Array, Table> data;
  int line = 0;  // 0: from the environment

  const Table* table() const { return std::get_if<Table>(&data); }
  const Array* array() const { return std::get_if<Array>(&data); }
  // "a text", "a number", … for error texts.
  std::string_view kind() const;
};

// One line of a table. Value.
struct Entry {
  std::string key;
  Value value;
};

// Errors: invalid_argument with "line N: …" in the detail.
Result<Value> read_toml(std::string_view text);

}  // namespace weir::config
