// SPDX-License-Identifier: Apache-2.0
// Our outcomes in beanstalkd's words, and its numbers in ours. The switches name every case without
// a default: a new code or outcome does not compile until it is given its word here.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "core/answer.h"
#include "core/command.h"
#include "core/job/job.h"
#include "doors/beanstalk/reply.h"
#include "doors/beanstalk/verbs.h"

namespace weir::doors::beanstalk {

// beanstalkd's priorities have 32 bits without a sign, ours one less above zero: the upper half
// shares our largest one and is told apart by rank, in which jobs of equal priority stand in order.
core::Placement place_of(std::uint32_t priority);
// The way back; jobs of other doors can have priorities that beanstalkd has no number for.
std::uint32_t wire_priority(const core::Job& job);

Reply reply_of(ErrorCode code);
Reply reply_of(Verb verb, const core::Answer& answer);

}  // namespace weir::doors::beanstalk
