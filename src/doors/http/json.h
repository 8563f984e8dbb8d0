// SPDX-License-Identifier: Apache-2.0
// JsonCursor: a strict, one-pass reader of one JSON text, and Field tables that say what an object
// may hold.
//
// Why not a DOM: a payload must leave exactly as it came, to the last digit, so values are handed
// on as spans of the text; and a field that nobody knows, or that comes twice, must be refused by
// name. Nesting is bounded by kJsonDepthMax, nothing recurses on foreign data, nothing is allocated
// by a declared length. Policies: the text is UTF-8 and has nothing behind the value; a field of
// ours comes once; an escaped lone surrogate is refused in strings that are read. Inside a payload
// (skipped by raw()) duplicate keys and lone surrogates are the client's own business: the text is
// kept as it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::doors::http {

inline constexpr std::size_t kJsonDepthMax = 64;

enum class JsonKind : std::uint8_t { object, array, string, number, boolean, null, none };

// Reads values in the order of the text. Every error is invalid_argument and names the place
// ("jobs[3].kind"). The text must outlive the cursor. One thread.
class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : text_(text) {}

  // Errors: the text is not UTF-8. Call first.
  Result<void> begin();
  // Errors: something stands behind the value. Call last.
  Result<void> end();

  JsonKind peek();
  // Consumes a null if it is next.
  bool take_null();
  Result<std::string> string();
  Result<bool> boolean();
  Result<std::int64_t> integer(std::int64_t min, std::int64_t max);
  Result<double> number();
  // Any value, checked whole; the span of its text without spaces around it.
  Result<std::string_view> raw();

  // Walks an object or array: next_* gives false at its end. A key lives until the next call.
  Result<void> open_object();
  Result<bool> next_field(std::string_view& key);
  Result<void> open_array();
  Result<bool> next_item();

  // Where errors are said to be. The name must live until it is popped: no temporaries.
  void push_path(std::string&& name) = delete;
  void push_path(std::string_view name) { path_.push_back({name, kNoIndex}); }
  void push_path(std::size_t index) { path_.push_back({{}, index}); }
  void pop_path() { path_.pop_back(); }
  Failure error(std::string_view what) const;

 private:
  static constexpr std::size_t kNoIndex = ~std::size_t{0};
  struct Place {
    std::string_view name;
    std::size_t index;
  };

  void skip_space();
  bool take(char c);
  Failure syntax(std::string_view what) const;
  Result<void> enter();
  Result<std::string_view> scan_string();
  Result<std::string_view> scan_number();
  Result<void> scan_scalar();
  Result<std::string_view> decode(std::string_view quoted);

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool is_first_ = false;  // the container was just opened
  std::string scratch_;
  std::vector<Place> path_;
};

// Is this a JSON text of legal depth, and UTF-8?
bool is_json(std::string_view text);

// One field of a request object: how it is read, and its JSON Schema for /openapi.json.
template <typename T>
struct Field {
  std::string_view name;
  std::string_view schema;
  Result<void> (*read)(JsonCursor& in, T& out);
  bool is_required = false;
};

template <typename T>
using Fields = std::span<const Field<T>>;

namespace detail {
Failure unknown_field(const JsonCursor& in, std::string_view key,
                      const std::vector<std::string_view>& known);
}

// Reads an object by its field table. Errors: invalid_argument that names an unknown, repeated or
// missing field.
template <typename T>
Result<void> read_object(JsonCursor& in, std::span<const Field<T>> fields, T& out) {
  WEIR_TRY(in.open_object());
  std::uint64_t seen = 0;
  for (std::string_view key;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_field(key));
    if (!more) break;
    std::size_t index = 0;
    while (index < fields.size() && fields[index].name != key) ++index;
    if (index == fields.size()) {
      std::vector<std::string_view> known;
      for (const Field<T>& field : fields) known.push_back(field.name);
      return detail::unknown_field(in, key, known);
    }
    in.push_path(fields[index].name);
    if ((seen >> index & 1U) != 0) return in.error("is given twice");
    seen |= std::uint64_t{1} << index;
    WEIR_TRY(fields[index].read(in, out));
    in.pop_path();
  }
  for (std::size_t index = 0; index < fields.size(); ++index) {
    if (!fields[index].is_required || (seen >> index & 1U) != 0) continue;
    in.push_path(fields[index].name);
    return in.error("is missing");
  }
  return {};
}

// A whole request body by its field table; an empty body counts as {}.
template <typename T>
Result<void> read_body(std::string_view body, std::span<const Field<T>> fields, T& out) {
  JsonCursor in(body.empty() ? std::string_view("{}") : body);
  WEIR_TRY(in.begin());
  WEIR_TRY(read_object(in, fields, out));
  return in.end();
}

}  // namespace weir::doors::http
