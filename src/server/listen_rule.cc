// SPDX-License-Identifier: Apache-2.0
// The rule of the first day: loopback only, unless there are tokens and TLS (or plaintext was asked
// for by name).
#include <fmt/format.h>

#include "base/http_message.h"
#include "server/listen_rule.h"
#include "server/serve.h"

namespace weir::server {

bool is_loopback_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  return is_loopback_host(host);
}

std::string listening_problem(const config::ServerConfig& server, bool has_tokens) {
  if (is_loopback_address(server.listen)) return {};
  const bool is_closed = has_tokens || server.tokens == config::TokenMode::required;
  if (!is_closed) {
    return fmt::format(
        "server.listen = \"{}\" is reachable from other machines, and no token is set; make one "
        "first with "
        "`weir token create` on loopback, or set server.tokens = \"required\"",
        server.listen);
  }
  if (server.tls_cert.empty() && !server.insecure_plaintext) {
    return fmt::format(
        "server.listen = \"{}\" is reachable from other machines without TLS; set server.tls_cert "
        "and "
        "server.tls_key, or --insecure-plaintext if the network itself is trusted",
        server.listen);
  }
  return {};
}

std::string door_problem(std::string_view key, const std::string& address) {
  if (address.starts_with("unix:") || is_loopback_address(address)) return {};
  return fmt::format(
      "{} = \"{}\" is reachable from other machines, and its protocol knows neither tokens nor "
      "TLS: "
      "listen on loopback or on a unix socket",
      key, address);
}

}  // namespace weir::server
