// SPDX-License-Identifier: Apache-2.0
// Turns a refusal on the wire into an Error: by the code of application/problem+json, or by the
// HTTP status when something between us and the server answered.
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/http_message.h"

namespace weir::client {

// Requires: the status is not 2xx.
Error error_from_response(const HttpResponse& response);

// The error that a problem object says, e.g. one item of a batch answer. `status` decides when it
// has no known code.
Error error_from_problem(std::string_view json, int status);

// The value of a header of a response (lower-case name), or empty.
std::string_view response_header(const HttpResponse& response, std::string_view name);

}  // namespace weir::client
