// SPDX-License-Identifier: Apache-2.0
// One line a fact on stderr, as text or JSON. spdlog stays behind log.cc. Thread-safe.
// Never log payloads, tokens, keys or header values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace weir::log {

enum class Level : std::uint8_t { debug, info, warning, error };
enum class Format : std::uint8_t { text, json };

// One named value of a line.
struct Field {
  std::string_view name;
  std::string value;
};
Field field(std::string_view name, std::string_view value);
Field field(std::string_view name, std::int64_t value);
Field field(std::string_view name, std::uint64_t value);

// Chooses form and least level for the whole process; text and info until called.
void configure(Format format, Level least);

// Writes a line: time, level, message, fields. Lines below the least level cost one comparison.
void write(Level level, std::string_view message, std::initializer_list<Field> fields = {});
inline void debug(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::debug, m, f);
}
inline void info(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::info, m, f);
}
inline void warning(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::warning, m, f);
}
inline void error(std::string_view m, std::initializer_list<Field> f = {}) {
  write(Level::error, m, f);
}

void flush();

}  // namespace weir::log
