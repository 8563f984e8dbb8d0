// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::core {
namespace {

template <typename Enum, std::size_t Size>
Result<Enum> parse_word(std::string_view text, const Enum (&known)[Size]) {
  std::string word(text);
  std::replace(word.begin(), word.end(), '-', '_');
  std::string words;
  for (const Enum one : known) {
    if (to_string(one) == word) return one;
    words += fmt::format("{}{}", words.empty() ? "" : ", ", to_string(one));
  }
  return failure(ErrorCode::invalid_argument, "must be one of " + words);
}

constexpr std::string_view kIntervalPrefix = "interval:";

}  // namespace

std::string_view to_string(ClaimMode mode) {
  switch (mode) {
    case ClaimMode::ride:
      return "ride";
    case ClaimMode::sync:
      return "sync";
  }
  return "unknown";
}

std::string_view to_string(DeliveryMode mode) {
  switch (mode) {
    case DeliveryMode::at_least_once:
      return "at_least_once";
    case DeliveryMode::at_most_once:
      return "at_most_once";
  }
  return "unknown";
}

std::string_view to_string(QueueOrder order) {
  switch (order) {
    case QueueOrder::priority:
      return "priority";
    case QueueOrder::deadline:
      return "deadline";
    case QueueOrder::fifo:
      return "fifo";
  }
  return "unknown";
}

Result<ClaimMode> parse_claim_mode(std::string_view text) {
  return parse_word(text, {ClaimMode::ride, ClaimMode::sync});
}

Result<DeliveryMode> parse_delivery_mode(std::string_view text) {
  return parse_word(text, {DeliveryMode::at_least_once, DeliveryMode::at_most_once});
}

Result<QueueOrder> parse_queue_order(std::string_view text) {
  return parse_word(text, {QueueOrder::priority, QueueOrder::deadline, QueueOrder::fifo});
}

std::string durability_text(const QueueSettings& settings) {
  if (settings.durability == Durability::sync) return "sync";
  return std::string(kIntervalPrefix) + format_duration(settings.durability_interval_ms);
}

Result<void> parse_durability(std::string_view text, QueuePatch& into) {
  if (text == "sync") {
    into.durability = Durability::sync;
    into.durability_interval_ms = 0;
    return {};
  }
  if (text.starts_with(kIntervalPrefix)) {
    const Result<std::int64_t> interval_ms = parse_duration_ms(text.substr(kIntervalPrefix.size()));
    if (interval_ms && *interval_ms > 0) {
      into.durability = Durability::interval;
      into.durability_interval_ms = *interval_ms;
      return {};
    }
  }
  return failure(ErrorCode::invalid_argument,
                 "must be \"sync\" or \"interval:<ms>\", such as \"interval:100ms\"");
}

void apply_patch(const QueuePatch& patch, QueueSettings& settings) {
  const auto take = [](const auto& wanted, auto& setting) {
    if (wanted) setting = *wanted;
  };
  if (patch.retry) settings.max_attempts = patch.retry->max_attempts;
  take(patch.retry, settings.retry);
  take(patch.max_attempts, settings.max_attempts);
  take(patch.priority_class, settings.priority_class);
  take(patch.lease_ms, settings.lease_ms);
  take(patch.timeout_ms, settings.timeout_ms);
  take(patch.ttl_ms, settings.ttl_ms);
  take(patch.max_depth, settings.max_depth);
  take(patch.payload_bytes_max, settings.payload_bytes_max);
  take(patch.durability, settings.durability);
  take(patch.durability_interval_ms, settings.durability_interval_ms);
  take(patch.claim, settings.claim);
  take(patch.delivery, settings.delivery);
  take(patch.order, settings.order);
  take(patch.completed_retention_ms, settings.completed_retention_ms);
  take(patch.completed_max, settings.completed_max);
  take(patch.dead_retention_ms, settings.dead_retention_ms);
}

std::vector<std::string> queue_warnings(const QueueSettings& settings) {
  std::vector<std::string> warnings;
  if (settings.max_attempts > kMaxAttemptsWarn) {
    warnings.push_back(fmt::format("max_attempts is {}: more than {} attempts rarely help",
                                   settings.max_attempts, kMaxAttemptsWarn));
  }
  if (settings.timeout_ms > 0 && settings.lease_ms > settings.timeout_ms) {
    warnings.push_back("lease is longer than timeout: each lease ends at the timeout");
  }
  return warnings;
}

QueueSettings first_settings(Door door, const QueueSettings& defaults,
                             std::optional<std::int64_t> lease_ms) {
  QueueSettings settings = defaults;
  if (door != Door::beanstalk) return settings;
  settings.max_attempts = kUnbounded;
  settings.completed_max = 0;
  // Most jobs of a tube ask for the same time to run: those need no lease of their own.
  if (lease_ms && *lease_ms >= kLeaseMsMin && *lease_ms <= kLeaseMsMax) {
    settings.lease_ms = *lease_ms;
  }
  return settings;
}

Result<void> check_queue_settings(const QueueSettings& settings, bool may_be_unbounded) {
  WEIR_TRY(check_retry_policy(settings.retry));
  if (!may_be_unbounded || settings.max_attempts != kUnbounded) {
    WEIR_TRY(check_max_attempts(settings.max_attempts));
  }
  WEIR_TRY(check_duration("lease", settings.lease_ms, kLeaseMsMin, kLeaseMsMax));
  WEIR_TRY(check_duration("timeout", settings.timeout_ms, 0, kTimeoutMsMax));
  WEIR_TRY(check_duration("ttl", settings.ttl_ms, 0, kRetentionMsMax));
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
    WEIR_TRY(
        check_duration("durability interval", settings.durability_interval_ms, 1, kMsPerMinute));
  }
  WEIR_TRY(
      check_duration("completed_retention", settings.completed_retention_ms, 0, kRetentionMsMax));
  WEIR_TRY(check_duration("dead_retention", settings.dead_retention_ms, 0, kRetentionMsMax));
  if (settings.completed_max > kEndedJobsMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("completed_max is {}; it must be at most {}", settings.completed_max,
                               kEndedJobsMax));
  }
  return {};
}

}  // namespace weir::core
