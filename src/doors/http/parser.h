// SPDX-License-Identifier: Apache-2.0
// Bytes to commands: JSON bodies, Weir-* headers and query strings become core commands. Strict: an
// unknown field, header or parameter is refused by name. Only shapes are judged here; what values
// are allowed is the core's rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/http_message.h"
#include "base/result.h"
#include "core/command.h"
#include "doors/auth.h"
#include "doors/http/json.h"
#include "doors/http/json_writer.h"
#include "engine/engine.h"

namespace weir::doors::http {

// Retry policies by name, those of the configuration; the presets are known besides.
using RetryPolicies = std::vector<core::RetryPolicy>;

// A query string, decoded. Value.
class Query {
 public:
  // `allowed`: names separated by commas. Errors: invalid_argument for a bad escape, an unknown or
  // a repeated name.
  static Result<Query> parse(std::string_view text, std::string_view allowed);

  // nullptr when the parameter is not there.
  const std::string* find(std::string_view name) const;
  // "1" or "true", "0" or "false"; absent: false.
  Result<bool> flag(std::string_view name) const;
  Result<std::uint64_t> number(std::string_view name, std::uint64_t fallback, std::uint64_t min,
                               std::uint64_t max) const;
  Result<std::int64_t> duration_ms(std::string_view name, std::int64_t fallback,
                                   std::int64_t max) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

// Is this a Content-Type of JSON (UTF-8)? Parameters other than charset are ignored.
bool is_json_type(std::string_view content_type);
// Errors: unsupported_media_type when a body is there that is not plain JSON.
Result<void> check_json_body(const HttpRequest& request);

Result<core::JobId> parse_job_id(std::string_view text);

// POST …/jobs: JSON, or any other Content-Type with options in Weir-* headers; and …/jobs/batch.
Result<core::Enqueue> parse_enqueue(const HttpRequest& request, std::string_view queue,
                                    const RetryPolicies& policies);
Result<core::Enqueue> parse_enqueue_batch(const HttpRequest& request, std::string_view queue,
                                          const RetryPolicies& policies);

Result<engine::Demand> parse_claim(std::string_view body);

// Verbs of a lease holder on one job; the id comes from the path.
Result<core::Ack> parse_ack(core::JobId id, std::string_view body);
Result<core::Fail> parse_fail(core::JobId id, std::string_view body);
Result<core::Extend> parse_extend(core::JobId id, std::string_view body);
Result<core::Release> parse_release(core::JobId id, std::string_view body);
Result<core::Snooze> parse_snooze(core::JobId id, std::string_view body);
Result<core::Progress> parse_progress(core::JobId id, std::string_view body);

// {items: [..]} of up to kBatchJobsMax; each item has its id. Which verb: that of the path.
enum class BatchVerb : std::uint8_t { ack, fail, extend };
Result<std::vector<core::Command>> parse_items(BatchVerb verb, std::string_view body);

// {reason?}
Result<std::string> parse_reason(std::string_view body);
// {}
Result<void> parse_nothing(std::string_view body);
// `if_match`: the header's value, may be empty.
Result<core::Edit> parse_edit(core::JobId id, std::string_view body, std::string_view if_match);

Result<core::QueuePatch> parse_queue_patch(std::string_view body, const RetryPolicies& policies);

Result<TokenWish> parse_token_wish(std::string_view body, WallTime now);
Result<std::string> parse_backup(std::string_view body);

// Writes "Name": {schema} for every request body, into an open object.
void write_request_schemas(JsonWriter& out);
void write_job_schemas(JsonWriter& out);    // parse_job.cc
void write_queue_schemas(JsonWriter& out);  // parse_queue.cc

}  // namespace weir::doors::http
