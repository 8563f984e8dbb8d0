// SPDX-License-Identifier: Apache-2.0
// Reading: what commands need to see, texts from the log, and lists.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "store/codec.h"
#include "store/history.h"
#include "store/journal/frame.h"
#include "store/journal/journal_store.h"

namespace weir::store::journal {
namespace {

// Jobs that one scan looks at before it gives a short page; one that must be read from the log
// counts for more.
constexpr std::size_t kScanLooksMax = 4096;
constexpr std::size_t kScanReadCost = 16;

Failure not_found(core::JobId id) {
  return failure(ErrorCode::not_found, fmt::format("job {} is not there", id.value));
}

}  // namespace

// ---- prefetch ----

Result<void> JournalStore::prefetch(const core::ReadSet& wanted, core::View& view) {
  WEIR_TRY(check_running());
  last_loaded_queue_ = {};
  for (const core::JobId id : wanted.jobs) load_job(id, view);
  for (const core::QueueName& name : wanted.queue_names) load_queue(name, view);
  for (const core::QueueId id : wanted.queues) load_queue(id, view);
  load_keys(wanted, view);
  for (const core::QueueId id : wanted.queue_depths) load_counts(id, view);
  return check_running();
}

void JournalStore::load_keys(const core::ReadSet& wanted, core::View& view) {
  for (const auto& [name, key] : wanted.unique_keys) {
    load_queue(name, view);
    const core::Queue* queue = view.queue(name);
    if (queue != nullptr) load_unique_key(queue->id, key, view);
  }
  for (const auto& [queue, key] : wanted.unique_keys_by_id) load_unique_key(queue, key, view);
  for (const Hash128& scope : wanted.idempotency) {
    if (!view.has_idempotency(scope)) view.put_idempotency(scope, index_->idempotency(scope));
  }
  for (const std::string& id : wanted.tokens) {
    if (!view.has_token(id)) view.put_token(id, index_->token(id));
  }
}

void JournalStore::load_job(core::JobId id, core::View& view) {
  const core::Job* found = nullptr;
  if (const HotJob* whole = index_->whole_job(id)) {
    core::Job* place = view.add_job(id);
    if (place != nullptr) index_->unpack(*whole, *place);
    found = place;
  } else if (!view.has_job(id)) {
    load_rare(id, view);
  }
  // The view's job, not ours: an earlier command of the turn may have made or changed it.
  if (found == nullptr) found = view.job(id);
  if (found == nullptr) return;
  // Most jobs of a turn are of one queue.
  if (found->queue != last_loaded_queue_) load_queue(found->queue, view);
  last_loaded_queue_ = found->queue;
  if (!found->group.empty()) load_group_lock(found->queue, found->group, view);
  if (!found->unique_key.empty()) load_unique_key(found->queue, found->unique_key, view);
}

// A job that is not in memory as a whole, or not at all.
void JournalStore::load_rare(core::JobId id, core::View& view) {
  if (!index_->has_job(id)) {
    view.put_job(id, nullptr);
  } else if (auto shrunk = load_shrunk(id)) {
    view.put_job(id, &*shrunk);
  } else {
    // Its record is damaged: what the index knows is enough to let retention take it.
    const JobFacts facts = index_->facts(id);
    core::Job job;
    job.id = id;
    job.queue = index_->queue_of(id);
    job.state = facts.state;
    job.attempt = facts.attempt;
    job.version = facts.version;
    view.put_job(id, &job);
  }
}

void JournalStore::load_queue(core::QueueId id, core::View& view) {
  if (!view.has_queue(id)) {
    const core::Queue* queue = index_->queue(id);
    if (queue != nullptr) {
      view.put_queue(*queue);
    } else {
      view.put_no_queue(id);
    }
  }
  load_counts(id, view);
}

void JournalStore::load_queue(const core::QueueName& name, core::View& view) {
  if (!view.has_queue(name)) {
    const core::Queue* queue = index_->queue(name.namespace_id, name.name);
    if (queue != nullptr) {
      view.put_queue(*queue);
    } else {
      view.put_no_queue(name);
    }
  }
  const core::Queue* queue = view.queue(name);
  if (queue != nullptr) load_counts(queue->id, view);
}

void JournalStore::load_counts(core::QueueId id, core::View& view) {
  if (!view.has_counts(id)) view.put_counts(id, index_->counts(id));
}

void JournalStore::load_unique_key(core::QueueId queue, std::string_view key, core::View& view) {
  if (!view.has_unique_key(queue, key)) {
    const auto entry = index_->unique_key(queue, key);
    view.put_unique_key(queue, key, entry ? &*entry : nullptr);
  }
  const core::UniqueKey* entry = view.unique_key(queue, key);
  // A job that is there already was followed when it came; stopping here ends the chain job - key -
  // job.
  if (entry != nullptr && !view.has_job(entry->job)) load_job(entry->job, view);
}

void JournalStore::load_group_lock(core::QueueId queue, std::string_view group, core::View& view) {
  if (view.has_group_lock(queue, group)) return;
  const auto lock = index_->group_lock(queue, group);
  view.put_group_lock(queue, group, lock ? &*lock : nullptr);
}

// ---- dispatch and time ----

void JournalStore::heads(const core::LaneFilter& filter, std::size_t places,
                         std::vector<core::LaneHead>& out) {
  index_->heads(filter, places, out);
}

void JournalStore::due(Now now, std::size_t limit, std::vector<Due>& out) {
  index_->due(now, limit, out);
}

void JournalStore::next_due(WallTime& wall, StoreTime& store) { index_->next_due(wall, store); }

// ---- texts ----

// A damaged job does not end the service of the others: it is named once in the log, and its reads
// fail.
Error JournalStore::quarantine(core::JobId id, const Error& error) {
  if (quarantined_.insert(id).second) {
    log::error("a stored job is damaged and was set aside",
               {log::field("job", id.value), log::field("detail", error.detail)});
  }
  return {.code = ErrorCode::corruption,
          .detail = fmt::format("job {}: {}", id.value, error.detail)};
}

Error JournalStore::judge(core::JobId id, const Error& error) {
  if (error.code == ErrorCode::io_error) return stop(error);
  return quarantine(id, error);
}

// The piece of a commit's body to read for the record `at`: whole frames, since a frame is read and
// checked whole anyway. Windows begin at frame borders, so that records of one commit share them in
// whatever order they are asked for.
Location JournalStore::window_around(const Location& at) const {
  const auto lengths = commit_lengths_.find(at.segment);
  if (lengths == commit_lengths_.end()) return at;
  const auto commit = std::lower_bound(lengths->second.begin(), lengths->second.end(),
                                       std::pair(at.commit_offset, std::uint32_t{0}));
  if (commit == lengths->second.end() || commit->first != at.commit_offset) return at;
  Location window = at;
  window.body_offset = at.body_offset / kFrameBodyBytes * kFrameBodyBytes;
  const std::uint32_t end = std::max(
      at.body_offset + at.length, std::min(commit->second, window.body_offset + kFrameBodyBytes));
  if (end > commit->second) return at;
  window.length = end - window.body_offset;
  return window;
}

// The bytes of one record, by way of the cache; what lies around it is read along. They live until
// the next read.
Result<std::string_view> JournalStore::read_record(const PackedLocation& packed) {
  if (!packed) return failure(ErrorCode::corruption, "its record is not in the log");
  const Location at = packed.unpack();
  if (const std::string_view cached = cache_.find(at); !cached.empty()) return cached;
  const Location window = window_around(at);
  auto bytes = log_->read(window, true);
  if (!bytes && bytes.error().code == ErrorCode::corruption && window != at) {
    WEIR_TRY_ASSIGN(record_, log_->read(at, true));  // the damage may lie in another frame
    return record_;
  }
  if (!bytes) return failure(std::move(bytes).error());
  record_ = bytes->substr(at.body_offset - window.body_offset, at.length);
  if (window != at) cache_.put(window, std::move(*bytes));
  return record_;
}

namespace {

// The job parts in a record's bytes; views into them.
Result<JobRecord> open_record(std::string_view bytes) {
  RecordReader reader(bytes);
  WEIR_TRY_ASSIGN(const auto record, reader.next());
  if (!record || (record->type != RecordType::job && record->type != RecordType::moved)) {
    return failure(ErrorCode::corruption, "no job record lies there");
  }
  return parse_job_record(record->payload);
}

}  // namespace

Result<core::Job> JournalStore::load_shrunk(core::JobId id) {
  JobPlaces places;
  if (!index_->places(id, places)) return not_found(id);
  const auto load = [&]() -> Result<core::Job> {
    WEIR_TRY_ASSIGN(const std::string_view bytes, read_record(places.last));
    WEIR_TRY_ASSIGN(const JobRecord record, open_record(bytes));
    WEIR_TRY_ASSIGN(core::Job job, decode_job(record.head));
    if (job.id != id) return failure(ErrorCode::corruption, "another job's record lies there");
    return job;
  };
  auto job = load();
  if (!job) return failure(judge(id, job.error()));
  return job;
}

Result<core::Job> JournalStore::read_job(core::JobId id) {
  WEIR_TRY(check_running());
  core::Job job;
  if (index_->load_job(id, job)) return job;
  if (!index_->has_job(id)) return not_found(id);
  return load_shrunk(id);
}

Result<core::JobBody> JournalStore::read_body(core::JobId id) {
  WEIR_TRY(check_running());
  JobPlaces places;
  if (!index_->places(id, places)) return not_found(id);
  const auto load = [&]() -> Result<core::JobBody> {
    WEIR_TRY_ASSIGN(const std::string_view bytes, read_record(places.body));
    WEIR_TRY_ASSIGN(const JobRecord record, open_record(bytes));
    return decode_body(record.body);
  };
  auto body = load();
  if (!body) return failure(judge(id, body.error()));
  return body;
}

Result<std::vector<core::AttemptRecord>> JournalStore::read_history(core::JobId id) {
  WEIR_TRY(check_running());
  JobPlaces places;
  if (!index_->places(id, places)) return not_found(id);
  std::vector<core::AttemptRecord> history;
  std::size_t bytes_sum = 0;
  const auto add = [&](const PackedLocation& place) -> Result<void> {
    WEIR_TRY_ASSIGN(const std::string_view bytes, read_record(place));
    WEIR_TRY_ASSIGN(const JobRecord record, open_record(bytes));
    for (const std::string_view piece : record.attempts) {
      WEIR_TRY_ASSIGN(core::AttemptRecord attempt, decode_attempt(piece));
      bytes_sum += history_bytes(attempt);
      history.push_back(std::move(attempt));
      if (bytes_sum <= core::kHistoryBytesMax) continue;
      bound_history(history);
      bytes_sum = 0;
      for (const core::AttemptRecord& each : history) bytes_sum += history_bytes(each);
    }
    return {};
  };
  for (const PackedLocation& place : places.attempts) {
    if (auto added = add(place); !added) return failure(judge(id, added.error()));
  }
  return history;
}

Result<std::string> JournalStore::read_result(core::JobId id) {
  WEIR_TRY(check_running());
  JobPlaces places;
  if (!index_->places(id, places) || !places.result) return not_found(id);
  const auto load = [&]() -> Result<std::string> {
    WEIR_TRY_ASSIGN(const std::string_view bytes, read_record(places.result));
    WEIR_TRY_ASSIGN(const JobRecord record, open_record(bytes));
    if (!record.result) return failure(ErrorCode::corruption, "no result lies there");
    return std::string(*record.result);
  };
  auto result = load();
  if (!result) return failure(judge(id, result.error()));
  return result;
}

// ---- lists ----

// Does the job belong on the page? Cheap columns first; `job` is filled when it had to be built.
bool JournalStore::admits(const ScanQuery& query, core::JobId id, std::optional<core::Job>& job,
                          std::size_t& looks) {
  if (query.queue && index_->queue_of(id) != *query.queue) return false;
  if (query.states != 0 &&
      ((query.states >> static_cast<unsigned>(index_->state_of(id))) & 1u) == 0)
    return false;
  job.emplace();
  if (!index_->load_job(id, *job)) {
    looks += kScanReadCost;
    auto shrunk = load_shrunk(id);
    if (!shrunk) {  // damaged: list what is known, so that it can be seen and removed
      const JobFacts facts = index_->facts(id);
      job->id = id;
      job->queue = index_->queue_of(id);
      job->state = facts.state;
      job->attempt = facts.attempt;
      job->version = facts.version;
    } else {
      job = std::move(*shrunk);
    }
  }
  if (query.kind && job->kind != *query.kind) return false;
  if (query.group && job->group != *query.group) return false;
  if (query.unique_key && job->unique_key != *query.unique_key) return false;
  return !query.tag || std::find(job->tags.begin(), job->tags.end(), *query.tag) != job->tags.end();
}

Result<Page> JournalStore::scan_page(const ScanQuery& query) {
  WEIR_TRY(check_running());
  Page page;
  const std::uint64_t start = query.after_id != 0  ? query.after_id
                              : query.newest_first ? ~std::uint64_t{0}
                                                   : 0;
  std::size_t looks = 0;
  std::optional<core::Job> job;
  for (std::uint64_t id = index_->next_id(start, query.newest_first); id != 0;) {
    if (admits(query, core::JobId{id}, job, looks)) page.jobs.push_back(std::move(*job));
    WEIR_TRY(check_running());
    const std::uint64_t next = index_->next_id(id, query.newest_first);
    if (++looks >= kScanLooksMax || page.jobs.size() >= query.limit) {
      if (next != 0) page.next_after_id = id;
      break;
    }
    id = next;
  }
  return page;
}

Result<std::vector<core::Queue>> JournalStore::read_queues() {
  WEIR_TRY(check_running());
  return index_->queues();
}

Result<std::vector<core::ApiToken>> JournalStore::read_tokens() {
  WEIR_TRY(check_running());
  std::vector<core::ApiToken> tokens;
  for (const auto& [id, token] : index_->tokens()) tokens.push_back(token);
  return tokens;
}

Result<std::vector<core::AuditRecord>> JournalStore::read_audit(std::size_t newest) {
  WEIR_TRY(check_running());
  const std::deque<core::AuditRecord>& audit = index_->audit();
  const std::size_t count = std::min(newest, audit.size());
  return std::vector<core::AuditRecord>(audit.end() - static_cast<std::ptrdiff_t>(count),
                                        audit.end());
}

Result<QueueStats> JournalStore::queue_stats(core::QueueId id) {
  WEIR_TRY(check_running());
  if (index_->queue(id) == nullptr) {
    return failure(ErrorCode::not_found, fmt::format("queue {} is not there", id.value));
  }
  return QueueStats{.counts = index_->counts(id),
                    .oldest_pending_since = index_->oldest_pending_since(id),
                    .urgent = index_->urgent(id)};
}

}  // namespace weir::store::journal
