// SPDX-License-Identifier: Apache-2.0
#include "store/journal/commit_stage.h"

#include <algorithm>

#include "base/text.h"
#include "core/limits.h"

namespace weir::store::journal {
namespace {

template <typename Map>
const typename Map::mapped_type* find_in(const Map& map, const typename Map::key_type& key) {
  if (map.empty()) return nullptr;
  const auto at = map.find(key);
  return at == map.end() ? nullptr : &at->second;
}

JobFacts facts_of(const core::JobChange& change) {
  JobFacts facts;
  if (change.erase) return facts;
  facts.exists = true;
  facts.state = change.after.state;
  facts.attempt = change.after.attempt;
  facts.version = change.after.version;
  if (change.after.lease) facts.deadline_at = change.after.lease->deadline_at;
  return facts;
}

}  // namespace

void CommitStage::JobOverlay::clear() {
  ++stamp_;
  used_ = 0;
}

const JobFacts* CommitStage::JobOverlay::find(std::uint64_t id) const {
  if (used_ == 0) return nullptr;
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = home(id, mask); entries_[at].stamp == stamp_; at = (at + 1) & mask) {
    if (entries_[at].id == id) return &entries_[at].facts;
  }
  return nullptr;
}

void CommitStage::JobOverlay::put(std::uint64_t id, const JobFacts& facts) {
  if ((used_ + 1) * 2 > entries_.size()) {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    used_ = 0;
    for (const Entry& entry : old) {
      if (entry.stamp == stamp_) put(entry.id, entry.facts);
    }
  }
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = home(id, mask);
  while (entries_[at].stamp == stamp_ && entries_[at].id != id) at = (at + 1) & mask;
  if (entries_[at].stamp != stamp_) ++used_;
  entries_[at] = {id, stamp_, facts};
}

void CommitStage::clear() {
  body_.clear();
  has_bodies_ = false;
  staged_.clear();
  jobs_.clear();
  job_overlay_.clear();
  unique_overlay_.clear();
  lock_overlay_.clear();
  queue_overlay_.clear();
  queue_name_overlay_.clear();
  idempotency_overlay_.clear();
}

// ---- guards ----

bool CommitStage::holds(const core::JobChange& change) const {
  const core::JobGuard& guard = change.guard;
  const JobFacts* staged = job_overlay_.find(change.after.id.value);
  const JobFacts facts = staged != nullptr ? *staged : index_.facts(change.after.id);
  if (guard.absent || !facts.exists) return guard.absent == !facts.exists;
  if (facts.state != guard.state || facts.attempt != guard.attempt ||
      facts.version != guard.version)
    return false;
  return !guard.deadline_after.is_set() || facts.deadline_at > guard.deadline_after;
}

bool CommitStage::holds(const core::UniqueKeyChange& change) const {
  std::uint64_t job = 0;
  if (const auto* staged = find_in(unique_overlay_, {change.after.queue.value, change.after.key})) {
    job = *staged;
  } else if (const auto entry = index_.unique_key(change.after.queue, change.after.key)) {
    job = entry->job.value;
  }
  if (change.expected_job) return job != 0 && job == change.expected_job->value;
  return job == 0 || job == change.after.job.value;
}

bool CommitStage::holds(const core::GroupLockChange& change) const {
  std::uint64_t holder = 0;
  if (const auto* staged = find_in(lock_overlay_, {change.after.queue.value, change.after.group})) {
    holder = *staged;
  } else if (const auto lock = index_.group_lock(change.after.queue, change.after.group)) {
    holder = lock->holder.value;
  }
  if (change.expected_holder) return holder != 0 && holder == change.expected_holder->value;
  return holder == 0;
}

bool CommitStage::holds(const core::QueueChange& change) const {
  const auto* staged = find_in(queue_overlay_, change.after.id.value);
  const core::Queue* queue = staged != nullptr ? nullptr : index_.queue(change.after.id);
  const std::uint64_t version = staged != nullptr  ? staged->version
                                : queue != nullptr ? queue->version
                                                   : 0;
  const bool exists = staged != nullptr ? staged->version != 0 : queue != nullptr;
  if (change.expected_version != 0) return exists && version == change.expected_version;
  if (exists) return false;
  const auto* named = find_in(queue_name_overlay_, {change.after.namespace_id, change.after.name});
  return named != nullptr ? !*named
                          : index_.queue(change.after.namespace_id, change.after.name) == nullptr;
}

bool CommitStage::holds(const core::IdempotencyChange& change) const {
  if (change.erase) return true;
  if (const auto* staged = find_in(idempotency_overlay_, change.after.scope)) return !*staged;
  return index_.idempotency(change.after.scope) == nullptr;
}

bool CommitStage::guards_hold(const core::ChangeSet& change_set) const {
  const auto all_hold = [this](const auto& changes) {
    return std::all_of(changes.begin(), changes.end(),
                       [this](const auto& change) { return holds(change); });
  };
  return all_hold(change_set.jobs) && all_hold(change_set.unique_keys) &&
         all_hold(change_set.group_locks) && all_hold(change_set.queues) &&
         all_hold(change_set.idempotency);
}

// ---- records ----

void CommitStage::overlay(const core::ChangeSet& change_set) {
  for (const core::JobChange& change : change_set.jobs) {
    job_overlay_.put(change.after.id.value, facts_of(change));
  }
  for (const core::UniqueKeyChange& change : change_set.unique_keys) {
    unique_overlay_[{change.after.queue.value, change.after.key}] =
        change.erase ? 0 : change.after.job.value;
  }
  for (const core::GroupLockChange& change : change_set.group_locks) {
    lock_overlay_[{change.after.queue.value, change.after.group}] =
        change.erase ? 0 : change.after.holder.value;
  }
  for (const core::QueueChange& change : change_set.queues) {
    queue_overlay_[change.after.id.value] = {
        change.erase ? 0 : std::max<std::uint64_t>(change.after.version, 1)};
    queue_name_overlay_[{change.after.namespace_id, change.after.name}] = !change.erase;
  }
  for (const core::IdempotencyChange& change : change_set.idempotency) {
    idempotency_overlay_[change.after.scope] = !change.erase;
  }
}

void CommitStage::write_jobs(const core::ChangeSet& change_set, bool cut_texts) {
  gone_.clear();
  for (const core::JobChange& change : change_set.jobs) {
    if (change.erase) {
      gone_.push_back(change.after.id);
      continue;
    }
    const core::AttemptRecord* attempt = change.attempt ? &*change.attempt : nullptr;
    core::AttemptRecord cut;
    if (attempt != nullptr && cut_texts &&
        attempt->error.message.size() > core::kErrorMessageReserveBytesMax) {
      cut = *attempt;
      cut.error.message = cut_utf8(cut.error.message, core::kErrorMessageReserveBytesMax);
      attempt = &cut;
    }
    const auto offset = static_cast<std::uint32_t>(body_.size());
    const std::uint32_t length = writer_.job(change.after, change.body ? &*change.body : nullptr,
                                             attempt, change.result ? &*change.result : nullptr);
    jobs_.push_back({offset, length});
    has_bodies_ = has_bodies_ || change.body.has_value();
  }
  if (!gone_.empty()) writer_.gone(gone_);
}

void CommitStage::write_keys(const core::ChangeSet& change_set) {
  for (const core::UniqueKeyChange& change : change_set.unique_keys) {
    if (change.erase) {
      writer_.unique_key_gone(change.after.queue, change.after.key);
    } else {
      writer_.unique_key(change.after);
    }
  }
  for (const core::GroupLockChange& change : change_set.group_locks) {
    if (change.erase) {
      writer_.group_lock_gone(change.after.queue, change.after.group);
    } else {
      writer_.group_lock(change.after);
    }
  }
  for (const core::QueueChange& change : change_set.queues) {
    if (change.erase) {
      writer_.queue_gone(change.after.id);
    } else {
      writer_.queue(change.after);
    }
  }
  for (const core::IdempotencyChange& change : change_set.idempotency) {
    if (change.erase) {
      writer_.idempotency_gone(change.after.scope);
    } else {
      writer_.idempotency(change.after);
    }
  }
  for (const core::ApiTokenChange& change : change_set.tokens) writer_.token(change.after);
  for (const core::AuditRecord& record : change_set.audit) writer_.audit(record);
}

void CommitStage::stage(const core::ChangeSet& change_set, bool cut_texts) {
  staged_.push_back(&change_set);
  write_jobs(change_set, cut_texts);
  write_keys(change_set);
  overlay(change_set);
}

// ---- index ----

void CommitStage::apply_jobs(const core::ChangeSet& change_set, const Location& at,
                             std::size_t& staged_job) {
  for (const core::JobChange& change : change_set.jobs) {
    if (change.erase) {
      index_.erase_job(change.after.id);
      continue;
    }
    const StagedJob& staged = jobs_[staged_job++];
    const Location place{.segment = at.segment,
                         .commit_offset = at.commit_offset,
                         .body_offset = staged.offset,
                         .length = staged.length};
    index_.put_job(change.after, {.at = PackedLocation::of(place),
                                  .has_body = change.body.has_value(),
                                  .has_attempts = change.attempt.has_value(),
                                  .has_result = change.result.has_value()});
  }
}

void CommitStage::apply_keys(const core::ChangeSet& change_set) {
  for (const core::UniqueKeyChange& change : change_set.unique_keys) {
    if (change.erase) {
      index_.erase_unique_key(change.after.queue, change.after.key);
    } else {
      index_.put_unique_key(change.after);
    }
  }
  for (const core::GroupLockChange& change : change_set.group_locks) {
    if (change.erase) {
      index_.erase_group_lock(change.after.queue, change.after.group);
    } else {
      index_.put_group_lock(change.after);
    }
  }
  for (const core::QueueChange& change : change_set.queues) {
    if (change.erase) {
      index_.erase_queue(change.after.id);
    } else {
      index_.put_queue(change.after);
    }
  }
  for (const core::IdempotencyChange& change : change_set.idempotency) {
    if (change.erase) {
      index_.erase_idempotency(change.after.scope);
    } else {
      index_.put_idempotency(change.after);
    }
  }
  for (const core::ApiTokenChange& change : change_set.tokens) index_.put_token(change.after);
  for (const core::AuditRecord& record : change_set.audit) index_.add_audit(record);
}

void CommitStage::apply(const Location& at) {
  std::size_t staged_job = 0;
  for (const core::ChangeSet* change_set : staged_) {
    apply_jobs(*change_set, at, staged_job);
    apply_keys(*change_set);
  }
}

}  // namespace weir::store::journal
