// SPDX-License-Identifier: Apache-2.0
// Opening, committing, syncing and closing.
#include "store/journal/journal_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/prng.h"
#include "core/limits.h"
#include "store/change_bytes.h"
#include "store/journal/housekeeping.h"
#include "store/journal/replay.h"

namespace weir::store::journal {
namespace {

constexpr std::uint32_t kQueueIdBlock = 1024;

}  // namespace

JournalStore::JournalStore(FileSystem& files, std::string directory, const JournalOptions& options,
                           const Clock* clock)
    : files_(files),
      directory_(std::move(directory)),
      options_(options),
      clock_(clock),
      index_(std::make_unique<Index>(IndexOptions{.ended_in_full_max = options.ended_in_full_max})),
      stage_(std::make_unique<CommitStage>(*index_)),
      housekeeping_(std::make_unique<Housekeeping>(*this)),
      cache_(options.cache_bytes) {}

JournalStore::~JournalStore() = default;

Result<std::unique_ptr<JournalStore>> JournalStore::open(FileSystem& files,
                                                         const std::string& directory,
                                                         const JournalOptions& options, Now now,
                                                         const Clock* clock) {
  auto store = std::make_unique<JournalStore>(files, directory, options, clock);
  WEIR_TRY(store->start(now));
  return store;
}

Result<void> JournalStore::start(Now now) {
  Loaded loaded;
  const auto replay = [&](const CommitInfo& info, std::string_view body) -> Result<void> {
    remember_commit({.segment = info.segment, .commit_offset = info.commit_offset}, body.size());
    return apply_commit(info, body, *index_, loaded);
  };
  const LogOptions log_options{.create = options_.create && !options_.read_only,
                               .read_only = options_.read_only,
                               .segment_bytes = options_.segment_bytes,
                               .prng_seed = options_.prng_seed,
                               .disk_bytes_max = options_.disk_bytes_max};
  WEIR_TRY_ASSIGN(log_, Log::open(files_, directory_, log_options, replay, report_));
  identity_.name = "journal";
  identity_.store_key = log_->store_key();
  // The store's clock goes on where it was, plus what has passed by the wall since, if anything
  // has.
  const std::int64_t elapsed =
      loaded.wall_time.is_set() ? std::max<std::int64_t>(0, now.wall.since(loaded.wall_time)) : 0;
  identity_.store_time = loaded.store_time.is_set() ? loaded.store_time.plus(elapsed) : now.store;
  now.store = identity_.store_time;
  last_now_ = now;
  identity_.lease_secret = loaded.identity.lease_secret;
  if (identity_.lease_secret == Hash128{}) {
    Prng prng(options_.prng_seed + 1);
    identity_.lease_secret =
        options_.prng_seed != 0 ? Hash128{prng.next(), prng.next()} : secure_random_128();
  }
  if (loaded.identity.epoch >= core::kEpochMax) {
    return failure(ErrorCode::unsupported,
                   "the epoch is used up: restore this store into a new one");
  }
  identity_.epoch = loaded.identity.epoch + 1;
  ids_.next_job_id = std::max(loaded.ids.next_job_id, index_->highest_job_id() + 1);
  ids_.next_queue_id = std::max(loaded.ids.next_queue_id, index_->highest_queue_id() + 1);
  next_queue_id_ = ids_.next_queue_id;
  index_->finish_loading(identity_.store_time.plus(core::kLeaseGraceMs));
  if (options_.read_only) return {};
  std::string body;
  RecordWriter(body).identity({.epoch = identity_.epoch, .lease_secret = identity_.lease_secret});
  WEIR_TRY(append_small(body, Reserve::start, now));
  WEIR_TRY(sync());
  return {};
}

Result<void> JournalStore::check_running() const {
  if (stopped_) return failure(*stopped_);
  return {};
}

Error JournalStore::stop(Error error) {
  if (!stopped_) stopped_ = error;
  return error;
}

Capabilities JournalStore::capabilities() const {
  return {.survives_reopen = true, .has_backup = true};
}

void JournalStore::remember_commit(const Location& at, std::size_t body_bytes) {
  if (body_bytes == 0) return;
  commit_lengths_[at.segment].emplace_back(at.commit_offset,
                                           static_cast<std::uint32_t>(body_bytes));
}

// Errors: store_full (nothing was written) leaves the store running; everything else stops it, but
// too_large.
Result<Location> JournalStore::append(SegmentKind kind, Reserve reserve, std::string_view body,
                                      Now now) {
  auto at = log_->append(body, kind, reserve, identity_.epoch, now);
  if (!at) {
    if (at.error().code == ErrorCode::store_full || at.error().code == ErrorCode::too_large)
      return at;
    return failure(stop(std::move(at).error()));
  }
  ++stats_.commits;
  // Frames have heads, and every commit fills whole blocks.
  const std::uint64_t frames = body.size() / kFrameBodyBytesMax + 1;
  stats_.bytes_written += (body.size() + frames * 96 + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  remember_commit(*at, body.size());
  last_now_ = now;
  return at;
}

Result<void> JournalStore::append_small(const std::string& body, Reserve reserve, Now now) {
  WEIR_TRY(append(SegmentKind::hot, reserve, body, now));
  return {};
}

// ---- ids ----

Result<IdRange> JournalStore::allocate_job_ids() {
  WEIR_TRY(check_running());
  const DurableIds before = ids_;
  const IdRange range{.first = ids_.next_job_id, .count = core::kIdBlock};
  ids_.next_job_id += core::kIdBlock;
  std::string body;
  RecordWriter(body).ids(ids_);
  if (auto written = append_small(body, Reserve::none, last_now_); !written) {
    ids_ = before;
    return failure(std::move(written).error());
  }
  WEIR_TRY(sync());
  return range;
}

Result<core::QueueId> JournalStore::allocate_queue_id() {
  WEIR_TRY(check_running());
  if (next_queue_id_ == ids_.next_queue_id) {
    const DurableIds before = ids_;
    ids_.next_queue_id += kQueueIdBlock;
    std::string body;
    RecordWriter(body).ids(ids_);
    if (auto written = append_small(body, Reserve::none, last_now_); !written) {
      ids_ = before;
      return failure(std::move(written).error());
    }
    WEIR_TRY(sync());
  }
  return core::QueueId{next_queue_id_++};
}

// ---- commit ----

Result<std::uint64_t> JournalStore::commit(std::span<const core::ChangeSet> change_sets, Now now,
                                           std::vector<CommitResult>& results) {
  WEIR_TRY(check_running());
  results.assign(change_sets.size(), CommitResult::guard_missed);
  std::vector<bool> is_open(change_sets.size(), true);
  const std::uint64_t before = log_->last_seq();
  // Once with room for all; if the log has none, once more with those that may use the reserve.
  WEIR_TRY(stage_all(change_sets, now, Reserve::none, results, is_open));
  if (std::find(is_open.begin(), is_open.end(), true) != is_open.end()) {
    for (std::size_t i = 0; i < change_sets.size(); ++i) {
      if (!is_open[i] || change_sets[i].may_use_reserve) continue;
      results[i] = CommitResult::refused_full;
      is_open[i] = false;
    }
    WEIR_TRY(stage_all(change_sets, now, Reserve::workers, results, is_open));
    for (std::size_t i = 0; i < change_sets.size(); ++i) {
      if (!is_open[i]) continue;
      results[i] = CommitResult::refused_full;
      housekeeping_->note_refusal();
    }
  }
  return log_->last_seq() == before ? 0 : log_->last_seq();
}

// Judges and applies the open ChangeSets in order, in as few commits as fit. Those that found no
// room stay open.
Result<void> JournalStore::stage_all(std::span<const core::ChangeSet> change_sets, Now now,
                                     Reserve reserve, std::vector<CommitResult>& results,
                                     std::vector<bool>& is_open) {
  const std::size_t body_bytes_max =
      static_cast<std::size_t>(log_body_bytes_max(options_.segment_bytes));
  const bool cut_texts = log_->is_full();
  std::vector<std::size_t> staged;
  const auto flush = [&]() -> Result<bool> {
    WEIR_TRY_ASSIGN(const bool is_written, flush_stage(reserve, now));
    if (is_written) {
      for (const std::size_t i : staged) {
        results[i] = CommitResult::applied;
        is_open[i] = false;
      }
    }
    staged.clear();
    return is_written;
  };
  stage_->clear();
  for (std::size_t i = 0; i < change_sets.size(); ++i) {
    if (!is_open[i]) continue;
    // Weighed only where it might not fit.
    const bool is_close = stage_->body().size() + core::kTurnBytesMax > body_bytes_max;
    if (!staged.empty() && is_close &&
        stage_->body().size() + change_bytes(change_sets[i]) > body_bytes_max) {
      WEIR_TRY_ASSIGN(const bool is_written, flush());
      if (!is_written) return {};
    }
    if (!stage_->guards_hold(change_sets[i])) {
      results[i] = CommitResult::guard_missed;
      is_open[i] = false;
      continue;
    }
    stage_->stage(change_sets[i], cut_texts || reserve == Reserve::workers);
    staged.push_back(i);
  }
  WEIR_TRY(flush());
  return {};
}

// False when there was no room: nothing is changed then.
Result<bool> JournalStore::flush_stage(Reserve reserve, Now now) {
  if (!stage_->body().empty()) {
    auto at = append(SegmentKind::hot, reserve, stage_->body(), now);
    if (!at) {
      stage_->clear();
      if (at.error().code == ErrorCode::store_full) return false;
      return failure(std::move(at).error());
    }
    if (stage_->has_bodies()) cache_.put(*at, stage_->body());
    stage_->apply(*at);
  }
  stage_->clear();
  return true;
}

Result<void> JournalStore::sync() {
  WEIR_TRY(check_running());
  if (log_->durable_seq() == log_->last_seq()) return {};
  const std::int64_t start_us = clock_ == nullptr ? 0 : clock_->boot_us();
  if (auto synced = log_->sync(); !synced) return failure(stop(std::move(synced).error()));
  if (clock_ != nullptr)
    stats_.last_sync_us = static_cast<std::uint64_t>(clock_->boot_us() - start_us);
  ++stats_.syncs;
  return {};
}

std::uint64_t JournalStore::durable_seq() const { return log_->durable_seq(); }

StoreStats JournalStore::stats() const {
  StoreStats stats = stats_;
  stats.disk_bytes = log_->disk_bytes();
  stats.live_bytes = index_->use().total_bytes() + housekeeping_->snapshot_bytes();
  stats.memory_bytes = index_->memory_bytes() + cache_.bytes();
  stats.is_full = log_->is_full();
  return stats;
}

Result<bool> JournalStore::work(Now now) {
  WEIR_TRY(check_running());
  auto more = housekeeping_->work(now);
  index_->set_full(log_->is_full());
  return more;
}

Result<void> JournalStore::backup(const std::string& directory) {
  WEIR_TRY(sync());
  return log_->copy_to(files_, directory, log_->durable_seq());
}

Result<void> JournalStore::close(Now now) {
  WEIR_TRY(sync());
  if (auto closed = log_->close(identity_.epoch, now); !closed) {
    return failure(stop(std::move(closed).error()));
  }
  stop({.code = ErrorCode::unavailable, .detail = "the store is closed"});
  return {};
}

}  // namespace weir::store::journal
