// SPDX-License-Identifier: Apache-2.0
// Retry policies in requests: a name, or {delays} or {base, factor, cap, jitter, max_attempts}.
#pragma once

#include <span>

#include "core/job/retry.h"
#include "doors/http/json.h"
#include "doors/http/parser.h"

namespace weir::doors::http {

// A policy as read; a name is resolved when the configured ones are at hand.
struct RetryDraft {
  core::RetryPolicy policy;
  bool is_name = false;
};

Result<RetryDraft> retry_value(JsonCursor& in);

// Resolves the name and checks the policy. Errors: invalid_argument that says what would be right.
Result<core::RetryPolicy> resolve_retry(const RetryDraft& draft, const RetryPolicies& policies);

inline constexpr std::string_view kRetrySchema = R"({"$ref":"#/components/schemas/RetryPolicy"})";
void write_retry_schema(JsonWriter& out);

}  // namespace weir::doors::http
