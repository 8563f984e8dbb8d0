// SPDX-License-Identifier: Apache-2.0
// The guard around a request: one of the places where an exception may end (the others are main and
// the worker's handlers).
#pragma once

#include <functional>
#include <string_view>

namespace weir::doors::http {

// Runs `step`. What the standard library or a third party throws is logged under `operation`, then
// `failed` runs. Out of memory ends the process: the log is whole, and nothing was answered that is
// not durable.
void run_guarded(std::string_view operation, const std::function<void()>& step,
                 const std::function<void()>& failed);

}  // namespace weir::doors::http
