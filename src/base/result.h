// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value or an Error. weir throws nothing; WEIR_TRY passes errors up as plain
// statements.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace weir {

template <typename T>
using Result = tl::expected<T, Error>;

using Failure = tl::unexpected<Error>;

// failure(code, detail): the error side of any Result<T>.
inline Failure failure(ErrorCode code, std::string detail) {
  return Failure(Error{.code = code, .detail = std::move(detail)});
}
inline Failure failure(Error error) { return Failure(std::move(error)); }

}  // namespace weir

#define WEIR_CONCAT_INNER(a, b) a##b
#define WEIR_CONCAT(a, b) WEIR_CONCAT_INNER(a, b)

// WEIR_TRY(expr): returns the error of a Result<...> expression from the enclosing function.
#define WEIR_TRY(expr)                                            \
  do {                                                            \
    auto&& weir_try_result = (expr);                              \
    if (!weir_try_result) {                                       \
      return ::weir::Failure(std::move(weir_try_result).error()); \
    }                                                             \
  } while (false)

// WEIR_TRY_ASSIGN(auto x, expr): declares or assigns x from a Result, or returns its error.
#define WEIR_TRY_ASSIGN(target, expr)                                            \
  auto WEIR_CONCAT(weir_try_, __LINE__) = (expr);                                \
  if (!WEIR_CONCAT(weir_try_, __LINE__)) {                                       \
    return ::weir::Failure(std::move(WEIR_CONCAT(weir_try_, __LINE__)).error()); \
  }                                                                              \
  target = std::move(*WEIR_CONCAT(weir_try_, __LINE__))
