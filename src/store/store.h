// SPDX-License-Identifier: Apache-2.0
// The store port: durable home of jobs, in the words of the domain. A store decides nothing: it
// loads, compares and writes.
//
// Three stores stand behind it: memory (the reference model), journal (embedded, the default),
// postgres. The conformance suite (tests/conformance) holds them to the same behaviour; it asks for
// capabilities, never for names. New features add entities to core::ChangeSet, not calls here.
//
// Thread: every call on the engine's thread, unless said otherwise. A store may have threads of its
// own behind it. After any call has failed with io_error or corruption the store is stopped: it
// refuses all later calls with the same code, and the server leaves (exit 74). Nothing is ever
// retried and acknowledged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/result.h"
#include "base/time.h"
#include "core/change.h"
#include "core/dispatch/lane.h"
#include "core/view.h"

namespace weir::store {

struct Capabilities {
  bool survives_reopen = false;  // close and open again finds everything that was durable
  bool several_servers = false;  // other servers may change the same entities (guards may miss)
  bool has_backup = false;
  bool commit_is_durable = false;  // commit() itself makes durable; sync() has nothing to do
  bool has_store_clock =
      false;  // the store's clock judges leases (PostgreSQL); else the engine's `now` does
};

enum class CommitResult : std::uint8_t {
  applied,
  guard_missed,  // an entity was not as expected: nothing of this ChangeSet was applied; decide
                 // again from fresh data
  refused_full,  // no room for it (never for ChangeSets with may_use_reserve until the reserve is
                 // used up too)
};

// What fell due. Value.
struct Due {
  enum class Kind : std::uint8_t { run_at, retry, lease, ttl, retention, unique_key, idempotency };
  Kind kind = Kind::run_at;
  core::JobId job;
  core::QueueId queue;  // unique_key
  std::string key;      // unique_key
  Hash128 scope;        // idempotency
};

// Jobs in order of id. Unset filters match all. Value.
struct ScanQuery {
  std::optional<core::QueueId> queue;
  std::uint32_t states = 0;  // bit (1 << state); 0: every state
  std::optional<std::string> kind, tag, group, unique_key;
  bool newest_first = false;
  std::uint64_t after_id = 0;  // cursor: ids beyond this one in scan direction; 0: from the start
  std::size_t limit = 100;     // 1..kPageJobsMax
};

struct Page {
  std::vector<core::Job> jobs;
  // Where to go on, 0 when everything was seen. A page may be short, even empty, and still have a
  // cursor: a scan stops after a bounded number of jobs looked at.
  std::uint64_t next_after_id = 0;
};

// What the engine must know at start. Value.
struct Identity {
  Hash128 store_key;        // of this store, for ever
  Hash128 lease_secret;     // changes at restore
  std::uint32_t epoch = 1;  // grown durably by open()
  StoreTime store_time;     // where the store's clock goes on: last + max(0, wall elapsed)
  std::string name;         // "memory", "journal", "postgres"
};

struct IdRange {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

struct QueueStats {
  core::QueueCounts counts;
  WallTime oldest_pending_since;  // none when nothing is pending
  std::uint64_t urgent = 0;       // pending jobs with a priority below kUrgentBelow
};

// For metrics and /v1/info; counts of the store's own work since start. Value.
struct StoreStats {
  std::uint64_t commits = 0, syncs = 0, bytes_written = 0;
  std::uint64_t disk_bytes = 0, live_bytes = 0;
  std::uint64_t memory_bytes = 0;  // index and caches
  std::uint64_t last_sync_us = 0;
  std::uint64_t cleaned_segments = 0, snapshots = 0;
  bool is_full = false;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Capabilities capabilities() const = 0;

  // Requires: the store was opened. Cheap.
  virtual const Identity& identity() const = 0;

  // Hands out a durable block of job ids, and one queue id: never handed out again, also after a
  // crash.
  // Errors: io_error, unavailable. Cost: may write; called once per kIdBlock jobs.
  virtual Result<IdRange> allocate_job_ids() = 0;
  virtual Result<core::QueueId> allocate_queue_id() = 0;

  // Loads everything of `wanted` that `view` does not have yet, absent entities as absent. Follows
  // needs:
  //   a job       -> its queue (and the counts of that queue), its group lock if it has a group,
  //   its unique key entry if it has one; a queue name-> the queue, and its counts; unique keys by
  //   queue name -> resolved through the queue when it exists. a unique key entry (also one that a
  //   job pulled in) -> the job that it names.
  // Errors: unavailable, corruption, io_error.
  virtual Result<void> prefetch(const core::ReadSet& wanted, core::View& view) = 0;

  // Applies each ChangeSet whole or not at all, in order; results[i] says which. Answers may be
  // released when durable_seq() has reached the returned sequence number. A ChangeSet is visible to
  // every later call at once.
  // Returns the sequence number of this commit (grows by at least 1; 0 when nothing was written).
  // Errors: io_error (the store is stopped), unavailable (nothing was applied).
  // Cost: one write for all. Requires: at most kTurnBytesMax of changes, or one larger ChangeSet
  // alone.
  virtual Result<std::uint64_t> commit(std::span<const core::ChangeSet> change_sets, Now now,
                                       std::vector<CommitResult>& results) = 0;

  // Makes everything committed durable; durable_seq() then says so. Errors: io_error (stopped).
  virtual Result<void> sync() = 0;
  virtual std::uint64_t durable_seq() const = 0;

  // Heads of the open lanes that `filter` admits, each with up to `places` places in order. Lanes
  // of paused or deleted queues are left out. Cost: per open lane of the queues named, not per job.
  virtual void heads(const core::LaneFilter& filter, std::size_t places,
                     std::vector<core::LaneHead>& out) = 0;

  // Up to `limit` things whose time has come, the most overdue first. They stay due until a commit
  // changes them.
  // Job kinds: run_at (scheduled, by wall or store time), retry (failed), lease (processing), ttl
  // (not started yet), retention (ended jobs past their queue's retention, or over completed_max:
  // oldest first). Cost: per thing returned.
  virtual void due(Now now, std::size_t limit, std::vector<Due>& out) = 0;
  // The earliest instants at which due() may have something: by wall clock and by store clock;
  // never() when nothing.
  virtual void next_due(WallTime& wall, StoreTime& store) = 0;

  // Reads for showing and handing out; they see everything committed. not_found when the job is not
  // there.
  // Errors besides: corruption (this job only; the store goes on), io_error.
  virtual Result<core::Job> read_job(core::JobId id) = 0;
  virtual Result<core::JobBody> read_body(core::JobId id) = 0;
  virtual Result<std::vector<core::AttemptRecord>> read_history(core::JobId id) = 0;
  virtual Result<std::string> read_result(core::JobId id) = 0;

  // One page of jobs. Every job that exists during the whole walk is seen exactly once.
  virtual Result<Page> scan_page(const ScanQuery& query) = 0;

  // Queues, tokens and audit, whole (small). Order: by id.
  virtual Result<std::vector<core::Queue>> read_queues() = 0;
  virtual Result<std::vector<core::ApiToken>> read_tokens() = 0;
  virtual Result<std::vector<core::AuditRecord>> read_audit(std::size_t newest) = 0;
  virtual Result<QueueStats> queue_stats(core::QueueId id) = 0;
  virtual StoreStats stats() const = 0;

  // Housekeeping in slices of at most ~200 us (snapshot partitions, cleaning, zero filling); called
  // each turn and when idle. True when there is more to do. Errors: io_error (stopped).
  virtual Result<bool> work(Now now) = 0;

  // Writes one consistent cut into an empty or absent directory while serving. Errors: unsupported,
  // conflict (directory not empty), io_error (of the target: the store goes on).
  virtual Result<void> backup(const std::string& directory) = 0;

  // Everything durable, an end mark; no call but the destructor may follow. Errors: io_error.
  virtual Result<void> close(Now now) = 0;
};

}  // namespace weir::store
