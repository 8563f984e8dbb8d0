// SPDX-License-Identifier: Apache-2.0
#include "server/offline.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/prng.h"
#include "store/journal/maintenance.h"

namespace weir::server {
namespace {

namespace journal = store::journal;

Now offline_now() { return Now{.wall = SystemClock{}.wall_now(), .store = StoreTime::none()}; }

}  // namespace

Result<VerifyReport> verify_store(const std::string& directory) {
  VerifyReport report;
  const auto found = journal::verify(journal::real_file_system(), directory, offline_now());
  if (!found) {
    // A damaged log is what was asked about: it is an answer, not a failure to answer.
    if (found.error().code != ErrorCode::corruption) return failure(found.error());
    report.problems.push_back(found.error().detail);
    return report;
  }
  report.is_sound = found->problem_count == 0;
  report.commits = found->commits;
  report.segments = found->segments;
  report.bytes = found->bytes;
  for (const core::JobState state : core::kJobStates) {
    const std::uint64_t count = found->jobs_by_state[static_cast<std::size_t>(state)];
    report.jobs_by_state.emplace_back(core::to_string(state), count);
  }
  if (!found->clean_stop) report.notes.push_back("the store was not closed cleanly");
  if (found->cut_bytes > 0) {
    report.notes.push_back(fmt::format(
        "a torn tail of {} bytes was never answered; the next start cuts it", found->cut_bytes));
  }
  if (!found->note.empty()) report.notes.push_back(found->note);
  for (const journal::VerifyProblem& problem : found->problems) {
    report.problems.push_back(fmt::format("job {}: {}", problem.job, problem.what));
  }
  if (found->problem_count > found->problems.size()) {
    report.problems.push_back(
        fmt::format("and {} more", found->problem_count - found->problems.size()));
  }
  return report;
}

Result<void> backup_store(const std::string& directory, const std::string& target) {
  return journal::copy_store(journal::real_file_system(), directory, target);
}

Result<void> restore_store(const std::string& backup, const std::string& target) {
  Prng prng(secure_random_u64());
  WEIR_TRY(journal::restore(journal::real_file_system(), backup, target, offline_now(), prng));
  return {};
}

}  // namespace weir::server
