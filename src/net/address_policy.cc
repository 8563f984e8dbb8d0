// SPDX-License-Identifier: Apache-2.0
#include "net/address_policy.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace weir::net {
namespace {

struct Range4 {
  std::uint32_t base;
  int bits;
};

constexpr std::uint32_t ip4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

// IANA's special-purpose registry, without what is globally reachable.
constexpr std::array<Range4, 16> kClosed4{{
    {ip4(0, 0, 0, 0), 8},         // this network
    {ip4(10, 0, 0, 0), 8},        // private
    {ip4(100, 64, 0, 0), 10},     // carrier-grade NAT
    {ip4(127, 0, 0, 0), 8},       // loopback
    {ip4(169, 254, 0, 0), 16},    // link-local, cloud metadata
    {ip4(172, 16, 0, 0), 12},     // private
    {ip4(192, 0, 0, 0), 24},      // protocol assignments
    {ip4(192, 0, 2, 0), 24},      // documentation
    {ip4(192, 88, 99, 0), 24},    // 6to4 relay
    {ip4(192, 168, 0, 0), 16},    // private
    {ip4(198, 18, 0, 0), 15},     // benchmarks
    {ip4(198, 51, 100, 0), 24},   // documentation
    {ip4(203, 0, 113, 0), 24},    // documentation
    {ip4(168, 63, 129, 16), 32},  // a cloud's metadata service on a public-looking address
    {ip4(224, 0, 0, 0), 4},       // multicast
    {ip4(240, 0, 0, 0), 4},       // reserved, broadcast
}};

struct Range6 {
  std::array<std::uint8_t, 4> base;
  int bits;
};

// Only 2000::/3 is given out at all: that alone shuts loopback, unspecified, mapped, compatible,
// NAT64, unique local, link-local, site-local and multicast. These lie inside it.
constexpr std::array<Range6, 4> kClosed6{{
    {{0x20, 0x01, 0x00, 0x00}, 23},  // protocol assignments, Teredo, ORCHID, benchmarks
    {{0x20, 0x01, 0x0d, 0xb8}, 32},  // documentation
    {{0x20, 0x02, 0x00, 0x00}, 16},  // 6to4
    {{0x3f, 0xff, 0x00, 0x00}, 20},  // documentation
}};

bool is_public4(std::uint32_t ip) {
  return std::none_of(kClosed4.begin(), kClosed4.end(), [ip](const Range4& range) {
    return (ip ^ range.base) >> (32 - range.bits) == 0;
  });
}

bool is_public6(const std::uint8_t* bytes) {
  if (bytes[0] >> 5 != 1) return false;
  std::uint32_t head = 0;
  for (int i = 0; i < 4; ++i) head = head << 8 | bytes[i];
  return std::none_of(kClosed6.begin(), kClosed6.end(), [head](const Range6& range) {
    std::uint32_t base = 0;
    for (const std::uint8_t byte : range.base) base = base << 8 | byte;
    return (head ^ base) >> (32 - range.bits) == 0;
  });
}

bool is_loopback(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool is_host_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
}

// The last label decides, as in the URL standard: digits only, or 0x and anything, means an IPv4
// address.
bool looks_numeric(std::string_view host) {
  while (host.ends_with('.')) host.remove_suffix(1);
  const std::size_t dot = host.rfind('.');
  const std::string_view last = dot == std::string_view::npos ? host : host.substr(dot + 1);
  if (last.starts_with("0x")) return true;
  return !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
}

Failure bad(const std::string& detail) {
  return failure(ErrorCode::invalid_argument, "URL: " + detail);
}

Result<void> parse_port(std::string_view text, UrlTarget& target) {
  if (text.empty()) return {};
  if (text.front() != ':') return bad("something follows the host that is no port");
  text.remove_prefix(1);
  const bool is_number = !text.empty() && text.size() <= 5 &&
                         text.find_first_not_of("0123456789") == std::string_view::npos;
  int port = 0;
  for (const char c : is_number ? text : std::string_view()) port = port * 10 + (c - '0');
  if (port < 1 || port > 65535) return bad("the port is not a number from 1 to 65535");
  target.port = static_cast<std::uint16_t>(port);
  return {};
}

Result<void> parse_bracketed(std::string_view authority, UrlTarget& target) {
  const std::size_t end = authority.find(']');
  if (end == std::string_view::npos) return bad("the bracket of the address is not closed");
  target.host = to_lower(authority.substr(1, end - 1));
  in6_addr address{};
  // Zones (%25eth0) fail here too.
  if (::inet_pton(AF_INET6, target.host.c_str(), &address) != 1)
    return bad("not an IPv6 address in the brackets");
  target.is_address = true;
  target.is_loopback_literal = IN6_IS_ADDR_LOOPBACK(&address);
  return parse_port(authority.substr(end + 1), target);
}

Result<void> parse_host(std::string_view authority, UrlTarget& target) {
  const std::size_t colon = authority.find(':');
  target.host = to_lower(authority.substr(0, colon));
  if (target.host.empty() || target.host.size() > 253)
    return bad("the host is missing or too long");
  if (!std::all_of(target.host.begin(), target.host.end(), is_host_character)) {
    return bad(
        "the host has characters outside letters, digits, '-', '.' and '_' (write international "
        "names in punycode)");
  }
  if (target.host.front() == '.' || target.host.find("..") != std::string::npos)
    return bad("the host has an empty label");
  if (looks_numeric(target.host)) {
    in_addr address{};
    // Strict: four decimal numbers without leading zeros.
    if (::inet_pton(AF_INET, target.host.c_str(), &address) != 1) {
      return bad("a numeric host must be four decimal numbers");
    }
    target.is_address = true;
    target.is_loopback_literal = ntohl(address.s_addr) >> 24 == 127;
  } else {
    target.is_loopback_literal = target.host == "localhost";
  }
  return colon == std::string_view::npos ? Result<void>{}
                                         : parse_port(authority.substr(colon), target);
}

std::string to_text(const sockaddr& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address.sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

}  // namespace

bool is_public_address(const std::string& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.c_str(), &v4) == 1) return is_public4(ntohl(v4.s_addr));
  in6_addr v6{};
  return ::inet_pton(AF_INET6, address.c_str(), &v6) == 1 && is_public6(v6.s6_addr);
}

Result<UrlTarget> parse_target(std::string_view url) {
  UrlTarget target;
  const std::string scheme = to_lower(url.substr(0, url.find(':')));
  if (scheme != "http" && scheme != "https") return bad("only http and https are spoken");
  target.port = scheme == "https" ? 443 : 80;
  if (url.substr(scheme.size(), 3) != "://") return bad("'//' must follow the scheme");
  for (const char c : url) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '\\')
      return bad("spaces, control and non-ASCII characters must be percent-coded");
  }
  const std::string_view rest = url.substr(scheme.size() + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos)
    return bad("user and password do not belong in a URL");
  WEIR_TRY(authority.starts_with('[') ? parse_bracketed(authority, target)
                                      : parse_host(authority, target));
  return target;
}

bool may_connect(AddressPolicy policy, const UrlTarget& target, const std::string& address) {
  switch (policy) {
    case AddressPolicy::any:
      return true;
    case AddressPolicy::public_only:
      return is_public_address(address);
    case AddressPolicy::literal_loopback:
      return target.is_loopback_literal ? is_loopback(address) : is_public_address(address);
  }
  return false;
}

bool may_connect(AddressPolicy policy, const UrlTarget& target, const sockaddr& address) {
  return may_connect(policy, target, to_text(address));
}

Result<void> check_addresses(AddressPolicy policy, const UrlTarget& target,
                             const std::vector<std::string>& addresses) {
  if (addresses.empty()) return failure(ErrorCode::permission_denied, "the host has no address");
  for (const std::string& address : addresses) {
    if (!may_connect(policy, target, address)) {
      return failure(
          ErrorCode::permission_denied,
          "the address " + address + " of the host is not public and therefore not allowed");
    }
  }
  return {};
}

}  // namespace weir::net
