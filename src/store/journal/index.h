// SPDX-License-Identifier: Apache-2.0
// The journal's index: everything but payloads, histories and results, in memory. It is a pure
// function of the records applied to it, by a commit or by replay; it never reads the log and knows
// locations only as numbers.
//
// Life: apply records while loading (only tables are kept), finish_loading() builds lanes, timers
// and retention lists in one pass, then apply as commits come. Applying a record twice changes
// nothing.
//
// Files: index.cc (jobs in and out), index_places.cc (their texts), index_pack.cc (Job <-> HotJob),
// index_keys.cc (queues, keys, locks, tokens), index_order.cc (lanes, groups), index_time.cc
// (timers, retention), index_scan.cc (lists, counts, partitions).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/change.h"
#include "core/dispatch/lane.h"
#include "core/view.h"
#include "store/journal/hot_job.h"
#include "store/journal/id_table.h"
#include "store/journal/lane_queue.h"
#include "store/journal/segment_use.h"
#include "store/journal/slot_pool.h"
#include "store/journal/string_table.h"
#include "store/journal/timer_heap.h"
#include "store/store.h"

namespace weir::store::journal {

// Which parts of a job a record holds. at nowhere: the record is not to be remembered (a snapshot's
// listing).
struct RecordParts {
  PackedLocation at;
  bool has_body = false;
  bool has_attempts = false;
  bool has_result = false;
  bool is_whole = false;  // a moved record: it replaces every older location of the job
};

// What a guard compares.
struct JobFacts {
  bool exists = false;
  core::JobState state = core::JobState::pending;
  std::uint32_t attempt = 0;
  std::uint64_t version = 0;
  StoreTime deadline_at;
};

// Where a job's texts lie.
struct JobPlaces {
  PackedLocation body;
  PackedLocation result;
  PackedLocation last;                   // ended jobs only
  std::vector<PackedLocation> attempts;  // oldest first
  bool is_shrunk = false;                // the job itself must be read from `last`
};

struct IndexOptions {
  std::size_t ended_in_full_max = 16'384;  // ended jobs beyond these are shrunk
};

// So many records with attempts of one job call for folding them into one.
inline constexpr std::size_t kHistoryFoldAt = 64;
inline constexpr std::size_t kAuditKeptMax = 10'000;

class Index {
 public:
  explicit Index(IndexOptions options = {}) : options_(options) {}

  // Applying. put_job with a version older than the job's is passed over but for the parts.
  void put_job(const core::Job& job, const RecordParts& parts);
  void erase_job(core::JobId id);
  // The cleaner wrote the job whole: all its places are parts.at now, nothing else changes.
  void move_job(core::JobId id, const RecordParts& parts);
  void put_unique_key(const core::UniqueKey& entry);
  void erase_unique_key(core::QueueId queue, std::string_view key);
  void put_group_lock(const core::GroupLock& lock);
  void erase_group_lock(core::QueueId queue, std::string_view group);
  void put_queue(const core::Queue& queue);
  void erase_queue(core::QueueId id);
  void put_idempotency(const core::IdempotencyEntry& entry);
  void erase_idempotency(const Hash128& scope);
  void put_token(const core::ApiToken& token);
  void add_audit(const core::AuditRecord& record);

  // Loading. What a snapshot of a partition does not list is gone.
  void begin_partition(
      std::uint32_t partition);  // forgets the keys, locks and idempotency entries of the partition
  void keep_only(std::uint32_t partition, const std::vector<std::uint64_t>& sorted_ids);
  void keep_only_queues(const std::vector<std::uint32_t>& sorted_ids);
  void clear_tokens_and_audit();
  // Every timed lease gets at least until `least_deadline`. Builds lanes, timers and retention.
  void finish_loading(StoreTime least_deadline);

  // Looking.
  JobFacts facts(core::JobId id) const;
  // False when the job is not there; a shrunk job (places().is_shrunk) can't be loaded from here.
  bool load_job(core::JobId id, core::Job& out) const;
  // The job as it is kept, nullptr when it is not there or shrunk. Lives until the next change.
  const HotJob* whole_job(core::JobId id) const;
  // Fills every field of `out`, whatever was in it.
  void unpack(const HotJob& hot, core::Job& out) const;
  bool places(core::JobId id, JobPlaces& out) const;
  static std::vector<PackedLocation> distinct(const JobPlaces& places);
  const core::Queue* queue(core::QueueId id) const;
  const core::Queue* queue(std::uint32_t namespace_id, std::string_view name) const;
  core::QueueCounts counts(core::QueueId id) const;
  std::uint64_t urgent(core::QueueId id) const;
  std::optional<core::UniqueKey> unique_key(core::QueueId queue, std::string_view key) const;
  std::optional<core::GroupLock> group_lock(core::QueueId queue, std::string_view group) const;
  const core::IdempotencyEntry* idempotency(const Hash128& scope) const;
  const core::ApiToken* token(std::string_view id) const;
  const std::map<std::string, core::ApiToken, std::less<>>& tokens() const { return tokens_; }
  const std::deque<core::AuditRecord>& audit() const { return audit_; }
  std::vector<core::Queue> queues() const;

  // Dispatch and time.
  void heads(const core::LaneFilter& filter, std::size_t places, std::vector<core::LaneHead>& out);
  void due(Now now, std::size_t limit, std::vector<Due>& out);
  // While the disk is full no completed job is kept: new work is worth more than the memory of old.
  void set_full(bool is_full);
  void next_due(WallTime& wall, StoreTime& store);
  WallTime oldest_pending_since(core::QueueId id);

  // Lists. The next id beyond `id` in scan direction; 0 at the end.
  std::uint64_t next_id(std::uint64_t id, bool newest_first) const {
    return newest_first ? order_.next_before(id) : order_.next_after(id);
  }
  // The cheap columns, without building a Job. Requires: the job is there.
  bool has_job(core::JobId id) const { return find(id.value) != 0; }
  core::QueueId queue_of(core::JobId id) const;
  core::JobState state_of(core::JobId id) const;

  // Partitions, for snapshots: living jobs in full, of ended ones the id (their record stays in the
  // log as a place).
  void for_partition(std::uint32_t partition, const std::function<void(const core::Job&)>& living,
                     const std::function<void(std::uint64_t)>& ended) const;
  void for_partition_keys(std::uint32_t partition,
                          const std::function<void(const core::UniqueKey&)>& keys,
                          const std::function<void(const core::GroupLock&)>& locks,
                          const std::function<void(const core::IdempotencyEntry&)>& answers) const;
  std::size_t partition_size(std::uint32_t partition) const {
    return ids_.partition_size(partition);
  }

  // For the cleaner: walks the slots [from, from + count) of living (or ended) jobs and calls for
  // those that point into a segment for which wanted(segment) is true. Returns the slot to go on
  // from; 0 at the end.
  std::uint32_t walk_places(bool ended, std::uint32_t from, std::uint32_t count,
                            const std::function<bool(std::uint32_t)>& wanted,
                            const std::function<void(core::JobId)>& found) const;

  // Jobs whose attempts lie in so many records that they should be folded into one; each is told
  // once.
  std::vector<core::JobId> take_fold_wanted() { return std::move(fold_wanted_); }

  SegmentUse& use() { return use_; }
  const SegmentUse& use() const { return use_; }
  std::size_t job_count() const { return hot_.used() + ended_.used(); }
  std::size_t living_count() const;
  std::size_t memory_bytes() const;
  std::uint64_t highest_job_id() const { return highest_job_id_; }
  std::uint32_t highest_queue_id() const { return highest_queue_id_; }

 private:
  struct Lane {
    std::uint8_t priority_class = 0;
    std::uint32_t kind = 0;
    std::unique_ptr<LaneQueue> jobs;
  };
  struct EndedRef {
    std::uint64_t id = 0;
    std::int64_t ended_at = 0;
    bool operator<(const EndedRef& other) const {
      return ended_at != other.ended_at ? ended_at < other.ended_at : id < other.id;
    }
  };
  enum RetentionList : std::uint8_t { completed_list = 0, dead_list = 1, other_list = 2 };
  struct QueueState {
    bool exists = false;
    core::Queue queue;
    core::QueueCounts counts;
    std::uint64_t urgent = 0;  // pending jobs below kUrgentBelow
    std::vector<Lane> lanes;   // by (class, kind number)
    PendingSince since;
    std::array<std::deque<EndedRef>, 3> ended;  // each by (ended_at, id), with stale entries
    std::int64_t retention_at = 0;              // 0: nothing to retain
    bool is_empty() const { return !exists && counts.total() == 0; }
  };
  struct Group {
    std::vector<OrderEntry> waiting;  // heap by (rank, id); stale entries are dropped lazily
    std::size_t true_count = 0;
    std::uint64_t holder = 0;
    std::uint32_t offered = 0;  // slot that stands in its lane
  };
  struct UniqueEntry {
    std::uint64_t job = 0;
    std::int64_t until = 0;
  };
  struct ScopeHash {
    std::size_t operator()(const Hash128& h) const {
      return static_cast<std::size_t>(h.low ^ (h.high << 1));
    }
  };
  struct EndedMore {
    PackedLocation first_attempt, result;
    std::vector<PackedLocation> more_attempts;
  };
  using TextKey = std::uint64_t;  // queue << 32 | number of the text
  static TextKey text_key(std::uint32_t queue, std::uint32_t text) {
    return (static_cast<std::uint64_t>(queue) << 32) | text;
  }
  // Stable over restarts.
  static std::uint32_t text_partition(std::uint32_t queue, std::string_view text);
  static std::uint32_t scope_partition(const Hash128& scope) {
    return static_cast<std::uint32_t>(scope.low) & (kPartitionCount - 1);
  }

  // index.cc
  std::uint64_t id_of(std::uint32_t slot) const {
    return (slot & kEndedBit) != 0 ? ended_[slot & ~kEndedBit].id : hot_[slot].id;
  }
  std::uint32_t find(std::uint64_t id) const {
    return ids_.find(id, [this](std::uint32_t slot) { return id_of(slot); });
  }
  std::vector<std::uint32_t> slots_by_id() const;
  void attach(std::uint32_t slot);
  void detach(std::uint32_t slot);
  std::uint32_t grow_back(std::uint32_t ended_slot);  // EndedJob -> HotJob
  void shrink(std::uint32_t slot);                    // HotJob -> EndedJob
  void shrink_oldest();
  void release_hot(std::uint32_t slot);
  void release_places(std::uint32_t slot);
  void remember_places(std::uint32_t slot, const RecordParts& parts);
  void add_attempts(HotJob& job, PackedLocation at);
  bool refers_to(const HotJob& job, const PackedLocation& at) const;
  void set_place(HotJob& job, PackedLocation& field, const PackedLocation& at);
  void count(std::uint32_t queue, core::JobState state, int change);
  void ended_places(std::uint32_t number, JobPlaces& out) const;
  void set_ended_places(std::uint32_t number, const RecordParts& parts);
  void release_ended_places(std::uint32_t number);

  // index_pack.cc
  Extra* extra_of(const HotJob& job);
  const Extra* extra_of(const HotJob& job) const;
  Extra& need_extra(HotJob& job);
  void pack(const core::Job& job, HotJob& hot);
  void pack_lease(const core::Job& job, HotJob& hot);
  void pack_extra(const core::Job& job, Extra& extra);
  void set_text(std::uint32_t& field, std::string_view text);
  void release_lease(HotJob& job);
  void release_extra(HotJob& job);

  // index_keys.cc
  QueueState& queue_state(std::uint32_t id);
  const QueueState* find_queue_state(std::uint32_t id) const;
  void drop_queue_if_empty(std::uint32_t id);

  // index_order.cc
  LaneQueue& lane_of(const HotJob& job);
  void lane_put(std::uint32_t slot);
  void lane_remove(std::uint32_t slot);
  void group_put(std::uint32_t slot, std::uint32_t group_text);
  void group_remove(std::uint32_t slot, std::uint32_t group_text);
  Group& group_state(std::uint32_t queue, std::string_view group);
  void refresh_group(std::uint32_t queue, std::uint32_t group_text);
  std::uint32_t group_head(Group& group);
  std::unordered_map<TextKey, Group>& group_shard(std::uint32_t queue, std::uint32_t text) {
    return groups_[text_partition(queue, strings_.text(text))];
  }
  void add_heads(QueueState& state, const core::LaneFilter& filter, std::size_t places,
                 std::vector<core::LaneHead>& out);

  // index_time.cc
  using JobTimer = TimerHeap<std::uint64_t>;  // key: slot << 32 | low half of the id
  static std::uint64_t timer_key(const HotJob& job, std::uint32_t slot) {
    return (static_cast<std::uint64_t>(slot) << 32) | static_cast<std::uint32_t>(job.id);
  }
  void start_timers(std::uint32_t slot);
  std::int64_t ttl_of(const HotJob& job) const;  // the instant, 0 when it has none
  std::int64_t deadline_of(const HotJob& job) const;
  bool is_true_timer(Due::Kind kind, bool wall, const JobTimer::Entry& entry) const;
  bool is_true_retention(const TimerHeap<std::uint32_t>::Entry& entry) const;
  bool is_true_unique(const TimerHeap<std::uint64_t>::Entry& entry) const;
  void add_ended(std::uint32_t slot);
  void refresh_retention(QueueState& state);
  bool is_true_ended(const EndedRef& ref, RetentionList list) const;
  static RetentionList list_of(core::JobState state);
  static std::int64_t retention_ms(const QueueState& state, RetentionList list);
  struct LateDue;
  std::uint64_t completed_max(const QueueState& state) const;
  void retention_due(QueueState& state, Now now, std::size_t limit, std::vector<LateDue>& out);

  IndexOptions options_;
  bool is_loading_ = true;
  HotJobs hot_;
  SlotPool<Extra, 256> extras_;
  SlotPool<LeaseSide, 256> leases_;
  SlotPool<EndedJob> ended_;
  IdTable ids_;
  IdOrder order_;
  StringTable strings_;
  SegmentUse use_;
  std::unordered_map<std::uint32_t, EndedMore> ended_more_;
  std::deque<EndedRef> recently_ended_;
  std::vector<core::JobId> fold_wanted_;

  std::map<std::uint32_t, std::unique_ptr<QueueState>> queues_;
  bool is_full_ = false;
  mutable QueueState* last_queue_ = nullptr;  // the one looked up last
  mutable std::uint32_t last_queue_id_ = 0;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> queue_names_;

  std::array<std::unordered_map<TextKey, Group>, kPartitionCount> groups_;
  std::array<std::unordered_map<TextKey, UniqueEntry>, kPartitionCount> uniques_;
  std::array<std::unordered_map<Hash128, core::IdempotencyEntry, ScopeHash>, kPartitionCount>
      idempotency_;
  std::map<std::string, core::ApiToken, std::less<>> tokens_;
  std::deque<core::AuditRecord> audit_;

  JobTimer run_at_wall_, run_at_store_, retry_, lease_, ttl_;
  TimerHeap<std::uint64_t> unique_until_;  // key: TextKey
  TimerHeap<Hash128> idempotency_until_;
  TimerHeap<std::uint32_t> retention_;  // key: queue
  std::size_t ttl_count_ = 0;
  std::array<std::size_t, core::kJobStateCount + 1> state_counts_{};
  std::size_t unique_count_ = 0, unique_timed_ = 0, idempotency_count_ = 0;
  std::size_t idempotency_bytes_ = 0;
  std::uint64_t highest_job_id_ = 0;
  std::uint32_t highest_queue_id_ = 0;
};

}  // namespace weir::store::journal
