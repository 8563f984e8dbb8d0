// SPDX-License-Identifier: Apache-2.0
// Finds the end of a head (or of a chunked body's trailer) and refuses what parsers disagree about,
// before the parser sees it: a LF without CR, a continued header line, more bytes or lines than
// allowed.
//
// Why beside a strict parser: request smuggling lives on exactly these disagreements, and the rules
// here are short enough to be read in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::net {

class HttpHeadScanner {
 public:
  enum class State : std::uint8_t { more, done, bad_line, too_large };

  HttpHeadScanner(std::size_t bytes_max, std::size_t lines_max)
      : bytes_max_(bytes_max), lines_max_(lines_max) {}

  // Starts on a head: empty lines before the request line are skipped.
  void start_head();
  // Starts on a trailer: the first empty line ends it.
  void start_trailer();

  // Looks at the next bytes; `used` gets how many of them belong here (on bad_line: up to the
  // fault).
  State scan(std::string_view bytes, std::size_t& used);

  bool has_started() const { return bytes_ > 0; }

 private:
  void start(bool skips_empty);

  std::size_t bytes_max_;
  std::size_t lines_max_;
  std::size_t bytes_ = 0;
  std::size_t lines_ = 0;       // lines that were not empty
  std::size_t line_bytes_ = 0;  // of the line so far
  char last_ = 0;
  bool skips_empty_ = true;
};

}  // namespace weir::net
