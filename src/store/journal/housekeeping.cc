// SPDX-License-Identifier: Apache-2.0
// The order of slices: seal, plan, snapshot, free. cleaner.cc moves the jobs.
#include "store/journal/housekeeping.h"

#include <algorithm>

#include "store/journal/replay.h"

namespace weir::store::journal {
namespace {

constexpr std::int64_t kIdleMs = 500;
constexpr std::uint64_t kSliceBytes = 64u << 10;          // about 200 us of encoding
constexpr std::size_t kSnapshotCommitBytes = 256u << 10;  // small partitions share commits
// While full, cycles follow small changes, and go four times as fast as work does: a round of
// snapshots must end before the reserve does.
constexpr std::uint64_t kFullRetryBytes = 64u << 10;
constexpr std::uint64_t kFullSpeed = 4;
constexpr std::int64_t kFullRestMs = 250;
// In a snapshot.
constexpr std::uint64_t kPartitionBytesGuess = 24;
constexpr std::uint64_t kLivingBytesGuess = 128;
constexpr std::uint64_t kIdBytesGuess = 8;

}  // namespace

Result<bool> Housekeeping::work(Now now) {
  WEIR_TRY_ASSIGN(const bool more_spares, store_.log_->prepare_spares());
  const std::uint64_t written = store_.stats_.bytes_written;
  const std::uint64_t speed = store_.log_->is_full() ? kFullSpeed : 1;
  const std::uint64_t budget = speed * std::max(kSliceBytes, written - written_at_last_slice_);
  foreign_bytes_ += written - written_at_last_slice_;
  WEIR_TRY_ASSIGN(const bool has_sealed, seal(now));
  for (const core::JobId id : store_.index_->take_fold_wanted()) to_move_.push_back(id);
  if (phase_ == Phase::idle) WEIR_TRY(plan(now));
  if (!to_move_.empty() || phase_ == Phase::moving) {
    WEIR_TRY(move_slice(now, budget));
  } else if (phase_ == Phase::snapshotting) {
    WEIR_TRY(snapshot_slice(now, budget));
  } else if (phase_ == Phase::freeing) {
    WEIR_TRY(free_segments());
  }
  // What housekeeping itself wrote gives it no more to do.
  written_at_last_slice_ = store_.stats_.bytes_written;
  return more_spares || has_sealed || phase_ != Phase::idle || !to_move_.empty();
}

// An idle log ends with an empty commit that says how far it is durable: recovery then tells damage
// from a torn tail.
Result<bool> Housekeeping::seal(Now now) {
  const std::uint64_t last = store_.log_->last_seq();
  if (last == sealed_seq_) return false;
  if (last != idle_seq_) {
    idle_seq_ = last;
    idle_since_ = now.store;
    return false;
  }
  if (now.store.since(idle_since_) < kIdleMs) return false;
  WEIR_TRY(store_.sync());
  auto sealed = store_.append(SegmentKind::hot, Reserve::workers, {}, now);
  if (!sealed && sealed.error().code != ErrorCode::store_full) {
    return failure(std::move(sealed).error());
  }
  WEIR_TRY(store_.sync());
  sealed_seq_ = store_.log_->last_seq();
  idle_seq_ = sealed_seq_;
  return true;
}

// Begins a cycle when the log is larger than the living data warrants: 1.5 times that and one
// segment. With the active, spare and reserve segments the disk stays under twice the living data
// and 128 MiB.
Result<void> Housekeeping::plan(Now now) {
  const std::uint64_t written = store_.stats_.bytes_written;
  const bool is_full = store_.log_->is_full();
  // A full store may be written to by nobody: what is dead already is given back all the same.
  const bool may_gain = is_full && foreign_bytes_ > 0 && now.store.since(cycle_at_) >= kFullRestMs;
  if (written < next_cycle_at_bytes_ && !may_gain) return {};
  WEIR_TRY(keep_reserve());
  const std::uint64_t segment_bytes = store_.options_.segment_bytes;
  const std::vector<SegmentInfo> segments = store_.log_->segments();
  std::uint64_t used = 0;
  for (const SegmentInfo& segment : segments) used += segment.used_bytes;
  const std::uint64_t live = store_.index_->use().total_bytes() + snapshot_bytes_;
  next_cycle_at_bytes_ = written + rest_bytes();
  if (used <= live + live / 2 + segment_bytes && !is_full) return {};
  if (segments.size() <= 1) return {};
  choose_victims(segments);
  next_slot_ = 0;
  is_walking_ended_ = false;
  has_walked_ = victims_.empty();
  moved_bytes_ = 0;
  foreign_bytes_ = 0;
  cycle_at_ = now.store;
  phase_ = Phase::moving;
  return {};
}

// While full, a segment that fills up during a round of snapshots is given back by the next one:
// two rounds, what work writes meanwhile, and a rest must fit into the reserve. Before the first
// round its size is a guess.
Result<void> Housekeeping::keep_reserve() {
  const std::uint64_t guess = kPartitionCount * kPartitionBytesGuess +
                              store_.index_->living_count() * kLivingBytesGuess +
                              store_.index_->job_count() * kIdBytesGuess;
  const std::uint64_t round_bytes = std::max(guess, snapshot_bytes_);
  return store_.log_->set_cleaner_reserve(
      1 + static_cast<std::size_t>(3 * round_bytes / store_.options_.segment_bytes));
}

// The deadest segments first, as long as moving what lives in them is worth it.
void Housekeeping::choose_victims(const std::vector<SegmentInfo>& segments) {
  victims_.clear();
  std::vector<std::pair<double, const SegmentInfo*>> candidates;
  std::uint64_t used = 0;
  for (const SegmentInfo& segment : segments) {
    used += segment.used_bytes;
    if (segment.is_active || segment.used_bytes == 0 || stuck_.contains(segment.number)) continue;
    const std::uint64_t live = store_.index_->use().live_bytes(segment.number);
    if (live == 0) continue;
    const double share = static_cast<double>(live) / static_cast<double>(segment.used_bytes);
    if (share < 0.75) candidates.emplace_back(share, &segment);
  }
  std::sort(candidates.begin(), candidates.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::uint64_t left = std::max<std::uint64_t>(store_.options_.segment_bytes, used / 4);
  // What is moved into the reserve must leave room for the snapshots.
  if (store_.log_->is_full()) left = store_.options_.segment_bytes / 4;
  for (const auto& [share, segment] : candidates) {
    const std::uint64_t live = store_.index_->use().live_bytes(segment->number);
    if (live > left) break;
    left -= live;
    victims_.insert(segment->number);
  }
}

// ---- snapshots ----

Result<void> Housekeeping::snapshot_slice(Now now, std::uint64_t budget_bytes) {
  if (next_partition_ == 0) {
    round_begin_seq_ = store_.log_->last_seq();
    round_bytes_ = 0;
  }
  std::uint64_t done = 0;
  const std::size_t commit_bytes =
      std::min<std::size_t>(kSnapshotCommitBytes, store_.options_.segment_bytes / 4);
  while (done < budget_bytes && next_partition_ <= kPartitionCount) {
    if (next_partition_ < kPartitionCount) {
      write_partition(*store_.index_, next_partition_, payload_);
      RecordWriter(body_).whole(RecordType::partition, payload_);
    } else {
      write_meta(*store_.index_, store_.ids_,
                 {.epoch = store_.identity_.epoch, .lease_secret = store_.identity_.lease_secret},
                 payload_);
      RecordWriter(body_).whole(RecordType::meta, payload_);
    }
    ++next_partition_;
    // An empty partition costs a look too.
    done += payload_.size() + 64;
    round_bytes_ += payload_.size();
    if (body_.size() >= commit_bytes) WEIR_TRY(append_snapshots(now));
    if (phase_ != Phase::snapshotting) return {};
  }
  // What a later commit changes must not be overtaken: a snapshot is written before the slice ends.
  WEIR_TRY(append_snapshots(now));
  if (phase_ == Phase::snapshotting && next_partition_ > kPartitionCount) {
    snapshot_bytes_ = round_bytes_;
    round_end_seq_ = store_.log_->last_seq();
    ++store_.stats_.snapshots;
    phase_ = Phase::freeing;
  }
  return {};
}

Result<void> Housekeeping::append_snapshots(Now now) {
  if (body_.empty()) return {};
  auto written = store_.append(SegmentKind::hot, Reserve::cleaner, body_, now);
  body_.clear();
  if (written) return {};
  if (written.error().code != ErrorCode::store_full) return failure(std::move(written).error());
  phase_ = Phase::idle;  // without room even in the reserve: after more was given back
  next_cycle_at_bytes_ = store_.stats_.bytes_written + kFullRetryBytes;
  return {};
}

// ---- giving back ----

// One a slice: each costs a sync of the manifest.
Result<void> Housekeeping::free_segments() {
  if (store_.log_->durable_seq() < round_end_seq_) WEIR_TRY(store_.sync());
  for (const SegmentInfo& segment : store_.log_->segments()) {
    if (segment.is_active || segment.last_seq > round_begin_seq_) continue;
    if (store_.index_->use().live_bytes(segment.number) != 0) continue;
    if (auto freed = store_.log_->free_segment(segment.number); !freed) {
      return failure(store_.stop(std::move(freed).error()));
    }
    store_.index_->use().forget(segment.number);
    store_.commit_lengths_.erase(segment.number);
    ++store_.stats_.cleaned_segments;
    return {};
  }
  phase_ = Phase::idle;
  next_cycle_at_bytes_ = store_.stats_.bytes_written + rest_bytes();
  return {};
}

// What may be written between two cycles. While full it is little, but not nothing beside what a
// cycle writes itself.
std::uint64_t Housekeeping::rest_bytes() const {
  const std::uint64_t segment_bytes = store_.options_.segment_bytes;
  if (!store_.log_->is_full()) return segment_bytes / 8;
  return std::max(std::min(kFullRetryBytes, segment_bytes / 16), snapshot_bytes_ / 4);
}

}  // namespace weir::store::journal
