// SPDX-License-Identifier: Apache-2.0
// The only file that includes toml++ (it compiles slowly). Its one exception, the parse error,
// becomes an Error here: exceptions are switched off for the library, so parsing returns a result.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>

#include "config/value.h"

namespace weir::config {
namespace {

Value convert(const toml::node& node) {
  Value out;
  out.line = static_cast<int>(node.source().begin.line);
  if (const auto* table = node.as_table()) {
    Table entries;
    for (const auto& [key, child] : *table)
      entries.push_back({.key = std::string(key.str()), .value = convert(child)});
    // toml++ sorts by key; people read by line.
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.value.line < b.value.line; });
    out.data = std::move(entries);
  } else if (const auto* array = node.as_array()) {
    Array items;
    for (const auto& child : *array) items.push_back(convert(child));
    out.data = std::move(items);
  } else if (const auto* text = node.as_string()) {
    out.data = text->get();
  } else if (const auto* number = node.as_integer()) {
    out.data = number->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.data = real->get();
  } else if (const auto* flag = node.as_boolean()) {
    out.data = flag->get();
  } else {
    out.data = std::string("(a date or time)");
  }
  return out;
}

}  // namespace

std::string_view Value::kind() const {
  switch (data.index()) {
    case 0:
      return "a text";
    case 1:
      return "a whole number";
    case 2:
      return "a number";
    case 3:
      return "true or false";
    case 4:
      return "a list";
    default:
      return "a table";
  }
}

Result<Value> read_toml(std::string_view text) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("line {}: {}", parsed.error().source().begin.line,
                               parsed.error().description()));
  }
  return convert(parsed.table());
}

}  // namespace weir::config
