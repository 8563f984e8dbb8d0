// SPDX-License-Identifier: Apache-2.0
// What a ChangeSet weighs in a commit: at least what its records take by the codecs of this folder.
// The engine bounds its commits by it, the journal what goes into one body.
#pragma once

#include <cstddef>

#include "core/change.h"

namespace weir::store {

std::size_t change_bytes(const core::ChangeSet& change);

}  // namespace weir::store
