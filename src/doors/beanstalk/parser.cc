// SPDX-License-Identifier: Apache-2.0
// Numbers are read as beanstalkd reads them: blanks in front, digits, nothing that does not fit.
// A command that takes more arguments than it has, or has something behind its last one, is badly
// formed.
#include "doors/beanstalk/parser.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace weir::doors::beanstalk {
namespace {

constexpr std::array<bool, 256> make_tube_bytes() {
  std::array<bool, 256> bytes{};
  constexpr std::string_view allowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+/;.$_()";
  for (const char c : allowed) bytes[static_cast<unsigned char>(c)] = true;
  return bytes;
}
constexpr std::array<bool, 256> kTubeBytes = make_tube_bytes();

// Reads the arguments of one line from the left.
class Arguments {
 public:
  explicit Arguments(std::string_view rest) : rest_(rest) {}

  bool number(std::uint64_t max, std::uint64_t& out) {
    skip_blanks();
    if (rest_.empty() || !is_digit(rest_.front())) return false;
    std::uint64_t value = 0;
    while (!rest_.empty() && is_digit(rest_.front())) {
      const auto digit = static_cast<std::uint64_t>(rest_.front() - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return false;
      value = value * 10 + digit;
      rest_.remove_prefix(1);
    }
    out = value;
    return value <= max;
  }
  bool number32(std::uint32_t& out) {
    std::uint64_t value = 0;
    if (!number(std::numeric_limits<std::uint32_t>::max(), value)) return false;
    out = static_cast<std::uint32_t>(value);
    return true;
  }
  // A number with anything behind it; a negative one is the largest. `must_be`: there is one.
  bool loose_number(std::uint64_t& out, bool must_be) {
    skip_blanks();
    const bool is_negative = rest_.starts_with('-');
    if (is_negative || rest_.starts_with('+')) rest_.remove_prefix(1);
    out = 0;
    if (rest_.empty() || !is_digit(rest_.front())) return !must_be;
    if (!number(std::numeric_limits<std::uint64_t>::max(), out)) return false;
    if (is_negative && out != 0) out = std::numeric_limits<std::uint64_t>::max();
    return true;
  }
  // A word up to the next blank.
  bool word(std::string_view& out) {
    skip_blanks();
    const std::size_t size = std::min(rest_.find(' '), rest_.size());
    out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return size > 0;
  }
  std::string_view rest() const { return rest_; }
  bool is_at_end() const { return rest_.empty(); }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  void skip_blanks() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

bool read_arguments(Form form, Arguments in, Command& out) {
  constexpr std::uint64_t kIdMax = std::numeric_limits<std::uint64_t>::max();
  switch (form) {
    case Form::none:
      break;
    case Form::put:
      if (!in.number32(out.priority) || !in.number32(out.delay_s) || !in.number32(out.ttr_s) ||
          !in.number32(out.body_bytes)) {
        return false;
      }
      out.has_more = !in.is_at_end();  // the size counts before what is wrong behind it
      return true;
    case Form::id:
      if (!in.number(kIdMax, out.id)) return false;
      break;
    case Form::release:
      if (!in.number(kIdMax, out.id) || !in.number32(out.priority) || !in.number32(out.delay_s))
        return false;
      break;
    case Form::bury:
      if (!in.number(kIdMax, out.id) || !in.number32(out.priority)) return false;
      break;
    case Form::tube:
      out.tube = in.rest();
      return is_tube_name(out.tube);
    case Form::pause:
      if (!in.word(out.tube) || !is_tube_name(out.tube) || !in.number32(out.delay_s)) return false;
      break;
    case Form::seconds:
      // beanstalkd reads these two loosely, and clients got used to it.
      return in.loose_number(out.number, false);
    case Form::bound:
      return in.loose_number(out.number, true);
  }
  return in.is_at_end();
}

}  // namespace

LineEnd find_line_end(std::string_view bytes) {
  const std::string_view window = bytes.substr(0, kLineBytesMax);
  const void* found = std::memchr(window.data(), '\r', window.size());
  if (found != nullptr) {
    const auto at = static_cast<std::size_t>(static_cast<const char*>(found) - window.data());
    if (at + 1 < window.size() && window[at + 1] == '\n') return {.bytes = at + 2};
    // A CR alone ends nothing; what follows it is looked at as it is.
    const std::size_t end = window.find("\r\n", at + 1);
    if (end != std::string_view::npos) return {.bytes = end + 2};
  }
  return {.is_too_long = window.size() == kLineBytesMax};
}

bool is_tube_name(std::string_view name) {
  if (name.empty() || name.size() > kTubeNameBytesMax || name.front() == '-') return false;
  for (const char c : name) {
    if (!kTubeBytes[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

Command parse_command(std::string_view line) {
  Command command;
  if (line.empty()) return command;
  command.verb = find_verb(line);
  if (command.verb == Verb::unknown) return command;
  const VerbInfo& verb = info(command.verb);
  command.is_well_formed =
      read_arguments(verb.form, Arguments(line.substr(verb.name.size())), command);
  return command;
}

}  // namespace weir::doors::beanstalk
