// SPDX-License-Identifier: Apache-2.0
#include "core/job/transitions/new_job.h"

#include <fmt/format.h>

#include "base/text.h"
#include "core/limits.h"

namespace weir::core {
namespace {

Failure refuse(std::string detail) {
  return failure(ErrorCode::invalid_argument, std::move(detail));
}

Result<void> check_optional_name(std::string_view what, std::string_view name) {
  if (name.empty()) return {};
  return check_name(what, name, kNameBytesMax);
}

Result<void> check_optional(std::string_view what, std::optional<std::int64_t> duration_ms,
                            std::int64_t min_ms, std::int64_t max_ms) {
  if (!duration_ms) return {};
  return check_duration(what, *duration_ms, min_ms, max_ms);
}

Result<void> check_options(const JobOptions& options, Door door) {
  const std::int64_t lease_ms_max = door == Door::beanstalk ? kJobLeaseMsMax : kLeaseMsMax;
  if (options.max_attempts) WEIR_TRY(check_max_attempts(*options.max_attempts));
  if (options.retry) WEIR_TRY(check_retry_policy(*options.retry));
  WEIR_TRY(check_optional("lease", options.lease_ms, kLeaseMsMin, lease_ms_max));
  return check_optional("timeout", options.timeout_ms, 0, kTimeoutMsMax);
}

Result<void> check_headers(const JobBody& body) {
  if (body.headers.size() > kHeadersMax) {
    return refuse(
        fmt::format("there are {} headers; a job may have {}", body.headers.size(), kHeadersMax));
  }
  std::size_t bytes = 0;
  for (const auto& [name, value] : body.headers) {
    WEIR_TRY(check_name("header name", name, kNameBytesMax));
    WEIR_TRY(check_name("header value", value, kHeaderBytesMax, 0));
    bytes += name.size() + value.size();
  }
  if (bytes > kHeaderBytesMax) {
    return refuse(
        fmt::format("the headers have {} bytes; a job may have {}", bytes, kHeaderBytesMax));
  }
  return {};
}

Result<void> check_unique(const NewJob& job) {
  if (!job.unique_window_ms) return {};
  if (job.unique_key.empty()) return refuse("unique_window is given without unique_key");
  return check_optional("unique_window", job.unique_window_ms, 1, kRetentionMsMax);
}

}  // namespace

Result<void> check_payload_bytes(std::size_t bytes, const QueueSettings& settings) {
  if (bytes <= settings.payload_bytes_max) return {};
  return failure(ErrorCode::too_large,
                 fmt::format("the payload has {} bytes, this queue takes at most {}: store it "
                             "elsewhere and enqueue a reference to it",
                             bytes, settings.payload_bytes_max));
}

Result<void> check_content_type(std::string_view content_type) {
  return check_name("content_type", content_type, kNameBytesMax);
}

Result<void> check_tags(const std::vector<std::string>& tags) {
  if (tags.size() > kTagsMax) {
    return refuse(fmt::format("there are {} tags; a job may have {}", tags.size(), kTagsMax));
  }
  for (const std::string& tag : tags) WEIR_TRY(check_name("tag", tag, kNameBytesMax));
  return {};
}

Result<void> check_new_job(const NewJob& job, Door door) {
  WEIR_TRY(check_optional_name("kind", job.kind));
  WEIR_TRY(check_optional_name("group", job.group));
  WEIR_TRY(check_optional_name("key", job.limit_key));
  WEIR_TRY(check_optional_name("unique_key", job.unique_key));
  WEIR_TRY(check_optional_name("external_id", job.external_id));
  WEIR_TRY(check_tags(job.tags));
  if (!job.body.content_type.empty()) WEIR_TRY(check_content_type(job.body.content_type));
  WEIR_TRY(check_optional_name("content_encoding", job.body.content_encoding));
  WEIR_TRY(check_headers(job.body));
  WEIR_TRY(check_options(job.options, door));
  WEIR_TRY(check_optional("ttl", job.ttl_ms, 1, kRetentionMsMax));
  WEIR_TRY(check_unique(job));
  if (job.delay_ms && job.run_at) return refuse("delay and run_at exclude each other");
  return {};
}

}  // namespace weir::core
