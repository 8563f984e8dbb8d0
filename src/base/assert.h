// SPDX-License-Identifier: Apache-2.0
// WEIR_ASSERT(condition, values...): a broken invariant of our own code prints where, what and the
// values, flushes the log and aborts. Always on. Never used on what a client, a disk or a peer can
// cause: that is an Error.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace weir {

[[noreturn]] void assertion_failed(const char* file, int line, const char* condition,
                                   const std::string& values);

namespace detail {
inline std::string assert_values() { return {}; }
template <typename... T>
std::string assert_values(const T&... values) {
  std::string text;
  ((text += fmt::format(" {}", values)), ...);
  return text;
}
}  // namespace detail
}  // namespace weir

#define WEIR_ASSERT(condition, ...)                                         \
  do {                                                                      \
    if (!(condition)) [[unlikely]] {                                        \
      ::weir::assertion_failed(__FILE__, __LINE__, #condition,              \
                               ::weir::detail::assert_values(__VA_ARGS__)); \
    }                                                                       \
  } while (false)
