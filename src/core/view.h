// SPDX-License-Identifier: Apache-2.0
// ReadSet says what a command needs to see; View holds what was seen, with the changes of earlier
// commands of the turn laid over it. One thread, no I/O.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/change.h"
#include "core/command.h"

namespace weir::core {

struct QueueName {
  std::uint32_t namespace_id = 0;
  std::string name;
  bool operator==(const QueueName&) const = default;
};

// Entities by their keys. Jobs pull in, at the store, their queue, their group lock and their
// unique key entry.
struct ReadSet {
  std::vector<JobId> jobs;
  std::vector<QueueName> queue_names;
  std::vector<std::pair<QueueName, std::string>>
      unique_keys;  // by queue name, since the queue may not exist yet
  std::vector<QueueId> queues;
  std::vector<std::pair<QueueId, std::string>> unique_keys_by_id;
  std::vector<Hash128> idempotency;
  std::vector<std::string> tokens;
  std::vector<QueueId> queue_depths;  // DeleteQueue asks whether the queue is empty

  void clear();
};

// How many jobs a queue has in each state. Maintained by the store with every change, never
// counted.
struct QueueCounts {
  std::uint64_t by_state[kJobStateCount + 1] = {};  // index: JobState
  std::uint64_t of(JobState s) const { return by_state[static_cast<std::size_t>(s)]; }
  std::uint64_t waiting() const;  // scheduled + pending + failed + blocked
  std::uint64_t total() const;
  bool operator==(const QueueCounts&) const = default;
};

// Value of one turn. A lookup distinguishes "known to be absent" (nullptr, loaded) from "not
// loaded" (a bug: aborts). Pointers live until the next put_* or apply of the same entity, or
// clear(). Clear it after each commit: counts are the store's plus the changes laid over. Keys and
// locks of a queue that was made in this turn are known to be absent.
class View {
 public:
  View();
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const Job* job(JobId id) const;
  const Queue* queue(QueueId id) const;
  const Queue* queue(const QueueName& name) const { return queue(name.namespace_id, name.name); }
  const Queue* queue(std::uint32_t namespace_id, std::string_view name) const;
  const UniqueKey* unique_key(QueueId queue, std::string_view key) const;
  const GroupLock* group_lock(QueueId queue, std::string_view group) const;
  const IdempotencyEntry* idempotency(const Hash128& scope) const;
  const ApiToken* token(std::string_view id) const;
  const QueueCounts& counts(QueueId queue) const;  // the store's plus the deltas of this turn
  // The body that an edit of this turn gave the job, or nullptr: bodies are not loaded otherwise.
  const JobBody* edited_body(JobId id) const;
  // True when an idempotency entry was laid over in this turn: its commit is not durable yet.
  bool is_idempotency_of_turn(const Hash128& scope) const;

  // What the store loads; absent entities are put as such. First put wins within a turn (later
  // changes lie over it).
  bool has_job(JobId id) const;
  bool has_queue(QueueId id) const;
  bool has_queue(const QueueName& name) const { return has_queue(name.namespace_id, name.name); }
  bool has_queue(std::uint32_t namespace_id, std::string_view name) const;
  bool has_unique_key(QueueId queue, std::string_view key) const;
  bool has_group_lock(QueueId queue, std::string_view group) const;
  bool has_idempotency(const Hash128& scope) const;
  bool has_token(std::string_view id) const;
  bool has_counts(QueueId queue) const;
  void put_job(JobId id, const Job* job);
  // The place of a job that is there, for the store to fill: what is in it is arbitrary. nullptr
  // when the job is known already.
  Job* add_job(JobId id);
  void put_queue(const Queue& queue);
  void put_no_queue(QueueId id);
  void put_no_queue(const QueueName& name);
  void put_unique_key(QueueId queue, std::string_view key, const UniqueKey* entry);
  void put_group_lock(QueueId queue, std::string_view group, const GroupLock* lock);
  void put_idempotency(const Hash128& scope, const IdempotencyEntry* entry);
  void put_token(std::string_view id, const ApiToken* token);
  void put_counts(QueueId queue, const QueueCounts& counts);

  // Lays the after-images of a decided command over what was loaded. They are not copied: the
  // entities in `change_set` must stay where they are, as they are, until clear().
  void apply(const ChangeSet& change_set);
  // Forgets everything, keeps the memory.
  void clear();
  // Forgets one entity, so that it is loaded afresh (after a guard missed).
  void forget_job(JobId id);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::core
