// SPDX-License-Identifier: Apache-2.0
// core::Job to its packed form and back; the two must be exact inverses.
#include "base/bytes.h"
#include "store/journal/index.h"

namespace weir::store::journal {
namespace {

bool has_rarities(const core::Job& job) {
  return core::is_ended(job.state) || !job.limit_key.empty() || !job.group.empty() ||
         !job.unique_key.empty() || !job.external_id.empty() || !job.tags.empty() ||
         job.options != nullptr || !job.dead_reason.empty() || job.budget_start != 0 ||
         job.excused_count != 0 || job.excused_since != 0 || job.counters != core::JobCounters{} ||
         job.source_queue || job.encryption_key != 0 || (job.version >> 32) != 0 ||
         job.expires_at.is_set() || job.ttl_ms != 0 || job.completed_at.is_set() ||
         job.dead_at.is_set() || job.ended_at.is_set() || job.original_enqueued_at.is_set() ||
         job.deadline_at.is_set();
}

// The opposite of has_rarities().
void clear_rarities(core::Job& job) {
  for (RareText* text :
       {&job.limit_key, &job.group, &job.unique_key, &job.external_id, &job.dead_reason}) {
    text->clear();
  }
  job.tags.clear();
  job.options = nullptr;
  job.budget_start = job.excused_count = job.excused_since = 0;
  job.counters = {};
  job.source_queue = {};
  job.encryption_key = 0;
  job.expires_at = job.ended_at = {};
  job.completed_at = job.dead_at = job.original_enqueued_at = job.deadline_at = {};
  job.ttl_ms = 0;
}

// A job's tags as one text, so that jobs with the same tags share it.
std::string join_tags(const std::vector<std::string>& tags) {
  std::string joined;
  ByteWriter writer(joined);
  for (const std::string& tag : tags) writer.text(tag);
  return joined;
}

std::vector<std::string> split_tags(std::string_view joined) {
  std::vector<std::string> tags;
  ByteReader reader(joined);
  while (!reader.at_end() && reader.ok()) tags.emplace_back(reader.text());
  return tags;
}

}  // namespace

Extra* Index::extra_of(const HotJob& job) {
  const std::uint32_t number = job.has_lease ? leases_[job.side].extra : job.side;
  return number == 0 ? nullptr : &extras_[number];
}

const Extra* Index::extra_of(const HotJob& job) const {
  const std::uint32_t number = job.has_lease ? leases_[job.side].extra : job.side;
  return number == 0 ? nullptr : &extras_[number];
}

Extra& Index::need_extra(HotJob& job) {
  Extra* extra = extra_of(job);
  if (extra != nullptr) return *extra;
  const std::uint32_t number = extras_.take();
  if (job.has_lease) {
    leases_[job.side].extra = number;
  } else {
    job.side = number;
  }
  return extras_[number];
}

void Index::set_text(std::uint32_t& field, std::string_view text) {
  if (field == 0 && text.empty()) return;
  if (strings_.text(field) == text) return;
  const std::uint32_t old = field;
  field = strings_.acquire(text);
  strings_.release(old);
}

void Index::release_lease(HotJob& job) {
  if (!job.has_lease) return;
  LeaseSide& lease = leases_[job.side];
  strings_.release(lease.worker);
  strings_.release(lease.message);
  const std::uint32_t number = job.side;
  job.side = lease.extra;
  job.has_lease = 0;
  leases_.release(number);
}

void Index::release_extra(HotJob& job) {
  Extra* extra = extra_of(job);
  if (extra == nullptr) return;
  for (const std::uint32_t text : {extra->limit_key, extra->group, extra->unique_key,
                                   extra->external_id, extra->tags, extra->dead_reason}) {
    strings_.release(text);
  }
  std::uint32_t& field = job.has_lease ? leases_[job.side].extra : job.side;
  const std::uint32_t number = field;
  field = 0;
  extras_.release(number);
}

void Index::pack(const core::Job& job, HotJob& hot) {
  hot.rank = job.rank;
  hot.created_at = job.created_at.ms;
  hot.run_at = job.run_at.ms;
  hot.due_at = job.due_at.ms;
  hot.claimed_at = job.claimed_at.ms;
  hot.queue = job.queue.value;
  set_text(hot.kind, job.kind);
  set_text(hot.created_by, job.created_by);
  hot.attempt = job.attempt;
  hot.version = static_cast<std::uint32_t>(job.version);
  hot.priority = job.priority;
  hot.payload_bytes = job.payload_bytes;
  hot.state = static_cast<std::uint32_t>(job.state) & 15u;
  hot.priority_class = static_cast<std::uint32_t>(job.priority_class) & 7u;
  hot.last_verb = static_cast<std::uint32_t>(job.last_verb) & 31u;
  hot.has_history = job.has_history;
  hot.has_result = job.has_result;
  pack_lease(job, hot);
  if (extra_of(hot) != nullptr || has_rarities(job)) pack_extra(job, need_extra(hot));
}

void Index::pack_lease(const core::Job& job, HotJob& hot) {
  if (!job.lease) {
    release_lease(hot);
    return;
  }
  if (!hot.has_lease) {
    const std::uint32_t extra = hot.side;
    hot.side = leases_.take();
    hot.has_lease = 1;
    leases_[hot.side].extra = extra;
  }
  LeaseSide& lease = leases_[hot.side];
  lease.started_at = job.lease->started_at.ms;
  lease.deadline_at = job.lease->deadline_at.ms;
  lease.connection = job.lease->connection;
  lease.boot = job.lease->boot;
  set_text(lease.worker, job.lease->worker_id);
  set_text(lease.message, job.lease->progress_message);
  lease.owner = static_cast<std::uint8_t>(job.lease->owner);
  lease.progress = job.lease->progress_percent;
}

void Index::pack_extra(const core::Job& job, Extra& extra) {
  set_text(extra.limit_key, job.limit_key);
  set_text(extra.group, job.group);
  set_text(extra.unique_key, job.unique_key);
  set_text(extra.external_id, job.external_id);
  set_text(extra.tags, join_tags(job.tags));
  set_text(extra.dead_reason, job.dead_reason);
  extra.budget_start = job.budget_start;
  extra.excused_count = job.excused_count;
  extra.excused_since = job.excused_since;
  extra.counters = job.counters;
  extra.source_queue = job.source_queue.value;
  extra.encryption_key = job.encryption_key;
  extra.version_high = static_cast<std::uint32_t>(job.version >> 32);
  extra.expires_at = job.expires_at.ms;
  extra.ttl_ms = job.ttl_ms;
  extra.completed_at = job.completed_at.ms;
  extra.dead_at = job.dead_at.ms;
  extra.ended_at = job.ended_at.ms;
  extra.original_enqueued_at = job.original_enqueued_at.ms;
  extra.deadline_at = job.deadline_at.ms;
  extra.options = job.options;
}

void Index::unpack(const HotJob& hot, core::Job& out) const {
  out.id = core::JobId{hot.id};
  out.queue = core::QueueId{hot.queue};
  out.state = hot.job_state();
  out.priority_class = static_cast<core::PriorityClass>(hot.priority_class);
  out.last_verb = static_cast<core::Verb>(hot.last_verb);
  out.priority = hot.priority;
  out.rank = hot.rank;
  out.version = hot.version;
  out.kind = strings_.text(hot.kind);
  out.created_by = strings_.text(hot.created_by);
  out.created_at = WallTime{hot.created_at};
  out.run_at = WallTime{hot.run_at};
  out.due_at = StoreTime{hot.due_at};
  out.claimed_at = WallTime{hot.claimed_at};
  out.attempt = hot.attempt;
  out.has_history = hot.has_history != 0;
  out.has_result = hot.has_result != 0;
  out.payload_bytes = hot.payload_bytes;
  out.lease.reset();
  if (hot.has_lease) {
    const LeaseSide& lease = leases_[hot.side];
    core::Lease& to = out.lease.emplace();
    to.started_at = StoreTime{lease.started_at};
    to.deadline_at = StoreTime{lease.deadline_at};
    to.worker_id = strings_.text(lease.worker);
    to.owner = static_cast<core::OwnerKind>(lease.owner);
    to.connection = lease.connection;
    to.boot = lease.boot;
    to.progress_percent = lease.progress;
    to.progress_message = strings_.text(lease.message);
  }
  const Extra* extra = extra_of(hot);
  if (extra == nullptr) return clear_rarities(out);
  out.version |= static_cast<std::uint64_t>(extra->version_high) << 32;
  out.limit_key = strings_.text(extra->limit_key);
  out.group = strings_.text(extra->group);
  out.unique_key = strings_.text(extra->unique_key);
  out.external_id = strings_.text(extra->external_id);
  out.tags = split_tags(strings_.text(extra->tags));
  out.dead_reason = strings_.text(extra->dead_reason);
  out.options = extra->options;
  out.budget_start = extra->budget_start;
  out.excused_count = extra->excused_count;
  out.excused_since = extra->excused_since;
  out.counters = extra->counters;
  out.source_queue = core::QueueId{extra->source_queue};
  out.encryption_key = extra->encryption_key;
  out.expires_at = StoreTime{extra->expires_at};
  out.ttl_ms = extra->ttl_ms;
  out.completed_at = WallTime{extra->completed_at};
  out.dead_at = WallTime{extra->dead_at};
  out.ended_at = StoreTime{extra->ended_at};
  out.original_enqueued_at = WallTime{extra->original_enqueued_at};
  out.deadline_at = WallTime{extra->deadline_at};
}

}  // namespace weir::store::journal
