// SPDX-License-Identifier: Apache-2.0
// Tells systemd how the server is (sd_notify protocol: a datagram to $NOTIFY_SOCKET). Does nothing
// without the variable.
#pragma once

#include <string>
#include <string_view>

namespace weir::server {

// `socket_path`: value of NOTIFY_SOCKET, may be empty or start with '@' (abstract). `state`: e.g.
// "READY=1". Returns whether the datagram was sent.
bool sd_notify(const std::string& socket_path, std::string_view state);

}  // namespace weir::server
