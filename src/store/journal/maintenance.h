// SPDX-License-Identifier: Apache-2.0
// What is done to a data directory while no server uses it: verify, copy, restore.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"
#include "base/result.h"
#include "base/time.h"
#include "core/job/state.h"
#include "store/journal/file_system.h"

namespace weir::store::journal {

// What is wrong with one job. Value.
struct VerifyProblem {
  std::uint64_t job = 0;
  std::string what;
};

struct VerifyReport {
  std::uint64_t commits = 0, segments = 0, bytes = 0;
  std::uint64_t jobs = 0, queues = 0;
  std::array<std::uint64_t, core::kJobStateCount + 1> jobs_by_state{};  // index: JobState
  std::uint32_t epoch = 0;                                              // of the last start
  bool clean_stop = false;
  std::uint64_t cut_commits = 0, cut_bytes = 0;  // a torn tail, which the next start would cut
  std::string note;
  std::vector<VerifyProblem> problems;  // in order of id, at most kVerifyProblemsMax
  std::uint64_t problem_count = 0;
};
inline constexpr std::size_t kVerifyProblemsMax = 1000;

// Reads everything and checks every checksum: each commit, and each text of each job. Changes
// nothing. Errors: conflict (a server uses it), not_found, unsupported, corruption (the log itself
// is damaged: the detail says where), io_error. Damage to single jobs is in the report.
Result<VerifyReport> verify(FileSystem& files, const std::string& directory, Now now);

// Copies a store that no server uses into an empty or absent directory. Errors: those of verify,
// conflict (not empty).
Result<void> copy_store(FileSystem& files, const std::string& from, const std::string& to);

struct RestoreReport {
  std::uint32_t epoch = 0;
  std::uint64_t next_job_id = 0;
};

// Makes `to` (empty or absent) a store of its own out of a backup. Its epoch jumps by 1 to 4,096,
// its ids by a multiple of 2^32, and it gets a new lease secret: leases, fences and ids of the
// store that goes on without it can't be mistaken for its own. Errors: those of copy_store.
Result<RestoreReport> restore(FileSystem& files, const std::string& backup, const std::string& to,
                              Now now, Prng& prng);

}  // namespace weir::store::journal
