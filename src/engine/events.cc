// SPDX-License-Identifier: Apache-2.0
#include "engine/events.h"

#include <limits>
#include <utility>

namespace weir::engine {

std::uint64_t EventBus::subscribe(EventCallback callback) {
  subscribers_.emplace(++last_id_, std::move(callback));
  return last_id_;
}

void EventBus::publish(const core::Event& event, std::string_view queue_name) {
  // By id and with a copy: a callback may end its own subscription or another one.
  const std::uint64_t last = last_id_;
  for (auto it = subscribers_.begin(); it != subscribers_.end() && it->first <= last;) {
    const std::uint64_t id = it->first;
    const EventCallback callback = it->second;
    callback(event, queue_name);
    it = subscribers_.upper_bound(id);
  }
}

std::uint64_t Waiters::add(core::JobId job, std::int64_t deadline_boot_ms,
                           std::function<void()> ended) {
  const std::uint64_t id = ++last_id_;
  waiters_.emplace(id, Waiter{job, deadline_boot_ms, std::move(ended)});
  by_job_[job].push_back(id);
  deadlines_.emplace(deadline_boot_ms, id);
  new_.push_back(id);
  return id;
}

void Waiters::withdraw(std::uint64_t id) {
  const auto it = waiters_.find(id);
  if (it == waiters_.end()) return;
  deadlines_.erase({it->second.deadline_boot_ms, id});
  const auto job = by_job_.find(it->second.job);
  std::erase(job->second, id);
  if (job->second.empty()) by_job_.erase(job);
  waiters_.erase(it);
}

std::int64_t Waiters::next_deadline_boot_ms() const {
  return deadlines_.empty() ? std::numeric_limits<std::int64_t>::max() : deadlines_.begin()->first;
}

void Waiters::fire(std::uint64_t id) {
  const auto it = waiters_.find(id);
  if (it == waiters_.end()) return;
  const std::function<void()> ended = std::move(it->second.ended);
  withdraw(id);
  ended();
}

void Waiters::ended(core::JobId job) {
  const auto it = by_job_.find(job);
  if (it == by_job_.end()) return;
  const std::vector<std::uint64_t> ids = it->second;
  for (const std::uint64_t id : ids) fire(id);
}

void Waiters::check_new(store::Store& store) {
  const std::vector<std::uint64_t> ids = std::exchange(new_, {});
  for (const std::uint64_t id : ids) {
    const auto it = waiters_.find(id);
    if (it == waiters_.end()) continue;
    const Result<core::Job> job = store.read_job(it->second.job);
    // A job that cannot be read will tell its waiter nothing more either: the caller reads it and
    // sees the error.
    if (!job || core::is_ended(job->state)) fire(id);
  }
}

void Waiters::expire(std::int64_t boot_ms) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= boot_ms) {
    fire(deadlines_.begin()->second);
  }
}

}  // namespace weir::engine
