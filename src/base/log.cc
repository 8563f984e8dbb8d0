// SPDX-License-Identifier: Apache-2.0
// Log lines through spdlog's stderr sink; the line itself is made here, so that text and JSON say
// the same.
#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/text.h"
#include "base/time.h"

namespace weir::log {
namespace {

// Process-wide by nature: there is one stderr.
std::atomic<Format> format_now{Format::text};  // NOLINT(*-avoid-non-const-global-variables)
std::atomic<Level> least_now{Level::info};     // NOLINT(*-avoid-non-const-global-variables)

spdlog::logger& sink() {
  static const auto logger = [] {
    auto made =
        std::make_shared<spdlog::logger>("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::trace);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

std::string_view word(Level level) {
  switch (level) {
    case Level::debug:
      return "debug";
    case Level::info:
      return "info";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "info";
}

std::string json_line(Level level, std::string_view at, std::string_view message,
                      std::initializer_list<Field> fields) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","message":)", at, word(level));
  append_json_string(line, message);
  for (const Field& f : fields) {
    line += ',';
    append_json_string(line, f.name);
    line += ':';
    append_json_string(line, f.value);
  }
  return line + '}';
}

// A value with blanks, quotes or control characters is written as a JSON string: a line stays one
// line.
void append_text_value(std::string& line, std::string_view value) {
  const bool plain =
      !value.empty() && value.find_first_of(" \"=\\") == std::string_view::npos &&
      value.find_first_of(std::string_view("\0\t\n\r\x1b", 5)) == std::string_view::npos;
  if (plain) {
    line += value;
  } else {
    append_json_string(line, value);
  }
}

std::string text_line(Level level, std::string_view at, std::string_view message,
                      std::initializer_list<Field> fields) {
  std::string line = fmt::format("{} {:<7} {}", at, word(level), message);
  for (const Field& f : fields) {
    line += fmt::format("  {}=", f.name);
    append_text_value(line, f.value);
  }
  return line;
}

}  // namespace

Field field(std::string_view name, std::string_view value) { return {name, std::string(value)}; }
Field field(std::string_view name, std::int64_t value) { return {name, fmt::format("{}", value)}; }
Field field(std::string_view name, std::uint64_t value) { return {name, fmt::format("{}", value)}; }

void configure(Format format, Level least) {
  format_now = format;
  least_now = least;
}

void write(Level level, std::string_view message, std::initializer_list<Field> fields) {
  if (level < least_now.load(std::memory_order_relaxed)) return;
  const std::string at = format_rfc3339(SystemClock{}.wall_now());
  const std::string line = format_now.load() == Format::json
                               ? json_line(level, at, message, fields)
                               : text_line(level, at, message, fields);
  sink().log(spdlog::level::info, spdlog::string_view_t(line.data(), line.size()));
}

void flush() { sink().flush(); }

}  // namespace weir::log
