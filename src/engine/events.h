// SPDX-License-Identifier: Apache-2.0
// Who listens to what happened: subscribers of every event, and clients that wait for the end of
// one job. Both hear of a change only once its answer may be released.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/change.h"
#include "engine/engine.h"

namespace weir::engine {

// One thread. Callbacks may subscribe and unsubscribe.
class EventBus {
 public:
  std::uint64_t subscribe(EventCallback callback);
  void unsubscribe(std::uint64_t id) { subscribers_.erase(id); }
  bool is_empty() const { return subscribers_.empty(); }
  void publish(const core::Event& event, std::string_view queue_name);

 private:
  std::map<std::uint64_t, EventCallback> subscribers_;
  std::uint64_t last_id_ = 0;
};

// One thread. Callbacks may add and withdraw.
class Waiters {
 public:
  std::uint64_t add(core::JobId job, std::int64_t deadline_boot_ms, std::function<void()> ended);
  void withdraw(std::uint64_t id);

  bool is_empty() const { return waiters_.empty(); }
  bool has_new() const { return !new_.empty(); }
  // The earliest deadline, or the largest number when nobody waits.
  std::int64_t next_deadline_boot_ms() const;

  // The job has ended or is gone.
  void ended(core::JobId job);
  // Looks once at the jobs of those who came since the last call: the end may lie behind.
  void check_new(store::Store& store);
  void expire(std::int64_t boot_ms);

 private:
  struct Waiter {
    core::JobId job;
    std::int64_t deadline_boot_ms = 0;
    std::function<void()> ended;
  };
  void fire(std::uint64_t id);

  std::unordered_map<std::uint64_t, Waiter> waiters_;
  std::unordered_map<core::JobId, std::vector<std::uint64_t>> by_job_;
  std::set<std::pair<std::int64_t, std::uint64_t>> deadlines_;
  std::vector<std::uint64_t> new_;
  std::uint64_t last_id_ = 0;
};

}  // namespace weir::engine
