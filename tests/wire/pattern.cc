// SPDX-License-Identifier: Apache-2.0
#include "wire/pattern.h"

#include <optional>

namespace weir::wire {
namespace {

enum class Kind { any, kept_any, kept_digits, kept_word, reference };

struct Placeholder {
  Kind kind = Kind::any;
  std::string_view name;
  std::size_t size = 0;  // in the pattern, with its braces
};

bool is_name(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos;
}

// The placeholder at the front of `pattern`, if there is one.
std::optional<Placeholder> placeholder_at(std::string_view pattern) {
  const std::size_t end = pattern.find('}');
  if (!pattern.starts_with('{') || end == std::string_view::npos) return std::nullopt;
  const std::string_view inner = pattern.substr(1, end - 1);
  Placeholder found{.size = end + 1};
  if (inner == "*") return found;
  const std::size_t colon = inner.find(':');
  found.name = inner.substr(0, colon);
  if (!is_name(found.name)) return std::nullopt;
  const std::string_view kind = colon == std::string_view::npos ? "" : inner.substr(colon + 1);
  if (kind.empty() && colon == std::string_view::npos) {
    found.kind = Kind::reference;
  } else if (kind == "*") {
    found.kind = Kind::kept_any;
  } else if (kind == "digits") {
    found.kind = Kind::kept_digits;
  } else if (kind == "word") {
    found.kind = Kind::kept_word;
  } else {
    return std::nullopt;
  }
  return found;
}

bool fits(Kind kind, char c) {
  const bool is_digit = c >= '0' && c <= '9';
  if (kind == Kind::kept_digits) return is_digit;
  if (kind != Kind::kept_word) return true;
  return is_digit || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
         c == '.';
}

// Backtracking, shortest run first. Returns how much of `text` was matched from `at` on.
std::optional<std::size_t> match_from(std::string_view pattern, std::string_view text,
                                      std::size_t at, bool whole, Captures& captures) {
  while (!pattern.empty()) {
    const auto placeholder = placeholder_at(pattern);
    if (!placeholder) {
      if (at >= text.size() || text[at] != pattern.front()) return std::nullopt;
      pattern.remove_prefix(1);
      ++at;
      continue;
    }
    const std::string_view rest = pattern.substr(placeholder->size);
    if (placeholder->kind == Kind::reference) {
      const auto kept = captures.find(placeholder->name);
      const std::string_view value = kept != captures.end() ? std::string_view(kept->second)
                                                            : pattern.substr(0, placeholder->size);
      if (text.substr(at, value.size()) != value) return std::nullopt;
      at += value.size();
      pattern = rest;
      continue;
    }
    for (std::size_t end = placeholder->kind == Kind::any ? at : at + 1; end <= text.size();
         ++end) {
      if (end > at && !fits(placeholder->kind, text[end - 1])) return std::nullopt;
      Captures attempt = captures;
      if (placeholder->kind != Kind::any)
        attempt[std::string(placeholder->name)] = text.substr(at, end - at);
      if (const auto matched = match_from(rest, text, end, whole, attempt)) {
        captures = std::move(attempt);
        return matched;
      }
    }
    return std::nullopt;
  }
  if (whole && at != text.size()) return std::nullopt;
  return at;
}

}  // namespace

bool match_pattern(std::string_view pattern, std::string_view text, Captures& captures) {
  return match_from(pattern, text, 0, true, captures).has_value();
}

std::size_t match_prefix(std::string_view pattern, std::string_view text, Captures& captures) {
  return match_from(pattern, text, 0, false, captures).value_or(std::string_view::npos);
}

std::string fill_in(std::string_view text, const Captures& captures) {
  std::string out;
  while (!text.empty()) {
    const auto placeholder = placeholder_at(text);
    const auto kept = placeholder && placeholder->kind == Kind::reference
                          ? captures.find(placeholder->name)
                          : captures.end();
    if (kept != captures.end()) {
      out += kept->second;
      text.remove_prefix(placeholder->size);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace weir::wire
