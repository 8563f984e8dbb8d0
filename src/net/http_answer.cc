// SPDX-License-Identifier: Apache-2.0
#include "net/http_answer.h"

#include <fmt/format.h>

#include <iterator>

#include "base/error.h"
#include "base/text.h"

namespace weir::net {
namespace {

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name);
  out.append(": ");
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out.push_back((byte < 0x20 && c != '\t') || byte == 0x7F ? ' ' : c);
  }
  out.append("\r\n");
}

ErrorCode code_of(int status) {
  if (status == 413 || status == 431) return ErrorCode::too_large;
  return status == 408 || status == 503 ? ErrorCode::unavailable : ErrorCode::invalid_argument;
}

}  // namespace

std::string_view http_reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return status < 400 ? "OK" : "Error";
  }
}

void append_http_answer(std::string& out, const HttpResponse& response, const HttpFraming& framing,
                        std::string_view date) {
  const bool may_have_body =
      response.status >= 200 && response.status != 204 && response.status != 304;
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nDate: {}\r\n", response.status,
                 http_reason(response.status), date);
  for (const auto& [name, value] : response.headers) append_header(out, name, value);
  if (may_have_body) {
    const bool has_content = framing.is_stream || !response.body.empty();
    if (has_content && !response.content_type.empty())
      append_header(out, "Content-Type", response.content_type);
    if (!framing.is_stream) {
      fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", response.body.size());
    } else if (!framing.is_http_10) {
      out.append("Transfer-Encoding: chunked\r\n");
    }
  }
  if (framing.close) {
    out.append("Connection: close\r\n");
  } else if (framing.is_http_10) {
    out.append("Connection: keep-alive\r\n");
  }
  out.append("\r\n");
  if (may_have_body && !framing.is_stream && !framing.has_no_body) out.append(response.body);
}

void append_http_chunk(std::string& out, std::string_view bytes) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out.append(bytes);
  out.append("\r\n");
}

HttpResponse http_refusal(int status, std::string_view detail) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/problem+json";
  const std::string_view code = to_string(code_of(status));
  response.body = fmt::format(
      R"({{"type":"urn:weir:error:{}","title":{},"status":{},"code":"{}","detail":{}}})", code,
      json_string(http_reason(status)), status, code, json_string(detail));
  response.close = true;
  return response;
}

}  // namespace weir::net
