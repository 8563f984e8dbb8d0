// SPDX-License-Identifier: Apache-2.0
// About what a ChangeSet weighs in a commit: never much less than any store writes for it.
#pragma once

#include <cstddef>

#include "core/change.h"

namespace weir::engine {

std::size_t change_bytes(const core::ChangeSet& change);

}  // namespace weir::engine
