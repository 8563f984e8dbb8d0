// SPDX-License-Identifier: Apache-2.0
// Lines of the beanstalkd protocol to commands. Pure: views into the line, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "doors/beanstalk/verbs.h"

namespace weir::doors::beanstalk {

inline constexpr std::size_t kLineBytesMax = 224;  // with its CRLF
inline constexpr std::size_t kTubeNameBytesMax = 200;

// Value; the views live as long as the line.
struct Command {
  Verb verb = Verb::unknown;
  bool is_well_formed = false;
  std::uint64_t id = 0;
  std::uint32_t priority = 0;
  std::uint32_t delay_s = 0;
  std::uint32_t ttr_s = 0;
  std::uint32_t body_bytes = 0;
  bool has_more = false;     // something stands behind the size of a put
  std::uint64_t number = 0;  // bound of a kick, seconds of a reserve-with-timeout
  std::string_view tube;
};

// Where a line ends.
struct LineEnd {
  std::size_t bytes = 0;     // of the line with its CRLF; 0: not there yet
  bool is_too_long = false;  // no line is that long
};
LineEnd find_line_end(std::string_view bytes);

// `line` comes without its CRLF.
Command parse_command(std::string_view line);

bool is_tube_name(std::string_view name);

}  // namespace weir::doors::beanstalk
