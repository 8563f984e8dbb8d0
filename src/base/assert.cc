// SPDX-License-Identifier: Apache-2.0
// The end of a process that found one of its own invariants broken.
#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

#include "base/log.h"

namespace weir {

void assertion_failed(const char* file, int line, const char* condition,
                      const std::string& values) {
  log::flush();
  std::fprintf(stderr, "%s:%d: broken invariant: %s%s%s\n", file, line, condition,
               values.empty() ? "" : " with", values.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace weir
