// SPDX-License-Identifier: Apache-2.0
// Memory for direct I/O.
#include "store/journal/aligned_buffer.h"

#include "base/assert.h"

namespace weir::store::journal {

void AlignedBuffer::reserve(std::size_t size) {
  if (size <= capacity_) return;
  constexpr std::size_t kAlignment = 4096;
  const std::size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  memory_.reset();
  memory_.reset(static_cast<char*>(std::aligned_alloc(kAlignment, rounded)));
  WEIR_ASSERT(memory_ != nullptr, rounded);
  capacity_ = rounded;
}

}  // namespace weir::store::journal
