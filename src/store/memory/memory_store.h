// SPDX-License-Identifier: Apache-2.0
// The memory store: ordered maps behind the store port. It is the reference model that other stores
// are compared with, and the store of rule tests and of the simulator; nothing of it survives the
// process.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "store/memory/index.h"
#include "store/memory/tables.h"
#include "store/store.h"

namespace weir::store::memory {

struct MemoryOptions {
  std::uint64_t seed = 0;  // of store key and lease secret; 0: from the kernel
  StoreTime store_time{kMsPerHour};
  bool commit_is_durable = true;    // false: only sync() makes durable, as with a journal
  std::uint64_t capacity_jobs = 0;  // at this many jobs the store is full; 0: no bound
};

// One thread.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const MemoryOptions& options = {});

  // For tests of the full store.
  void set_capacity(std::uint64_t jobs) { options_.capacity_jobs = jobs; }
  // As if the server had gone and come back with everything: a new epoch, and the grace that timed
  // leases have after a start. For tests and the simulator.
  void restart(Now now);
  // Is everything derived equal to what the entities say? For tests; counts everything anew.
  bool is_consistent() const { return index_ == Index(tables_); }

  Capabilities capabilities() const override;
  const Identity& identity() const override { return identity_; }
  Result<IdRange> allocate_job_ids() override;
  Result<core::QueueId> allocate_queue_id() override;
  Result<void> prefetch(const core::ReadSet& wanted, core::View& view) override;
  Result<std::uint64_t> commit(std::span<const core::ChangeSet> change_sets, Now now,
                               std::vector<CommitResult>& results) override;
  Result<void> sync() override;
  std::uint64_t durable_seq() const override { return durable_seq_; }
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

 private:
  bool is_full() const;
  bool has_room(const core::ChangeSet& change_set) const;
  void apply(const core::ChangeSet& change_set);
  void apply_job(const core::JobChange& change);
  void apply_queue(const core::QueueChange& change);
  void settle_groups(const core::ChangeSet& change_set, const std::vector<KeyInQueue>& before);

  void load_job(core::JobId id, core::View& view) const;
  void load_queue(core::QueueId id, core::View& view) const;
  void load_queue(const core::QueueName& name, core::View& view) const;
  void load_counts(core::QueueId id, core::View& view) const;
  void load_unique_key(core::QueueId queue, const std::string& key, core::View& view) const;
  void load_group_lock(core::QueueId queue, const std::string& group, core::View& view) const;

  MemoryOptions options_;
  Identity identity_;
  Tables tables_;
  Index index_;
  std::uint64_t next_job_id_ = 1;
  std::uint32_t next_queue_id_ = 1;
  std::uint64_t last_seq_ = 0;
  std::uint64_t durable_seq_ = 0;
  StoreStats stats_;
};

}  // namespace weir::store::memory
