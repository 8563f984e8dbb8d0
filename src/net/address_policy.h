// SPDX-License-Identifier: Apache-2.0
// Where an outbound call may go: what a URL's host may look like, and which addresses are public.
//
// The order of the checks: the URL is refused if people and parsers could read its host in two
// ways; a name is resolved once; every address it has must pass; only those addresses are connected
// to, and the socket's own address is checked again just before connecting. Whatever fails or is
// unknown is refused.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/http_client.h"

namespace weir::net {

struct UrlTarget {
  std::string host;  // lower case, without brackets
  std::uint16_t port = 0;
  bool is_address = false;           // a literal IPv4 or IPv6 address in its canonical form
  bool is_loopback_literal = false;  // 127.x.y.z, [::1] or localhost
};

// Takes the authority of an http or https URL apart.
// Errors: invalid_argument: other schemes, credentials, characters outside RFC 3986, percent-coding
// in the host, numeric hosts other than four decimal numbers (octal, hexadecimal, one number),
// zones, a bad port.
Result<UrlTarget> parse_target(std::string_view url);

// May a call under `policy` for `target` connect to this numeric address?
bool may_connect(AddressPolicy policy, const UrlTarget& target, const std::string& address);
bool may_connect(AddressPolicy policy, const UrlTarget& target, const sockaddr& address);

// All of `addresses` must pass; an empty list does not. Errors: permission_denied.
Result<void> check_addresses(AddressPolicy policy, const UrlTarget& target,
                             const std::vector<std::string>& addresses);

}  // namespace weir::net
