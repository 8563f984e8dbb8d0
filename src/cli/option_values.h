// SPDX-License-Identifier: Apache-2.0
// Values of options as numbers and durations; what is wrong names the option.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir::cli {

// Empty text: not given, nothing. Errors: invalid_argument.
Result<std::optional<std::int64_t>> duration_option(std::string_view option,
                                                    const std::string& text);
Result<std::optional<std::uint64_t>> count_option(std::string_view option, const std::string& text,
                                                  std::uint64_t min, std::uint64_t max);
Result<std::optional<std::int64_t>> integer_option(std::string_view option,
                                                   const std::string& text);

}  // namespace weir::cli
