// SPDX-License-Identifier: Apache-2.0
// Names, JSON strings, numbers, sizes, percent coding, globs.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace weir {
namespace {

// Length of the UTF-8 character at `at`, or 0 when it is not valid there.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned char second = byte(at + 1);
  if (lead == 0xE0 && second < 0xA0) return 0;  // overlong
  if (lead == 0xED && second > 0x9F) return 0;  // surrogate
  if (lead == 0xF0 && second < 0x90) return 0;  // overlong
  if (lead == 0xF4 && second > 0x8F) return 0;  // beyond U+10FFFF
  return length;
}

template <typename T>
Result<T> parse_number(std::string_view what, std::string_view text, std::string_view right) {
  T value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || end != text.data() + text.size() || text.empty()) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{}: {} is not {}", what, json_string(cut_utf8(text, 64)), right));
  }
  return value;
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

Result<void> check_name(std::string_view what, std::string_view name, std::size_t max_bytes,
                        std::size_t min_bytes) {
  if (name.size() < min_bytes || name.size() > max_bytes) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} has {} bytes; it must have {} to {}", what, name.size(),
                               min_bytes, max_bytes));
  }
  if (!is_valid_utf8(name)) {
    return failure(ErrorCode::invalid_argument, fmt::format("{} is not valid UTF-8", what));
  }
  for (std::size_t i = 0; i < name.size(); ++i) {
    const auto c = static_cast<unsigned char>(name[i]);
    const bool is_c1 = c == 0xC2 && static_cast<unsigned char>(name[i + 1]) < 0xA0;
    if (c < 0x20 || c == 0x7F || is_c1) {
      return failure(
          ErrorCode::invalid_argument,
          fmt::format("{} has a control character at byte {}; names have none", what, i));
    }
  }
  return {};
}

void append_json_string(std::string& out, std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\') {
      out += c;
      ++i;
      continue;
    }
    if (byte >= 0x80) {
      const std::size_t length = utf8_length(text, i);
      out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
      i += length == 0 ? 1 : length;
      continue;
    }
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        out += "\\u00";
        out += kHex[byte >> 4];
        out += kHex[byte & 15];
    }
    ++i;
  }
  out += '"';
}

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

Result<std::uint64_t> parse_u64(std::string_view what, std::string_view text) {
  return parse_number<std::uint64_t>(what, text, "a whole number from 0 to 18446744073709551615");
}

Result<std::int64_t> parse_i64(std::string_view what, std::string_view text) {
  return parse_number<std::int64_t>(what, text, "a whole number");
}

Result<std::uint64_t> parse_size_bytes(std::string_view text) {
  struct Suffix {
    std::string_view name;
    std::uint64_t factor;
  };
  static constexpr Suffix kSuffixes[] = {
      {"KiB", 1ULL << 10}, {"MiB", 1ULL << 20}, {"GiB", 1ULL << 30}, {"TiB", 1ULL << 40}, {"B", 1}};
  std::string_view digits = text;
  std::uint64_t factor = 1;
  for (const Suffix& suffix : kSuffixes) {
    if (text.ends_with(suffix.name)) {
      digits.remove_suffix(suffix.name.size());
      factor = suffix.factor;
      break;
    }
  }
  const auto count = parse_u64("size", trim(digits));
  if (!count || (*count != 0 && factor > std::numeric_limits<std::uint64_t>::max() / *count)) {
    return failure(
        ErrorCode::invalid_argument,
        fmt::format("{} is not a size; write bytes as a number, or \"64KiB\", \"1MiB\", \"2GiB\"",
                    json_string(cut_utf8(text, 64))));
  }
  return *count * factor;
}

std::string format_size(std::uint64_t bytes) {
  static constexpr std::string_view kNames[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  auto value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(kNames)) {
    value /= 1024;
    ++unit;
  }
  const bool is_whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return is_whole ? fmt::format("{:.0f}{}", value, kNames[unit])
                  : fmt::format("{:.1f}{}", value, kNames[unit]);
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '~' || c == '.';
    // A segment of dots alone would be taken for "here" or "above" by clients and proxies.
    const bool is_dots = c == '.' && text.find_first_not_of('.') == std::string_view::npos;
    if (is_plain && !is_dots) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

bool percent_decode(std::string_view text, std::string& out, bool plus_is_space) {
  out.clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return false;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return false;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return true;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  while (true) {
    const std::size_t to = text.find(separator, from);
    parts.emplace_back(text.substr(from, to == std::string_view::npos ? to : to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

std::string_view trim(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

bool equals_ignore_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && to_lower(a) == to_lower(b);
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  std::size_t end = max_bytes;
  // Back to the start of the character that the cut would split; at most three bytes, also in text
  // that is no UTF-8.
  for (int i = 0; i < 3 && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++i)
    --end;
  return text.substr(0, end);
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  // Only the last star is ever tried again: an earlier one can't do better, so the time is bounded
  // by both lengths.
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& words) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace weir
