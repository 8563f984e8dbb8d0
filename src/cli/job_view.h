// SPDX-License-Identifier: Apache-2.0
// How jobs are shown: one job as a list of fields, many as a table, and verbs over several ids.
// Shared by `weir job` and `weir dead`.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "cli/command.h"
#include "client/client.h"

namespace weir::cli {

inline constexpr std::uint64_t kListLimit = 100;
inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Shows one job, with payload, result and attempts when they are there. Returns the exit code.
int print_job(Session& session, const std::string& id, const client::Query& query);

// Lists jobs page by page from `path`, up to `limit` of them, as a table or as {"jobs":[…]}.
// Returns the exit code.
int print_jobs(Session& session, const std::string& path, const client::Query& filter,
               std::uint64_t limit);

// Does one verb on each job, tells how each went, and returns the exit code of the first refusal.
// `reason` may be empty.
int each_job(Session& session, const std::vector<std::string>& ids, const std::string& method,
             const std::string& suffix, const std::string& reason, const std::string& done);

}  // namespace weir::cli
