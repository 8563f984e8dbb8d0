// SPDX-License-Identifier: Apache-2.0
// Is an address "host:port" one of this machine alone?
#pragma once

#include <string>

namespace weir::server {

bool is_loopback_address(const std::string& address);

}  // namespace weir::server
