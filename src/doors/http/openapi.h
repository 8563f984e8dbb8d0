// SPDX-License-Identifier: Apache-2.0
// /openapi.json: OpenAPI 3.1 from the route table and the parser's field tables, so that it can't
// say what isn't so.
#pragma once

#include <string>
#include <string_view>

namespace weir::doors::http {

std::string print_openapi(std::string_view version);

}  // namespace weir::doors::http
