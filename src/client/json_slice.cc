// SPDX-License-Identifier: Apache-2.0
// See json_slice.h. Iterative: depth costs no stack.
#include "client/json_slice.h"

#include <boost/json.hpp>
#include <cstddef>

namespace weir::client {
namespace {

class Slicer {
 public:
  explicit Slicer(std::string_view text) : text_(text) {}

  void skip_space() {
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) {
      ++at_;
    }
  }
  bool take(char wanted) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  std::string_view string() {
    skip_space();
    const std::size_t begin = at_;
    if (!take('"')) return {};
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_ + 1, text_.size());
    return text_.substr(begin, at_ - begin);
  }
  std::string_view value() {
    skip_space();
    const std::size_t begin = at_;
    if (at_ >= text_.size()) return {};
    if (text_[at_] == '"') return string();
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) break;  // the end of the container around a bare number or word
        ++at_;
        if (--depth == 0) return text_.substr(begin, at_ - begin);
        continue;
      }
      if (depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n')) break;
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string_view json_member(std::string_view json, std::string_view key) {
  Slicer slicer(json);
  std::string_view found;
  if (!slicer.take('{')) return {};
  while (true) {
    const std::string_view name = slicer.string();
    if (name.size() < 2 || !slicer.take(':')) return found;
    const std::string_view value = slicer.value();
    if (value.empty()) return found;
    // The last of equal names counts, as it does in the parser.
    if (name.substr(1, name.size() - 2) == key) found = value;
    if (!slicer.take(',')) return found;
  }
}

std::vector<std::string_view> json_elements(std::string_view json) {
  std::vector<std::string_view> elements;
  Slicer slicer(json);
  if (!slicer.take('[') || slicer.take(']')) return elements;
  while (true) {
    const std::string_view value = slicer.value();
    if (value.empty()) return elements;
    elements.push_back(value);
    if (!slicer.take(',')) return elements;
  }
}

bool is_json(std::string_view text) {
  boost::json::parse_options options;
  options.max_depth = 64;
  boost::json::stream_parser parser({}, options);
  boost::json::error_code error;
  parser.write(text.data(), text.size(), error);
  if (!error) parser.finish(error);
  return !error;
}

}  // namespace weir::client
