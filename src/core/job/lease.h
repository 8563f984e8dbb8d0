// SPDX-License-Identifier: Apache-2.0
// Leases: the token, the one compare function, and the fencing number.
//
// A token is a keyed hash of (job, attempt): it needs no storage, can't be guessed without the
// store's secret, is useless for another job or attempt, and an ended job can still tell its true
// last holder from a stranger. The store's secret changes at restore, so tokens from before a
// restore are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "core/job/job.h"

namespace weir::core {

// What a worker shows with each verb. Value. On the wire "<attempt>.<32 hex digits>".
struct LeaseToken {
  std::uint32_t attempt = 0;
  Hash128 proof;

  bool operator==(const LeaseToken&) const = default;
};

LeaseToken lease_token(const Hash128& secret, JobId job, std::uint32_t attempt);
std::string to_string(const LeaseToken& token);
// nullopt when the text is no token at all.
std::optional<LeaseToken> lease_token_from(std::string_view text);

// How a shown token stands to a job. `job` is null when the job is not there any more.
enum class LeaseCheck : std::uint8_t {
  current,    // the job is processing under this lease and the deadline is in the future
  repeated,   // the attempt of this token was the last one and has ended by a verb: last_verb says
              // which
  lost,       // forged, superseded, expired, or ended by someone else
  gone,       // a true token of a job that retention has taken
  not_found,  // no such job and no true token
};
LeaseCheck check_lease(const Hash128& secret, JobId id, const Job* job, const LeaseToken& token,
                       StoreTime now);

// Grows with every delivery of a job over all restarts: epoch * 2^32 + attempt, exact in a double.
std::uint64_t fence(std::uint32_t epoch, std::uint32_t attempt);
inline constexpr std::uint32_t kEpochMax = (1U << 21) - 1;

}  // namespace weir::core
