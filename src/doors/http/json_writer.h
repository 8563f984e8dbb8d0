// SPDX-License-Identifier: Apache-2.0
// JsonWriter: appends one JSON text to a string; commas look after themselves. Value, one thread.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "base/time.h"

namespace weir::doors::http {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  // A name and its ':'; one value must follow.
  JsonWriter& key(std::string_view name) {
    text(name);
    out_ += ':';
    needs_comma_ = false;
    return *this;
  }

  JsonWriter& text(std::string_view value) {
    comma();
    append_json_string(out_, value);
    return *this;
  }
  JsonWriter& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }
  JsonWriter& number(std::int64_t value) { return digits(value); }
  JsonWriter& count(std::uint64_t value) { return digits(value); }

  JsonWriter& text(std::string_view name, std::string_view value) { return key(name).text(value); }
  JsonWriter& raw(std::string_view name, std::string_view json) { return key(name).raw(json); }
  JsonWriter& number(std::string_view name, std::int64_t value) { return key(name).number(value); }
  JsonWriter& count(std::string_view name, std::uint64_t value) { return key(name).count(value); }
  JsonWriter& flag(std::string_view name, bool value) {
    return key(name).raw(value ? "true" : "false");
  }
  JsonWriter& null(std::string_view name) { return key(name).raw("null"); }
  // Ids are decimal strings: JSON numbers lose digits beyond 2^53 in many clients.
  JsonWriter& id(std::string_view name, std::uint64_t value) { return key(name).id(value); }
  JsonWriter& id(std::uint64_t value) {
    comma();
    out_ += '"';
    append_digits(value);
    out_ += '"';
    return *this;
  }
  // null when absent.
  JsonWriter& time(std::string_view name, WallTime at) {
    return at.is_set() ? text(name, format_rfc3339(at)) : null(name);
  }
  JsonWriter& text_or_null(std::string_view name, std::string_view value) {
    return value.empty() ? null(name) : text(name, value);
  }
  JsonWriter& duration(std::string_view name, std::int64_t duration_ms) {
    return text(name, format_duration(duration_ms));
  }

 private:
  void comma() {
    if (needs_comma_) out_ += ',';
    needs_comma_ = true;
  }
  JsonWriter& open(char bracket) {
    comma();
    out_ += bracket;
    needs_comma_ = false;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
    return *this;
  }
  template <typename T>
  JsonWriter& digits(T value) {
    comma();
    append_digits(value);
    return *this;
  }
  template <typename T>
  void append_digits(T value) {
    char buffer[24];
    const auto [end, status] = std::to_chars(buffer, buffer + sizeof buffer, value);
    static_cast<void>(status);  // 24 digits hold every 64-bit number
    out_.append(buffer, end);
  }

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace weir::doors::http
