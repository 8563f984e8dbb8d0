// SPDX-License-Identifier: Apache-2.0
#include "store/journal/maintenance.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/job/lease.h"
#include "store/journal/journal_store.h"
#include "store/journal/replay.h"

namespace weir::store::journal {
namespace {

constexpr std::uint64_t kIdJumpsMax = 1u << 16;

// Reads every text of a job. Errors: corruption (of this job), io_error.
Result<void> check_job(JournalStore& store, core::JobId id) {
  WEIR_TRY_ASSIGN(const core::Job job, store.read_job(id));
  WEIR_TRY(store.read_body(id));
  WEIR_TRY_ASSIGN(const auto history, store.read_history(id));
  if (job.has_history && history.empty()) {
    return failure(ErrorCode::corruption,
                   fmt::format("job {}: its history is not there", id.value));
  }
  if (job.has_result) WEIR_TRY(store.read_result(id));
  return {};
}

}  // namespace

Result<VerifyReport> verify(FileSystem& files, const std::string& directory, Now now) {
  JournalOptions options;
  options.read_only = true;
  WEIR_TRY_ASSIGN(const auto store, JournalStore::open(files, directory, options, now));
  VerifyReport report;
  const RecoveryReport& recovery = store->recovery();
  report.commits = recovery.commits;
  report.segments = recovery.segments;
  report.bytes = recovery.bytes;
  report.clean_stop = recovery.clean_stop;
  report.cut_commits = recovery.cut_commits;
  report.cut_bytes = recovery.cut_bytes;
  report.note = recovery.note;
  report.epoch = store->identity().epoch - 1;
  report.queues = store->index().queues().size();
  const Index& index = store->index();
  for (std::uint64_t id = index.next_id(0, false); id != 0; id = index.next_id(id, false)) {
    ++report.jobs;
    ++report.jobs_by_state[static_cast<std::size_t>(index.state_of(core::JobId{id}))];
    const auto checked = check_job(*store, core::JobId{id});
    if (checked) continue;
    if (checked.error().code == ErrorCode::io_error) return failure(checked.error());
    ++report.problem_count;
    if (report.problems.size() < kVerifyProblemsMax)
      report.problems.push_back({id, checked.error().detail});
  }
  return report;
}

Result<void> copy_store(FileSystem& files, const std::string& from, const std::string& to) {
  RecoveryReport report;
  const auto ignore = [](const CommitInfo&, std::string_view) -> Result<void> { return {}; };
  WEIR_TRY_ASSIGN(const auto log, Log::open(files, from, {.read_only = true}, ignore, report));
  return log->copy_to(files, to, log->last_seq());
}

Result<RestoreReport> restore(FileSystem& files, const std::string& backup, const std::string& to,
                              Now now, Prng& prng) {
  WEIR_TRY(copy_store(files, backup, to));
  Index index;
  Loaded loaded;
  RecoveryReport recovery;
  const auto replay = [&](const CommitInfo& info, std::string_view body) {
    return apply_commit(info, body, index, loaded);
  };
  WEIR_TRY_ASSIGN(const auto log, Log::open(files, to, {}, replay, recovery));
  const std::uint64_t jump = prng.up_to(4095) + 1;
  if (loaded.identity.epoch + jump >= core::kEpochMax) {
    return failure(ErrorCode::unsupported, "the epochs of this store are used up");
  }
  RestoreReport report;
  report.epoch = static_cast<std::uint32_t>(loaded.identity.epoch + jump);
  const std::uint64_t next = std::max(loaded.ids.next_job_id, index.highest_job_id() + 1);
  report.next_job_id = next + ((prng.up_to(kIdJumpsMax - 1) + 1) << 32);
  std::string body;
  RecordWriter writer(body);
  writer.identity({.epoch = report.epoch, .lease_secret = secure_random_128()});
  writer.ids({.next_job_id = report.next_job_id, .next_queue_id = loaded.ids.next_queue_id});
  now.store = loaded.store_time.plus(std::max<std::int64_t>(0, now.wall.since(loaded.wall_time)));
  WEIR_TRY(log->append(body, SegmentKind::hot, Reserve::workers, report.epoch, now));
  WEIR_TRY(log->close(report.epoch, now));
  return report;
}

}  // namespace weir::store::journal
