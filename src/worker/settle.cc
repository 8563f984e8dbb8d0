// SPDX-License-Identifier: Apache-2.0
// See settle.h.
#include "worker/settle.h"

#include <fmt/format.h>

#include "base/log.h"

namespace weir::worker {
namespace {

enum class Next { done, dropped, repeat, repeat_for_a_lease, without_result };

// What a refusal means for a verb about a lease that we hold.
Next after_refusal(ErrorCode code) {
  switch (code) {
    case ErrorCode::lease_lost:
    case ErrorCode::gone:
    case ErrorCode::not_found:
    case ErrorCode::conflict:
      return Next::dropped;
    case ErrorCode::unavailable:
    case ErrorCode::queue_saturated:
    case ErrorCode::rate_limited:
    case ErrorCode::store_full:
      return Next::repeat;
    // A token may be put right, a fault repaired, but not for ever.
    case ErrorCode::unauthenticated:
    case ErrorCode::permission_denied:
    case ErrorCode::corruption:
    case ErrorCode::io_error:
    case ErrorCode::internal:
      return Next::repeat_for_a_lease;
    case ErrorCode::invalid_argument:
    case ErrorCode::too_large:
    case ErrorCode::unsupported_media_type:
    case ErrorCode::idempotency_mismatch:
    case ErrorCode::unsupported:
      return Next::without_result;
  }
  return Next::dropped;
}

Result<void> tell(client::JobApi& api, const client::ClaimedJob& job, const HandlerResult& outcome,
                  bool with_result) {
  switch (outcome.kind) {
    case HandlerResult::Kind::ack: {
      WEIR_TRY(api.ack(job.lease(), with_result ? outcome.result : std::nullopt));
      log::info("job completed", {log::field("job", job.id), log::field("queue", job.queue),
                                  log::field("attempt", std::uint64_t{job.attempt})});
      return {};
    }
    case HandlerResult::Kind::fail: {
      WEIR_TRY_ASSIGN(const client::FailAnswer answer, api.fail(job.lease(), outcome.report));
      const bool is_dead = answer.status == "dead";
      log::warning(
          is_dead ? "job dead" : "job failed",
          {log::field("job", job.id), log::field("queue", job.queue),
           log::field("attempt", std::uint64_t{job.attempt}),
           log::field("class", outcome.report.error_class), log::field("code", outcome.report.code),
           is_dead ? log::field("reason", answer.reason.substr(0, answer.reason.find(':')))
                   : log::field("retry_after_ms", answer.retry_after_ms)});
      return {};
    }
    case HandlerResult::Kind::release: {
      WEIR_TRY(api.release(job.lease()));
      log::info("job released", {log::field("job", job.id), log::field("queue", job.queue)});
      return {};
    }
  }
  return {};
}

}  // namespace

std::optional<HandlerResult> outcome_to_tell(HandlerResult result, CancelReason reason,
                                             std::int64_t timeout_ms) {
  const bool is_ack = result.kind == HandlerResult::Kind::ack;
  switch (reason) {
    case CancelReason::none:
      return result;
    case CancelReason::lease_lost:
      return std::nullopt;
    case CancelReason::stopping:
      if (is_ack) return result;
      return HandlerResult::release();
    case CancelReason::timeout: {
      if (is_ack) return result;
      client::FailReport report = std::move(result.report);
      const std::string what =
          fmt::format("timeout: still running after {}", format_duration(timeout_ms));
      report = {.error_class = "timeout",
                .message = report.message.empty() ? what : what + "\n" + report.message};
      return HandlerResult::fail(std::move(report));
    }
  }
  return result;
}

bool settle(SettleContext context, const client::ClaimedJob& job, const HandlerResult& outcome) {
  const std::int64_t began_ms = context.clock.boot_ms();
  bool with_result = true;
  bool has_told_trouble = false;
  while (true) {
    const Result<void> answer = tell(context.api, job, outcome, with_result);
    if (answer) return true;
    const Error& error = answer.error();
    Next next = after_refusal(error.code);
    if (next == Next::without_result && with_result && outcome.result) {
      log::warning("the server refuses the result, the job is acknowledged without it",
                   {log::field("job", job.id), log::field("detail", error.detail)});
      with_result = false;
      continue;
    }
    if (next == Next::repeat_for_a_lease && context.clock.boot_ms() - began_ms > context.lease_ms) {
      next = Next::dropped;
    }
    if (next == Next::dropped || next == Next::without_result ||
        context.cancel.reason() == CancelReason::lease_lost) {
      log::warning("lease lost, result dropped",
                   {log::field("job", job.id), log::field("queue", job.queue),
                    log::field("code", to_string(error.code))});
      return false;
    }
    if (!has_told_trouble) {
      has_told_trouble = true;
      log::warning("the outcome could not be told, trying again",
                   {log::field("job", job.id), log::field("detail", error.detail)});
    }
    if (!context.wait(context.backoff.next_ms(error.retry_after_ms))) {
      log::error("the outcome could not be told before the end, the lease runs out",
                 {log::field("job", job.id), log::field("queue", job.queue)});
      return false;
    }
  }
}

}  // namespace weir::worker
