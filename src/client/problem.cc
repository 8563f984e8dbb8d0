// SPDX-License-Identifier: Apache-2.0
// See problem.h.
#include "client/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string>

#include "base/text.h"
#include "base/time.h"

namespace weir::client {
namespace {

namespace json = boost::json;

constexpr std::int64_t kRetryAfterSecondsMax = 24 * 3600;
constexpr std::size_t kForeignDetailBytesMax = 200;

std::optional<ErrorCode> code_from_text(std::string_view text) {
  for (int i = 0; i < kErrorCodeCount; ++i) {
    const auto code = static_cast<ErrorCode>(i);
    if (to_string(code) == text) return code;
  }
  return std::nullopt;
}

ErrorCode code_from_status(int status) {
  switch (status) {
    case 401:
      return ErrorCode::unauthenticated;
    case 403:
      return ErrorCode::permission_denied;
    case 404:
      return ErrorCode::not_found;
    case 409:
      return ErrorCode::conflict;
    case 410:
      return ErrorCode::gone;
    case 413:
      return ErrorCode::too_large;
    case 415:
      return ErrorCode::unsupported_media_type;
    case 422:
      return ErrorCode::idempotency_mismatch;
    case 429:
      return ErrorCode::rate_limited;
    case 502:
    case 503:
    case 504:
      return ErrorCode::unavailable;
    case 507:
      return ErrorCode::store_full;
    default:
      return status >= 400 && status < 500 ? ErrorCode::invalid_argument : ErrorCode::internal;
  }
}

std::int64_t number_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return -1;
  json::error_code error;
  const auto number = value->to_number<std::int64_t>(error);
  return error ? -1 : number;
}

std::string text_of(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

}  // namespace

std::string_view response_header(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers) {
    if (equals_ignore_case(key, name)) return value;
  }
  return {};
}

Error error_from_problem(std::string_view text, int status) {
  Error error{.code = code_from_status(status)};
  json::error_code parse_error;
  const json::value value = json::parse({text.data(), text.size()}, parse_error);
  if (parse_error || !value.is_object()) {
    const std::string_view start = cut_utf8(trim(text), kForeignDetailBytesMax);
    error.detail =
        fmt::format("the server answered {}{}{}", status, start.empty() ? "" : ": ", start);
    return error;
  }
  const json::object& object = value.get_object();
  if (const auto code = code_from_text(text_of(object, "code"))) error.code = *code;
  error.detail = text_of(object, "detail");
  if (error.detail.empty()) error.detail = text_of(object, "title");
  if (error.detail.empty()) error.detail = std::string(error_info(error.code).title);
  error.depth = number_of(object, "depth");
  error.max_depth = number_of(object, "max_depth");
  error.retry_after_ms = std::clamp<std::int64_t>(number_of(object, "retry_after_ms"), 0,
                                                  kRetryAfterSecondsMax * kMsPerSecond);
  return error;
}

Error error_from_response(const HttpResponse& response) {
  Error error = error_from_problem(response.body, response.status);
  if (error.retry_after_ms > 0) return error;  // finer than the header's seconds
  const std::string_view retry_after = response_header(response, "retry-after");
  if (const auto seconds = parse_u64("Retry-After", trim(retry_after))) {
    error.retry_after_ms =
        std::min(
            static_cast<std::int64_t>(std::min<std::uint64_t>(*seconds, kRetryAfterSecondsMax)),
            kRetryAfterSecondsMax) *
        kMsPerSecond;
  }
  return error;
}

}  // namespace weir::client
