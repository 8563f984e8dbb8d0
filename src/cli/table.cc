// SPDX-License-Identifier: Apache-2.0
// See table.h.
#include "cli/table.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace weir::cli {
namespace {
constexpr std::string_view kGap = "  ";

std::string padded(const std::string& text, std::size_t width) {
  const std::size_t have = display_width(text);
  return have >= width ? text : text + std::string(width - have, ' ');
}
}  // namespace

std::size_t display_width(std::string_view text) {
  constexpr unsigned kMask = 0xC0;
  constexpr unsigned kContinuation = 0x80;
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & kMask) != kContinuation;
  }));
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '\n' || text[i] == '\t') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7F) {
      out += '?';
    } else if (byte == 0xC2 && i + 1 < text.size() &&
               static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      out += '?';  // U+0080 to U+009F: the other control characters
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

void Table::add(std::vector<std::string> cells) {
  WEIR_ASSERT(cells.size() == titles_.size(), cells.size(), titles_.size());
  for (std::string& cell : cells) cell = cell.empty() ? "-" : printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const std::string& title : titles_) widths.push_back(display_width(title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  const auto add_line = [&out, &widths](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i + 1 < cells.size(); ++i)
      out.append(padded(cells[i], widths[i])).append(kGap);
    out.append(cells.back()).append("\n");
  };
  add_line(titles_);
  for (const auto& row : rows_) add_line(row);
  return out;
}

std::string list_text(const std::vector<std::pair<std::string, std::string>>& pairs) {
  std::size_t width = 0;
  for (const auto& [name, value] : pairs) {
    if (!value.empty()) width = std::max(width, display_width(name));
  }
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (!value.empty())
      out.append(padded(name, width)).append(kGap).append(printable(value)).append("\n");
  }
  return out;
}

}  // namespace weir::cli
