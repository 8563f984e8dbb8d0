// SPDX-License-Identifier: Apache-2.0
// The table behind ErrorCode. One row per enumerator, in its order.
#include "base/error.h"

#include <array>

#include "base/assert.h"

namespace weir {
namespace {

using enum ErrorCode;
using enum RetryAdvice;

constexpr std::array<ErrorInfo, kErrorCodeCount> kTable = {{
    {unauthenticated, "unauthenticated", "A valid token is needed.", 401, never, 77},
    {permission_denied, "permission_denied", "The token does not allow this.", 403, never, 77},
    {invalid_argument, "invalid_argument", "The request is not valid.", 400, never, 65},
    {too_large, "too_large", "The request is too large.", 413, never, 65},
    {unsupported_media_type, "unsupported_media_type", "This content type is not understood here.",
     415, never, 65},
    {not_found, "not_found", "There is no such thing.", 404, never, 1},
    {gone, "gone", "The job has ended and was removed by retention.", 410, never, 1},
    {lease_lost, "lease_lost", "The lease shown is not the job's current lease.", 409, never, 1},
    {idempotency_mismatch, "idempotency_mismatch",
     "This Idempotency-Key was used with another body.", 422, never, 65},
    {conflict, "conflict", "The request conflicts with the present state.", 409, never, 1},
    {queue_saturated, "queue_saturated", "The queue holds as many waiting jobs as it may.", 429,
     later, 75},
    {rate_limited, "rate_limited", "Too many requests.", 429, later, 75},
    {store_full, "store_full", "The store has no room for new jobs.", 507, later, 75},
    {unavailable, "unavailable", "The server can't take this now.", 503, later, 69},
    {corruption, "corruption", "Stored data is damaged.", 500, never, 74},
    {io_error, "io_error", "Reading or writing the store failed.", 500, never, 74},
    {unsupported, "unsupported", "This is not supported here.", 501, never, 1},
    {internal, "internal", "Something went wrong inside the server.", 500, never, 1},
}};

}  // namespace

const ErrorInfo& error_info(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  WEIR_ASSERT(index < kTable.size(), index);
  WEIR_ASSERT(kTable[index].code == code, index);
  return kTable[index];
}

}  // namespace weir
