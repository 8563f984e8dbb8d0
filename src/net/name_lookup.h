// SPDX-License-Identifier: Apache-2.0
// One name lookup with a time limit: getaddrinfo knows none, so it runs on a thread that is left
// behind when it is late.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "net/http_client.h"

namespace weir::net {

Result<std::vector<std::string>> resolve_by_system(const std::string& host);

// Errors: unavailable (late, cancelled, lookup failed).
Result<std::vector<std::string>> look_up(const Resolver& resolver, const std::string& host,
                                         std::int64_t wait_ms, const std::atomic<bool>* cancel,
                                         bool* timed_out);

}  // namespace weir::net
