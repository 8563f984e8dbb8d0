// SPDX-License-Identifier: Apache-2.0
#include "doors/http/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace weir::doors::http {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Four hex digits at `at`, or -1.
int hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return -1;
  int value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const int digit = hex_value(text[at + i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto push = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (point < 0x80) {
    push(point);
  } else if (point < 0x800) {
    push(0xC0 | point >> 6);
    push(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    push(0xE0 | point >> 12);
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  } else {
    push(0xF0 | point >> 18);
    push(0x80 | (point >> 12 & 0x3F));
    push(0x80 | (point >> 6 & 0x3F));
    push(0x80 | (point & 0x3F));
  }
}

std::string_view kind_text(JsonKind kind) {
  switch (kind) {
    case JsonKind::object:
      return "an object";
    case JsonKind::array:
      return "a list";
    case JsonKind::string:
      return "a string";
    case JsonKind::number:
      return "a number";
    case JsonKind::boolean:
      return "true or false";
    case JsonKind::null:
      return "null";
    case JsonKind::none:
      return "no JSON value";
  }
  return "no JSON value";
}

}  // namespace

Failure JsonCursor::error(std::string_view what) const {
  std::string place;
  for (const Place& step : path_) {
    if (step.index != kNoIndex) {
      place += fmt::format("[{}]", step.index);
    } else {
      if (!place.empty()) place += '.';
      place += step.name;
    }
  }
  if (place.empty()) place = "the body";
  return failure(ErrorCode::invalid_argument, fmt::format("{} {}", place, what));
}

Failure JsonCursor::syntax(std::string_view what) const {
  return failure(ErrorCode::invalid_argument,
                 fmt::format("not valid JSON at byte {}: {}", at_, what));
}

Result<void> JsonCursor::begin() {
  if (!is_valid_utf8(text_)) {
    return failure(ErrorCode::invalid_argument,
                   "the body is not UTF-8; send other bytes as payload_base64");
  }
  return {};
}

Result<void> JsonCursor::end() {
  skip_space();
  if (at_ != text_.size()) return syntax("something stands behind the value");
  return {};
}

void JsonCursor::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') break;
    ++at_;
  }
}

bool JsonCursor::take(char c) {
  if (at_ >= text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

JsonKind JsonCursor::peek() {
  skip_space();
  if (at_ >= text_.size()) return JsonKind::none;
  switch (text_[at_]) {
    case '{':
      return JsonKind::object;
    case '[':
      return JsonKind::array;
    case '"':
      return JsonKind::string;
    case 't':
    case 'f':
      return JsonKind::boolean;
    case 'n':
      return JsonKind::null;
    default:
      return is_digit(text_[at_]) || text_[at_] == '-' ? JsonKind::number : JsonKind::none;
  }
}

bool JsonCursor::take_null() {
  skip_space();
  if (!text_.substr(at_).starts_with("null")) return false;
  at_ += 4;
  return true;
}

// Consumes a string with its quotes; gives what stands between them, escapes checked but not
// resolved.
Result<std::string_view> JsonCursor::scan_string() {
  if (!take('"')) return syntax("a string should stand here");
  const std::size_t first = at_;
  while (at_ < text_.size()) {
    const auto c = static_cast<unsigned char>(text_[at_]);
    if (c == '"') {
      const std::string_view inside = text_.substr(first, at_ - first);
      ++at_;
      return inside;
    }
    if (c < 0x20) return syntax("a control character in a string must be escaped");
    if (c != '\\') {
      ++at_;
      continue;
    }
    if (at_ + 1 >= text_.size()) break;
    const char escaped = text_[at_ + 1];
    if (escaped == 'u') {
      if (hex4(text_, at_ + 2) < 0) return syntax("\\u needs four hex digits");
      at_ += 6;
    } else if (std::string_view("\"\\/bfnrt").find(escaped) != std::string_view::npos) {
      at_ += 2;
    } else {
      return syntax("unknown escape");
    }
  }
  return syntax("the string has no end");
}

// Resolves escapes into scratch_, or gives the text itself when there are none.
Result<std::string_view> JsonCursor::decode(std::string_view quoted) {
  if (quoted.find('\\') == std::string_view::npos) return quoted;
  scratch_.clear();
  for (std::size_t i = 0; i < quoted.size();) {
    if (quoted[i] != '\\') {
      scratch_.push_back(quoted[i++]);
      continue;
    }
    const char escaped = quoted[i + 1];
    if (escaped != 'u') {
      static constexpr std::string_view from = "\"\\/bfnrt";
      static constexpr std::string_view to = "\"\\/\b\f\n\r\t";
      scratch_.push_back(to[from.find(escaped)]);
      i += 2;
      continue;
    }
    auto point = static_cast<std::uint32_t>(hex4(quoted, i + 2));
    i += 6;
    if (point >= 0xD800 && point <= 0xDFFF) {
      const int low = point <= 0xDBFF && quoted.substr(i, 2) == "\\u" ? hex4(quoted, i + 2) : -1;
      if (low < 0xDC00 || low > 0xDFFF) return error("holds half of a surrogate pair");
      point = 0x10000 + ((point - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
      i += 6;
    }
    append_utf8(scratch_, point);
  }
  return std::string_view(scratch_);
}

Result<std::string> JsonCursor::string() {
  if (const JsonKind kind = peek(); kind != JsonKind::string) {
    return error(fmt::format("must be a string, not {}", kind_text(kind)));
  }
  WEIR_TRY_ASSIGN(const std::string_view quoted, scan_string());
  WEIR_TRY_ASSIGN(const std::string_view text, decode(quoted));
  return std::string(text);
}

Result<bool> JsonCursor::boolean() {
  skip_space();
  if (text_.substr(at_).starts_with("true")) {
    at_ += 4;
    return true;
  }
  if (text_.substr(at_).starts_with("false")) {
    at_ += 5;
    return false;
  }
  return error(fmt::format("must be true or false, not {}", kind_text(peek())));
}

Result<std::string_view> JsonCursor::scan_number() {
  const std::size_t first = at_;
  take('-');
  const auto digits = [this] {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > start;
  };
  const bool has_zero = take('0');
  if (!has_zero && !digits()) return syntax("a digit should stand here");
  if (has_zero && at_ < text_.size() && is_digit(text_[at_]))
    return syntax("a number has no leading zero");
  if (take('.') && !digits()) return syntax("a digit should follow the point");
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    if (!digits()) return syntax("a digit should follow the exponent sign");
  }
  return text_.substr(first, at_ - first);
}

Result<std::int64_t> JsonCursor::integer(std::int64_t min, std::int64_t max) {
  const std::string range = max == std::numeric_limits<std::int64_t>::max()
                                ? fmt::format("must be a whole number of at least {}", min)
                                : fmt::format("must be a whole number from {} to {}", min, max);
  if (peek() != JsonKind::number) return error(range);
  WEIR_TRY_ASSIGN(const std::string_view text, scan_number());
  std::int64_t value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || stop != text.data() + text.size() || value < min || value > max) {
    return error(range);
  }
  return value;
}

Result<double> JsonCursor::number() {
  if (peek() != JsonKind::number) return error("must be a number");
  WEIR_TRY_ASSIGN(const std::string_view text, scan_number());
  double value = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc{} || stop != text.data() + text.size() || !std::isfinite(value)) {
    return error("is out of the range of numbers");
  }
  return value;
}

Result<void> JsonCursor::enter() {
  if (++depth_ > kJsonDepthMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("JSON is nested deeper than {}", kJsonDepthMax));
  }
  is_first_ = true;
  return {};
}

Result<void> JsonCursor::open_object() {
  if (const JsonKind kind = peek(); kind != JsonKind::object) {
    return error(fmt::format("must be an object, not {}", kind_text(kind)));
  }
  ++at_;
  return enter();
}

Result<void> JsonCursor::open_array() {
  if (const JsonKind kind = peek(); kind != JsonKind::array) {
    return error(fmt::format("must be a list, not {}", kind_text(kind)));
  }
  ++at_;
  return enter();
}

Result<bool> JsonCursor::next_field(std::string_view& key) {
  skip_space();
  if (take('}')) {
    --depth_;
    is_first_ = false;
    return false;
  }
  if (!is_first_) {
    if (!take(',')) return syntax("',' or '}' should stand here");
    skip_space();
  }
  is_first_ = false;
  WEIR_TRY_ASSIGN(const std::string_view quoted, scan_string());
  WEIR_TRY_ASSIGN(key, decode(quoted));
  skip_space();
  if (!take(':')) return syntax("':' should stand here");
  return true;
}

Result<bool> JsonCursor::next_item() {
  skip_space();
  if (take(']')) {
    --depth_;
    is_first_ = false;
    return false;
  }
  if (!is_first_) {
    if (!take(',')) return syntax("',' or ']' should stand here");
    if (peek() == JsonKind::none) return syntax("a value should stand here");
  }
  is_first_ = false;
  return true;
}

Result<void> JsonCursor::scan_scalar() {
  switch (peek()) {
    case JsonKind::string:
      WEIR_TRY(scan_string());
      return {};
    case JsonKind::number:
      WEIR_TRY(scan_number());
      return {};
    case JsonKind::boolean:
      if (!boolean()) return syntax("a value should stand here");
      return {};
    case JsonKind::null:
      if (!take_null()) return syntax("a value should stand here");
      return {};
    case JsonKind::object:
    case JsonKind::array:
    case JsonKind::none:
      break;
  }
  return syntax("a value should stand here");
}

Result<std::string_view> JsonCursor::raw() {
  skip_space();
  const std::size_t first = at_;
  const std::size_t outside = depth_;
  // One bit a level: is it an object? Depth is bounded by 64, so that a word is enough.
  std::uint64_t objects = 0;
  do {
    if (depth_ > outside && (objects & 1U) != 0) {
      // In an object, before a key or its end.
      std::string_view key;
      skip_space();
      if (take('}')) {
        --depth_;
        objects >>= 1;
        is_first_ = false;
        continue;
      }
      if (!is_first_ && !take(',')) return syntax("',' or '}' should stand here");
      is_first_ = false;
      skip_space();
      WEIR_TRY(scan_string());
      skip_space();
      if (!take(':')) return syntax("':' should stand here");
    } else if (depth_ > outside) {
      WEIR_TRY_ASSIGN(const bool more, next_item());
      if (!more) {
        objects >>= 1;
        continue;
      }
    }
    const JsonKind kind = peek();
    if (kind == JsonKind::object || kind == JsonKind::array) {
      ++at_;
      WEIR_TRY(enter());
      objects = objects << 1 | (kind == JsonKind::object ? 1U : 0U);
    } else {
      WEIR_TRY(scan_scalar());
      is_first_ = false;
    }
  } while (depth_ > outside);
  return text_.substr(first, at_ - first);
}

bool is_json(std::string_view text) {
  JsonCursor in(text);
  return in.begin() && in.raw() && in.end();
}

namespace detail {

Failure unknown_field(const JsonCursor& in, std::string_view key,
                      const std::vector<std::string_view>& known) {
  const std::string name(cut_utf8(key, 64));
  const std::string_view near = nearest_word(key, known);
  std::string detail = fmt::format("has an unknown field {}", json_string(name));
  if (!near.empty()) {
    detail += fmt::format("; did you mean {}?", json_string(near));
  } else {
    detail += "; known are";
    for (std::size_t i = 0; i < known.size(); ++i)
      detail += fmt::format("{} {}", i == 0 ? "" : ",", known[i]);
  }
  return in.error(detail);
}

}  // namespace detail
}  // namespace weir::doors::http
