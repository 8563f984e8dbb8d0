// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue.h"

#include <fmt/format.h>

namespace weir::core {
namespace {

Result<void> check_range(std::string_view name, std::int64_t value, std::int64_t min,
                         std::int64_t max) {
  if (value >= min && value <= max) return {};
  return failure(ErrorCode::invalid_argument,
                 fmt::format("{} is {}; it must be {} to {}", name, format_duration(value),
                             format_duration(min), format_duration(max)));
}

}  // namespace

Result<void> check_queue_settings(const QueueSettings& settings) {
  WEIR_TRY(check_retry_policy(settings.retry));
  if (settings.max_attempts == 0 || settings.max_attempts > kMaxAttemptsMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("max_attempts is {}; it must be 1 to {}", settings.max_attempts,
                               kMaxAttemptsMax));
  }
  WEIR_TRY(check_range("lease", settings.lease_ms, kLeaseMsMin, kLeaseMsMax));
  WEIR_TRY(check_range("timeout", settings.timeout_ms, 0, kTimeoutMsMax));
  WEIR_TRY(check_range("ttl", settings.ttl_ms, 0, kRetentionMsMax));
  if (settings.max_depth > kMaxDepthMax) {
    return failure(
        ErrorCode::invalid_argument,
        fmt::format("max_depth is {}; it must be at most {}", settings.max_depth, kMaxDepthMax));
  }
  if (settings.payload_bytes_max == 0 || settings.payload_bytes_max > kPayloadBytesMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("payload_max is {} bytes; it must be 1 to {}",
                               settings.payload_bytes_max, kPayloadBytesMax));
  }
  if (settings.durability == Durability::interval) {
    WEIR_TRY(check_range("durability interval", settings.durability_interval_ms, 1, kMsPerMinute));
  }
  WEIR_TRY(check_range("completed_retention", settings.completed_retention_ms, 0, kRetentionMsMax));
  WEIR_TRY(check_range("dead_retention", settings.dead_retention_ms, 0, kRetentionMsMax));
  if (settings.completed_max > kEndedJobsMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("completed_max is {}; it must be at most {}", settings.completed_max,
                               kEndedJobsMax));
  }
  return {};
}

}  // namespace weir::core
