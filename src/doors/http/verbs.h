// SPDX-License-Identifier: Apache-2.0
// The one table of routes: method, path, who may, what is read, and the handler. /openapi.json is
// printed from it. Checklist for a new route: a row in verbs.cc, its handler in handlers.h and in
// the file of its group, a transcript in tests/wire/http; the scope matrix test and /openapi.json
// follow the table.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "doors/auth.h"

namespace weir::doors::http {

class Call;
using CallPtr = std::shared_ptr<Call>;
using Handler = void (*)(const CallPtr& call);

enum class Access : std::uint8_t {
  open,   // probes and the description of the API: no token, any origin's address
  token,  // a token with one of the route's scopes
};

// What an Idempotency-Key does.
enum class Repeat : std::uint8_t {
  read,     // changes nothing: the key is ignored
  stored,   // remembered with the effect, answered again
  natural,  // a repeat finds nothing left to do; the key is checked for shape only
  refused,  // a claim can't be repeated: its jobs are leased
};

struct Route {
  std::string_view method;
  std::string_view path;  // segments in braces match one decoded segment: {queue}, {id}, {token}
  Access access = Access::token;
  ScopeMask scopes = 0;
  Repeat repeat = Repeat::read;
  std::size_t body_bytes_max = 0;
  Handler handler = nullptr;
  std::string_view operation;  // operationId
  std::string_view summary;
  std::string_view query;     // allowed parameters, separated by commas
  std::string_view request;   // schema of the body, empty: none
  std::string_view response;  // schema of the answer, empty: not JSON
  int status = 200;
};

std::span<const Route> routes();

// A path taken apart and matched.
struct Match {
  const Route* route = nullptr;
  std::string parameter;  // the decoded braces segment; a route has at most one
  std::vector<std::string_view>
      methods;  // of that path, when only the method does not fit (route is then null)
  bool is_bad_escape = false;
};
Match match_route(std::string_view method, std::string_view path);

}  // namespace weir::doors::http
