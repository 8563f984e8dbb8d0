// SPDX-License-Identifier: Apache-2.0
// Readers for the Field tables of the parser, and the JSON Schema that goes with each.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "base/time.h"
#include "core/job/lease.h"
#include "core/job/state.h"
#include "core/limits.h"
#include "doors/http/json.h"
#include "doors/http/json_writer.h"

namespace weir::doors::http {

namespace schema {
inline constexpr std::string_view text = R"({"type":"string"})";
inline constexpr std::string_view flag = R"({"type":"boolean"})";
inline constexpr std::string_view any =
    R"({"description":"Any JSON value; its text is kept as it is."})";
inline constexpr std::string_view duration = R"({"$ref":"#/components/schemas/Duration"})";
inline constexpr std::string_view instant = R"({"type":"string","format":"date-time"})";
inline constexpr std::string_view id = R"({"$ref":"#/components/schemas/JobId"})";
inline constexpr std::string_view texts = R"({"type":"array","items":{"type":"string"}})";
inline constexpr std::string_view text_map =
    R"({"type":"object","additionalProperties":{"type":"string"}})";
inline constexpr std::string_view priority_class =
    R"({"type":"string","enum":["P0","P1","P2","P3","P4"]})";
inline constexpr std::string_view base64 = R"({"type":"string","contentEncoding":"base64"})";
inline constexpr std::string_view count = R"({"type":"integer","minimum":0})";
inline constexpr std::string_view integer = R"({"type":"integer"})";
}  // namespace schema

// Adds where it was read to an error of a value.
inline Failure at_field(const JsonCursor& in, const Error& error) {
  return in.error("is not valid: " + error.detail);
}

// "30s", "5m", or whole milliseconds.
inline Result<std::int64_t> duration_value(JsonCursor& in) {
  if (in.peek() == JsonKind::number) return in.integer(0, std::numeric_limits<std::int64_t>::max());
  if (in.peek() != JsonKind::string)
    return in.error("must be a duration such as \"30s\", or milliseconds");
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const Result<std::int64_t> parsed = parse_duration_ms(text);
  if (!parsed) return at_field(in, parsed.error());
  return *parsed;
}

inline Result<WallTime> instant_value(JsonCursor& in) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const Result<WallTime> parsed = parse_rfc3339(text);
  if (!parsed) return at_field(in, parsed.error());
  return *parsed;
}

inline Result<core::PriorityClass> class_value(JsonCursor& in) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const std::optional<core::PriorityClass> parsed = core::priority_class_from(text);
  if (!parsed) return in.error("must be one of P0, P1, P2, P3, P4");
  return *parsed;
}

inline Result<std::vector<std::string>> texts_value(JsonCursor& in, std::size_t max) {
  std::vector<std::string> list;
  WEIR_TRY(in.open_array());
  for (;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_item());
    if (!more) return list;
    if (list.size() == max) return in.error("holds more than " + std::to_string(max) + " entries");
    in.push_path(list.size());
    WEIR_TRY_ASSIGN(std::string text, in.string());
    list.push_back(std::move(text));
    in.pop_path();
  }
}

inline Result<std::string> base64_value(JsonCursor& in) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  std::string bytes;
  if (!base64_decode(text, bytes)) return in.error("is not base64 (with padding)");
  return bytes;
}

// A token is opaque: a text that is none can't be any job's current lease, and the core says so.
inline Result<core::LeaseToken> token_value(JsonCursor& in) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  return core::lease_token_from(text).value_or(core::LeaseToken{});
}

template <auto Member, typename T>
Result<void> read_text(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, in.string());
  return {};
}
template <auto Member, typename T>
Result<void> read_flag(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, in.boolean());
  return {};
}
template <auto Member, typename T>
Result<void> read_duration(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, duration_value(in));
  return {};
}
template <auto Member, typename T>
Result<void> read_instant(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, instant_value(in));
  return {};
}
template <auto Member, typename T>
Result<void> read_class(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, class_value(in));
  return {};
}
template <auto Member, typename T>
Result<void> read_token(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(out.*Member, token_value(in));
  return {};
}
// A whole number that fits Value.
template <auto Member, typename Value, std::int64_t Min, std::int64_t Max, typename T>
Result<void> read_integer(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(const std::int64_t value, in.integer(Min, Max));
  out.*Member = static_cast<Value>(value);
  return {};
}

// "Name": {"type":"object", …} of a field table.
template <typename T>
void write_schema(JsonWriter& out, std::string_view name, std::span<const Field<T>> fields) {
  out.key(name).begin_object().text("type", "object").flag("additionalProperties", false);
  out.key("properties").begin_object();
  for (const Field<T>& field : fields) out.raw(field.name, field.schema);
  out.end_object();
  bool has_required = false;
  for (const Field<T>& field : fields) {
    if (!field.is_required) continue;
    if (!has_required) out.key("required").begin_array();
    has_required = true;
    out.text(field.name);
  }
  if (has_required) out.end_array();
  out.end_object();
}

}  // namespace weir::doors::http
