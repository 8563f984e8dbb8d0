// SPDX-License-Identifier: Apache-2.0
// Response values to bytes.
#pragma once

#include <string>
#include <string_view>

#include "base/http_message.h"

namespace weir::net {

std::string_view http_reason(int status);

// How the head of an answer is framed.
struct HttpFraming {
  bool has_no_body = false;  // answer to HEAD: the length is told, the body stays away
  bool is_http_10 = false;
  bool close = false;
  bool is_stream = false;  // chunked, or up to the close for HTTP/1.0
};

// Appends the whole answer, or only its head for a stream. Control characters in header values
// become spaces: a value that came from a client must not become a header.
void append_http_answer(std::string& out, const HttpResponse& response, const HttpFraming& framing,
                        std::string_view date);

void append_http_chunk(std::string& out, std::string_view bytes);

// A refusal that the server itself makes, in the form of all our errors (problem+json).
HttpResponse http_refusal(int status, std::string_view detail);

}  // namespace weir::net
