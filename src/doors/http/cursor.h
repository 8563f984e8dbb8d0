// SPDX-License-Identifier: Apache-2.0
// Cursors of lists: opaque texts that say after which job a page begins and for which filter. A
// cursor stays good whatever is enqueued or removed meanwhile; one of another filter is refused
// instead of skipping jobs silently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace weir::doors::http {

std::string write_cursor(std::uint64_t after_id, std::string_view filter);
// Errors: invalid_argument (no cursor, or of another filter).
Result<std::uint64_t> read_cursor(std::string_view cursor, std::string_view filter);

}  // namespace weir::doors::http
