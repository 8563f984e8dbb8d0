// SPDX-License-Identifier: Apache-2.0
#include "doors/beanstalk/map.h"

#include <limits>
#include <variant>

namespace weir::doors::beanstalk {
namespace {

Reply moved_reply(Verb verb, core::JobState state) {
  if (verb == Verb::delete_job) return Reply::deleted;
  if (verb == Verb::kick_job) return Reply::kicked;
  // A release can end dead where the tube has a bound on attempts: beanstalkd has the word for it.
  if (state == core::JobState::dead) return Reply::buried;
  return verb == Verb::bury ? Reply::buried : Reply::released;
}

struct OutcomeReply {
  Verb verb;

  Reply operator()(const core::Nothing&) const { return Reply::not_found; }
  Reply operator()(const core::Enqueued&) const { return Reply::inserted; }
  Reply operator()(const core::Claimed&) const { return Reply::reserved; }
  Reply operator()(const core::NotClaimable&) const { return Reply::not_found; }
  Reply operator()(const core::Moved& m) const { return moved_reply(verb, m.state); }
  Reply operator()(const core::Extended&) const { return Reply::touched; }
  Reply operator()(const core::Removed&) const { return Reply::deleted; }
  Reply operator()(const core::QueueChanged&) const { return Reply::paused; }
  Reply operator()(const core::TokenChanged&) const { return Reply::internal_error; }
  Reply operator()(const core::Kicked& k) const {
    return k.count > 0 ? Reply::kicked : Reply::not_found;
  }
  Reply operator()(const Error& error) const { return reply_of(error.code); }
};

}  // namespace

core::Placement place_of(std::uint32_t priority) {
  constexpr auto kTop = static_cast<std::uint32_t>(std::numeric_limits<std::int32_t>::max());
  if (priority < kTop) return {.priority = static_cast<std::int32_t>(priority)};
  return {.priority = std::numeric_limits<std::int32_t>::max(), .rank = priority - kTop};
}

std::uint32_t wire_priority(const core::Job& job) {
  constexpr std::int32_t kTop = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kRankMax = std::int64_t{kTop} + 1;
  if (job.priority < 0) return 0;
  if (job.priority < kTop || job.rank < 0 || job.rank > kRankMax) {
    return static_cast<std::uint32_t>(job.priority);
  }
  return static_cast<std::uint32_t>(kTop + job.rank);
}

Reply reply_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
      return Reply::bad_format;
    case ErrorCode::too_large:
      return Reply::job_too_big;
    // A job that another connection holds is not there for this one.
    case ErrorCode::not_found:
    case ErrorCode::gone:
    case ErrorCode::lease_lost:
    case ErrorCode::conflict:
    case ErrorCode::permission_denied:
      return Reply::not_found;
    // "Try again later" in beanstalkd's words.
    case ErrorCode::queue_saturated:
    case ErrorCode::rate_limited:
    case ErrorCode::store_full:
    case ErrorCode::unavailable:
      return Reply::out_of_memory;
    case ErrorCode::unauthenticated:
    case ErrorCode::unsupported_media_type:
    case ErrorCode::idempotency_mismatch:
    case ErrorCode::corruption:
    case ErrorCode::io_error:
    case ErrorCode::unsupported:
    case ErrorCode::internal:
      return Reply::internal_error;
  }
  return Reply::internal_error;
}

Reply reply_of(Verb verb, const core::Answer& answer) {
  return std::visit(OutcomeReply{verb}, answer.outcome);
}

}  // namespace weir::doors::beanstalk
