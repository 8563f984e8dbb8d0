// SPDX-License-Identifier: Apache-2.0
#include "doors/http/guard.h"

#include <cstdlib>
#include <exception>
#include <new>

#include "base/log.h"

namespace weir::doors::http {

void run_guarded(std::string_view operation, const std::function<void()>& step,
                 const std::function<void()>& failed) {
  try {
    step();
    return;
  } catch (const std::bad_alloc&) {
    log::error("out of memory", {log::field("operation", operation)});
    log::flush();
    std::abort();
  } catch (const std::exception& fault) {
    log::error(
        "a request failed inside the server",
        {log::field("operation", operation), log::field("fault", std::string_view(fault.what()))});
  }
  failed();
}

}  // namespace weir::doors::http
