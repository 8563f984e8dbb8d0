// SPDX-License-Identifier: Apache-2.0
// Tables for people, and lists of name and value for one thing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

// Value.
class Table {
 public:
  explicit Table(std::vector<std::string> titles) : titles_(std::move(titles)) {}
  // Requires: as many cells as titles.
  void add(std::vector<std::string> cells);
  // Columns by their widest cell; the last one is not padded. Only the titles when there are no
  // rows.
  std::string text() const;

 private:
  std::vector<std::string> titles_;
  std::vector<std::vector<std::string>> rows_;
};

// "name   value" lines; pairs with an empty value are left out.
std::string list_text(const std::vector<std::pair<std::string, std::string>>& pairs);

// Text that came from a job or a server, made fit for a terminal: control characters (and with them
// escape sequences) become
// '?', line breaks a space.
std::string printable(std::string_view text);

// As many characters as a terminal shows, near enough: bytes that begin a character.
std::size_t display_width(std::string_view text);

}  // namespace weir::cli
