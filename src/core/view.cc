// SPDX-License-Identifier: Apache-2.0
#include "core/view.h"

#include <functional>

#include "base/assert.h"
#include "core/entity_table.h"

namespace weir::core {
namespace {

// An entity named by a number and a text: queues by name, unique keys, group locks.
struct NumberedText {
  std::uint32_t number = 0;
  std::string text;
};

// The store's counts and what this turn changed. Kept apart because either may come first.
struct Counts {
  QueueCounts sum;
  std::int64_t delta[kJobStateCount + 1] = {};
};

std::uint64_t hash_of(std::uint64_t number) { return mix_hash(0, number); }
std::uint64_t hash_of(const Hash128& hash) { return mix_hash(hash.high, hash.low); }
std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }
std::uint64_t hash_of(std::uint32_t number, std::string_view text) {
  return mix_hash(hash_of(text), number);
}

template <typename Key>
auto same_as(const Key& key) {
  return [&key](const Key& other) { return other == key; };
}
auto same_as(std::uint32_t number, std::string_view text) {
  return
      [number, text](const NumberedText& key) { return key.number == number && key.text == text; };
}

template <typename Value>
using TextTable = EntityTable<NumberedText, Value>;

template <typename Value>
auto& slot_of(TextTable<Value>& table, std::uint32_t number, std::string_view text) {
  return table.find_or_add(hash_of(number, text), same_as(number, text), [&](NumberedText& key) {
    key.number = number;
    key.text.assign(text);
  });
}

template <typename Key, typename Value>
auto& slot_of(EntityTable<Key, Value>& table, const Key& key) {
  return table.find_or_add(hash_of(key), same_as(key), [&](Key& into) { into = key; });
}

// `value` is nullptr for an absent entity. The first put wins; what a command of the turn laid over
// stays.
template <typename Slot, typename Value>
void put(Slot& slot, const Value* value) {
  if (slot.is_known) return;
  slot.is_known = true;
  slot.is_present = value != nullptr;
  slot.is_laid_over = false;
  slot.over = nullptr;
  if (value != nullptr) slot.value = *value;
}

template <typename Slot, typename Value>
void lay_over(Slot& slot, const Value* value) {
  slot.is_known = true;
  slot.is_present = value != nullptr;
  slot.is_laid_over = true;
  slot.over = value;
}

template <typename Slot>
bool is_known(const Slot* slot) {
  return slot != nullptr && slot->is_known;
}

// Requires that the entity was loaded: a decision on something that was not read would be wrong, so
// it aborts.
template <typename Slot>
auto known(const Slot* slot, std::string_view what) -> decltype(slot->over) {
  WEIR_ASSERT(is_known(slot), "not loaded:", what);
  if (!slot->is_present) return nullptr;
  return slot->over != nullptr ? slot->over : &slot->value;
}

constexpr std::size_t index_of(JobState state) { return static_cast<std::size_t>(state); }

}  // namespace

void ReadSet::clear() {
  jobs.clear();
  queue_names.clear();
  unique_keys.clear();
  queues.clear();
  unique_keys_by_id.clear();
  idempotency.clear();
  tokens.clear();
  queue_depths.clear();
}

std::uint64_t QueueCounts::waiting() const {
  return of(JobState::scheduled) + of(JobState::pending) + of(JobState::failed) +
         of(JobState::blocked);
}

std::uint64_t QueueCounts::total() const {
  std::uint64_t sum = 0;
  for (const JobState state : kJobStates) sum += of(state);
  return sum;
}

struct View::Impl {
  EntityTable<std::uint64_t, Job> jobs;
  EntityTable<std::uint64_t, Queue> queues;
  TextTable<QueueId> queue_names;
  TextTable<UniqueKey> unique_keys;
  TextTable<GroupLock> group_locks;
  EntityTable<Hash128, IdempotencyEntry> idempotency;
  EntityTable<std::string, ApiToken> tokens;
  EntityTable<std::uint64_t, Counts> counts;
  EntityTable<std::uint64_t, bool> new_queues;        // made by a command of this turn
  EntityTable<std::uint64_t, JobBody> edited_bodies;  // of this turn
  Counts* last_counts = nullptr;
  QueueId last_counted;

  auto* find_job(JobId id) const { return jobs.find(hash_of(id.value), same_as(id.value)); }
  auto* find_queue(QueueId id) const {
    const std::uint64_t key = id.value;
    return queues.find(hash_of(key), same_as(key));
  }
  template <typename Value>
  static auto* find_text(const TextTable<Value>& table, std::uint32_t number,
                         std::string_view text) {
    return table.find(hash_of(number, text), same_as(number, text));
  }
  auto* find_token(std::string_view id) const {
    return tokens.find(hash_of(id), [id](const std::string& key) { return key == id; });
  }
  auto& token_slot(std::string_view id) {
    return tokens.find_or_add(
        hash_of(id), [id](const std::string& key) { return key == id; },
        [id](std::string& key) { key.assign(id); });
  }
  auto& counts_slot(QueueId id) {
    return counts.find_or_add(
        hash_of(std::uint64_t{id.value}), [id](std::uint64_t key) { return key == id.value; },
        [&](std::uint64_t& key) { key = id.value; });
  }
  // What hangs on a queue that was made in this turn can't be in the store: all that is not laid
  // over is absent.
  bool is_new(QueueId id) const {
    const std::uint64_t key = id.value;
    return is_known(new_queues.find(hash_of(key), same_as(key)));
  }
  // A slot that is only known by its deltas yet.
  Counts& count_deltas(QueueId id) {
    auto& slot = counts_slot(id);
    if (!slot.is_known && !slot.is_laid_over) {
      slot.value = Counts{};
      slot.is_laid_over = true;
    }
    return slot.value;
  }

  // Most changes of a turn are of one queue.
  void count(QueueId queue, JobState state, std::int64_t by) {
    if (last_counts == nullptr || last_counted != queue) last_counts = &count_deltas(queue);
    last_counted = queue;
    Counts& value = *last_counts;
    value.delta[index_of(state)] += by;
    value.sum.by_state[index_of(state)] += static_cast<std::uint64_t>(by);
  }
  void set_counts(QueueId id, const QueueCounts& stored);
  void apply(const JobChange& change);
  void apply(const QueueChange& change);
};

void View::Impl::set_counts(QueueId id, const QueueCounts& stored) {
  Counts& value = count_deltas(id);
  auto& slot = counts_slot(id);
  if (slot.is_known) return;
  slot.is_known = slot.is_present = true;
  for (const JobState state : kJobStates) {
    const std::size_t i = index_of(state);
    value.sum.by_state[i] = stored.by_state[i] + static_cast<std::uint64_t>(value.delta[i]);
  }
}

void View::Impl::apply(const JobChange& change) {
  const Job& after = change.after;
  lay_over(slot_of(jobs, after.id.value), change.erase ? nullptr : &after);
  if (change.body && !change.guard.absent) {
    lay_over(slot_of(edited_bodies, after.id.value), &*change.body);
  }
  if (!change.guard.absent) count(after.queue, change.guard.state, -1);
  if (!change.erase) count(after.queue, after.state, +1);
}

void View::Impl::apply(const QueueChange& change) {
  const Queue& after = change.after;
  lay_over(slot_of(queues, std::uint64_t{after.id.value}), change.erase ? nullptr : &after);
  lay_over(slot_of(queue_names, after.namespace_id, after.name),
           change.erase ? nullptr : &after.id);
  // A queue that was just made has no jobs that the store could know of.
  if (!change.erase && change.expected_version == 0) {
    set_counts(after.id, QueueCounts{});
    slot_of(new_queues, std::uint64_t{after.id.value}).is_known = true;
  }
}

View::View() : impl_(std::make_unique<Impl>()) {}
View::~View() = default;

const Job* View::job(JobId id) const { return known(impl_->find_job(id), "job"); }

const Queue* View::queue(QueueId id) const { return known(impl_->find_queue(id), "queue"); }

const Queue* View::queue(std::uint32_t namespace_id, std::string_view name) const {
  const QueueId* id = known(Impl::find_text(impl_->queue_names, namespace_id, name), "queue name");
  return id == nullptr ? nullptr : queue(*id);
}

const UniqueKey* View::unique_key(QueueId queue, std::string_view key) const {
  const auto* slot = Impl::find_text(impl_->unique_keys, queue.value, key);
  if (!is_known(slot) && impl_->is_new(queue)) return nullptr;
  return known(slot, "unique key");
}

const GroupLock* View::group_lock(QueueId queue, std::string_view group) const {
  const auto* slot = Impl::find_text(impl_->group_locks, queue.value, group);
  if (!is_known(slot) && impl_->is_new(queue)) return nullptr;
  return known(slot, "group lock");
}

const IdempotencyEntry* View::idempotency(const Hash128& scope) const {
  return known(impl_->idempotency.find(hash_of(scope), same_as(scope)), "idempotency entry");
}

const ApiToken* View::token(std::string_view id) const {
  return known(impl_->find_token(id), "token");
}

const QueueCounts& View::counts(QueueId queue) const {
  const std::uint64_t key = queue.value;
  const Counts* counts = known(impl_->counts.find(hash_of(key), same_as(key)), "counts");
  return counts->sum;
}

bool View::is_idempotency_of_turn(const Hash128& scope) const {
  const auto* slot = impl_->idempotency.find(hash_of(scope), same_as(scope));
  return is_known(slot) && slot->is_present && slot->is_laid_over;
}

const JobBody* View::edited_body(JobId id) const {
  const auto* slot = impl_->edited_bodies.find(hash_of(id.value), same_as(id.value));
  return is_known(slot) ? slot->over : nullptr;
}

bool View::has_job(JobId id) const { return is_known(impl_->find_job(id)); }
bool View::has_queue(QueueId id) const { return is_known(impl_->find_queue(id)); }
bool View::has_queue(std::uint32_t namespace_id, std::string_view name) const {
  return is_known(Impl::find_text(impl_->queue_names, namespace_id, name));
}
bool View::has_unique_key(QueueId queue, std::string_view key) const {
  return is_known(Impl::find_text(impl_->unique_keys, queue.value, key)) || impl_->is_new(queue);
}
bool View::has_group_lock(QueueId queue, std::string_view group) const {
  return is_known(Impl::find_text(impl_->group_locks, queue.value, group)) || impl_->is_new(queue);
}
bool View::has_idempotency(const Hash128& scope) const {
  return is_known(impl_->idempotency.find(hash_of(scope), same_as(scope)));
}
bool View::has_token(std::string_view id) const { return is_known(impl_->find_token(id)); }
bool View::has_counts(QueueId queue) const {
  const std::uint64_t key = queue.value;
  return is_known(impl_->counts.find(hash_of(key), same_as(key)));
}

void View::put_job(JobId id, const Job* job) { put(slot_of(impl_->jobs, id.value), job); }
Job* View::add_job(JobId id) {
  auto& slot = slot_of(impl_->jobs, id.value);
  if (slot.is_known) return nullptr;
  slot.is_known = slot.is_present = true;
  slot.is_laid_over = false;
  slot.over = nullptr;
  return &slot.value;
}

void View::put_queue(const Queue& queue) {
  put(slot_of(impl_->queues, std::uint64_t{queue.id.value}), &queue);
  put(slot_of(impl_->queue_names, queue.namespace_id, queue.name), &queue.id);
}
void View::put_no_queue(QueueId id) {
  const Queue* none = nullptr;
  put(slot_of(impl_->queues, std::uint64_t{id.value}), none);
}
void View::put_no_queue(const QueueName& name) {
  const QueueId* none = nullptr;
  put(slot_of(impl_->queue_names, name.namespace_id, name.name), none);
}
void View::put_unique_key(QueueId queue, std::string_view key, const UniqueKey* entry) {
  put(slot_of(impl_->unique_keys, queue.value, key), entry);
}
void View::put_group_lock(QueueId queue, std::string_view group, const GroupLock* lock) {
  put(slot_of(impl_->group_locks, queue.value, group), lock);
}
void View::put_idempotency(const Hash128& scope, const IdempotencyEntry* entry) {
  put(slot_of(impl_->idempotency, scope), entry);
}
void View::put_token(std::string_view id, const ApiToken* token) {
  put(impl_->token_slot(id), token);
}
void View::put_counts(QueueId queue, const QueueCounts& counts) {
  impl_->set_counts(queue, counts);
}

void View::apply(const ChangeSet& change_set) {
  for (const JobChange& change : change_set.jobs) impl_->apply(change);
  for (const QueueChange& change : change_set.queues) impl_->apply(change);
  for (const UniqueKeyChange& change : change_set.unique_keys) {
    lay_over(slot_of(impl_->unique_keys, change.after.queue.value, change.after.key),
             change.erase ? nullptr : &change.after);
  }
  for (const GroupLockChange& change : change_set.group_locks) {
    lay_over(slot_of(impl_->group_locks, change.after.queue.value, change.after.group),
             change.erase ? nullptr : &change.after);
  }
  for (const IdempotencyChange& change : change_set.idempotency) {
    lay_over(slot_of(impl_->idempotency, change.after.scope),
             change.erase ? nullptr : &change.after);
  }
  for (const ApiTokenChange& change : change_set.tokens) {
    lay_over(impl_->token_slot(change.after.id), &change.after);
  }
}

void View::clear() {
  impl_->jobs.clear();
  impl_->queues.clear();
  impl_->queue_names.clear();
  impl_->unique_keys.clear();
  impl_->group_locks.clear();
  impl_->idempotency.clear_and_free();
  impl_->tokens.clear();
  impl_->counts.clear();
  impl_->last_counts = nullptr;
  impl_->new_queues.clear();
  impl_->edited_bodies.clear_and_free();
}

void View::forget_job(JobId id) {
  if (const auto* slot = impl_->find_job(id)) slot_of(impl_->jobs, slot->key).is_known = false;
}

}  // namespace weir::core
