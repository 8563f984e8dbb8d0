// SPDX-License-Identifier: Apache-2.0
// The embedded store: an append-only log of commits with the index in memory (design: "The journal
// store").
//
// A commit is checked against the index, appended as one body of records, and applied to the index;
// texts (payloads, histories, results) stay in the log and are found by location. Opening replays
// the log into the index. Housekeeping writes snapshots of the index, partition by partition, and
// moves living jobs out of mostly dead segments, so that the disk follows the living data.
//
// Files: journal_store.cc (open, commit, sync, close), journal_read.cc (prefetch, reads, lists),
// housekeeping.h (snapshots, cleaning), index.h (what is in memory), record.h (what is on disk),
// maintenance.h (verify, restore).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "store/journal/body_cache.h"
#include "store/journal/commit_stage.h"
#include "store/journal/file_system.h"
#include "store/journal/index.h"
#include "store/journal/log.h"
#include "store/journal/record.h"
#include "store/store.h"

namespace weir::store::journal {

class Housekeeping;

struct JournalOptions {
  bool create = true;
  bool read_only = false;  // for looking: changes nothing, takes the lock; only reads work
  std::uint32_t segment_bytes = kSegmentBytes;  // smaller in tests
  std::uint64_t disk_bytes_max = 0;             // quota of all segments; 0: none
  std::uint64_t prng_seed = 0;  // store key, lease secret, generations; 0: from the kernel
  std::size_t cache_bytes = std::size_t{64} << 20;
  std::size_t ended_in_full_max = 16'384;
};

class JournalStore final : public Store {
 public:
  // Opens the store in `directory`, or makes one. `files` must outlive it; `clock` (may be null)
  // only measures syncs. When it returns, the grown epoch is durable, and every timed lease has at
  // least kLeaseGraceMs from now on. Errors: those of Log::open.
  static Result<std::unique_ptr<JournalStore>> open(FileSystem& files, const std::string& directory,
                                                    const JournalOptions& options, Now now,
                                                    const Clock* clock = nullptr);
  // Use open(): a store that was not started can do nothing.
  JournalStore(FileSystem& files, std::string directory, const JournalOptions& options,
               const Clock* clock);
  ~JournalStore() override;
  JournalStore(const JournalStore&) = delete;
  JournalStore& operator=(const JournalStore&) = delete;

  Capabilities capabilities() const override;
  const Identity& identity() const override { return identity_; }
  Result<IdRange> allocate_job_ids() override;
  Result<core::QueueId> allocate_queue_id() override;
  Result<void> prefetch(const core::ReadSet& wanted, core::View& view) override;
  Result<std::uint64_t> commit(std::span<const core::ChangeSet> change_sets, Now now,
                               std::vector<CommitResult>& results) override;
  Result<void> sync() override;
  std::uint64_t durable_seq() const override;
  void heads(const core::LaneFilter& filter, std::size_t places,
             std::vector<core::LaneHead>& out) override;
  void due(Now now, std::size_t limit, std::vector<Due>& out) override;
  void next_due(WallTime& wall, StoreTime& store) override;
  Result<core::Job> read_job(core::JobId id) override;
  Result<core::JobBody> read_body(core::JobId id) override;
  Result<std::vector<core::AttemptRecord>> read_history(core::JobId id) override;
  Result<std::string> read_result(core::JobId id) override;
  Result<Page> scan_page(const ScanQuery& query) override;
  Result<std::vector<core::Queue>> read_queues() override;
  Result<std::vector<core::ApiToken>> read_tokens() override;
  Result<std::vector<core::AuditRecord>> read_audit(std::size_t newest) override;
  Result<QueueStats> queue_stats(core::QueueId id) override;
  StoreStats stats() const override;
  Result<bool> work(Now now) override;
  Result<void> backup(const std::string& directory) override;
  Result<void> close(Now now) override;

  // What recovery found at open.
  const RecoveryReport& recovery() const { return report_; }
  const Index& index() const { return *index_; }
  Log& log() { return *log_; }

 private:
  friend class Housekeeping;  // the other half of this object, kept apart for size

  Result<void> start(Now now);
  Result<void> check_running() const;
  Error stop(Error error);  // remembers an error that ends the store
  Result<Location> append(SegmentKind kind, Reserve reserve, std::string_view body, Now now);
  Result<void> append_small(const std::string& body, Reserve reserve, Now now);

  Result<void> stage_all(std::span<const core::ChangeSet> change_sets, Now now, Reserve reserve,
                         std::vector<CommitResult>& results, std::vector<bool>& is_open);
  Result<bool> flush_stage(Reserve reserve, Now now);
  Result<bool> is_admitted(const core::ChangeSet& change_set) const;
  void remember_commit(const Location& at, std::size_t body_bytes);

  Location window_around(const Location& at) const;
  Result<std::string_view> read_record(const PackedLocation& at);
  Result<core::Job> load_shrunk(core::JobId id);
  Result<core::JobBody> load_body(const PackedLocation& at);
  Error quarantine(core::JobId id, const Error& error);
  Error judge(core::JobId id, const Error& error);
  void load_job(core::JobId id, core::View& view);
  void load_rare(core::JobId id, core::View& view);
  void load_queue(core::QueueId id, core::View& view);
  void load_queue(const core::QueueName& name, core::View& view);
  void load_counts(core::QueueId id, core::View& view);
  void load_unique_key(core::QueueId queue, std::string_view key, core::View& view);
  void load_group_lock(core::QueueId queue, std::string_view group, core::View& view);
  void load_keys(const core::ReadSet& wanted, core::View& view);
  bool admits(const ScanQuery& query, core::JobId id, std::optional<core::Job>& job,
              std::size_t& looks);

  FileSystem& files_;
  std::string directory_;
  JournalOptions options_;
  const Clock* clock_;
  std::unique_ptr<Index> index_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<CommitStage> stage_;
  std::unique_ptr<Housekeeping> housekeeping_;
  BodyCache cache_;
  Identity identity_;
  RecoveryReport report_;
  DurableIds ids_;                   // durable: beyond everything handed out
  std::uint32_t next_queue_id_ = 0;  // within the durable block
  Now last_now_;
  std::optional<Error> stopped_;
  // Lengths of commit bodies by segment, in order of offset: how far read-ahead may go.
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      commit_lengths_;
  core::QueueId last_loaded_queue_;  // within one prefetch
  std::string record_;               // read last, when it is not in the cache
  std::set<core::JobId> quarantined_;
  StoreStats stats_;
};

}  // namespace weir::store::journal
