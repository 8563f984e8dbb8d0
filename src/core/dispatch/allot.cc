// SPDX-License-Identifier: Apache-2.0
// One pass groups the heads by queue; then each pick costs the lanes of one queue. The overdue pick
// looks at every head, once in kPicksPerOverdue.
#include "core/dispatch/allot.h"

#include <algorithm>
#include <optional>

#include "core/limits.h"

namespace weir::core {
namespace {

// The lanes of one queue.
struct Group {
  std::size_t begin = 0;  // into Allotment::by_queue_
  std::size_t end = 0;
  QueueOrder order = QueueOrder::priority;
  PriorityClass best = PriorityClass::P4;  // of the lanes that have jobs left
  bool has_jobs = true;
};

class Allotment {
 public:
  Allotment(std::span<const LaneHead> heads, Now now,
            const std::function<QueueOrder(QueueId)>& order_of)
      : heads_(heads), now_(now), next_(heads.size(), 0), group_of_(heads.size(), 0) {
    for (std::size_t lane = 0; lane < heads.size(); ++lane) {
      if (!heads[lane].first.empty()) by_queue_.push_back(lane);
    }
    // By queue, then by key: the outcome must not depend on the order in which a store lists its
    // lanes.
    std::sort(by_queue_.begin(), by_queue_.end(),
              [&](std::size_t a, std::size_t b) { return heads_[a].key < heads_[b].key; });
    for (std::size_t i = 0; i < by_queue_.size();) {
      Group group{.begin = i, .order = order_of(queue_at(i))};
      while (i < by_queue_.size() && queue_at(i) == queue_at(group.begin)) {
        group_of_[by_queue_[i++]] = groups_.size();
      }
      group.end = i;
      refresh(group);
      groups_.push_back(group);
    }
  }

  std::vector<Pick> run(std::uint32_t credit, std::uint64_t pick_count) {
    std::vector<Pick> picks;
    // Overdue picks take numbers out of the sequence; the turns of the queues count the others
    // only.
    turn_ = most_overdue() ? pick_count - pick_count / kPicksPerOverdue : pick_count;
    choose_class();
    while (picks.size() < credit && !class_groups_.empty()) {
      const std::uint64_t number = pick_count + picks.size();
      std::optional<std::size_t> lane;
      if (number % kPicksPerOverdue == kPicksPerOverdue - 1) lane = most_overdue();
      const bool takes_turn = !lane;
      if (takes_turn) {
        place_ %= class_groups_.size();
        lane = best_lane(groups_[class_groups_[place_]]);
      }
      picks.push_back({.lane = *lane, .order = heads_[*lane].first[next_[*lane]]});
      ++next_[*lane];
      after_pick(group_of_[*lane], takes_turn);
    }
    return picks;
  }

 private:
  QueueId queue_at(std::size_t i) const { return heads_[by_queue_[i]].key.queue; }
  bool has_jobs(std::size_t lane) const { return next_[lane] < heads_[lane].first.size(); }

  void refresh(Group& group) {
    group.has_jobs = false;
    group.best = PriorityClass::P4;
    for (std::size_t i = group.begin; i < group.end; ++i) {
      if (!has_jobs(by_queue_[i])) continue;
      group.has_jobs = true;
      group.best = std::min(group.best, heads_[by_queue_[i]].key.priority_class);
    }
  }

  // The queues whose best class is the best of all take turns.
  void choose_class() {
    class_groups_.clear();
    class_ = PriorityClass::P4;
    for (const Group& group : groups_) {
      if (group.has_jobs) class_ = std::min(class_, group.best);
    }
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].has_jobs && groups_[i].best == class_) class_groups_.push_back(i);
    }
    if (!class_groups_.empty()) place_ = turn_ % class_groups_.size();
  }

  void after_pick(std::size_t group_index, bool took_turn) {
    Group& group = groups_[group_index];
    refresh(group);
    if (took_turn) ++turn_;
    if (group.has_jobs && group.best == class_) {
      if (took_turn) ++place_;
      return;
    }
    const auto gone = std::find(class_groups_.begin(), class_groups_.end(), group_index);
    if (gone == class_groups_.end()) return;
    const auto gone_place = static_cast<std::size_t>(gone - class_groups_.begin());
    class_groups_.erase(gone);
    if (gone_place < place_) --place_;
    if (class_groups_.empty()) choose_class();
  }

  WallTime due_at(std::size_t lane) const {
    return heads_[lane].waiting_since.plus(sla_ms(heads_[lane].key.priority_class));
  }

  // Does lane a go before lane b, both of one queue?
  bool goes_before(QueueOrder order, std::size_t a, std::size_t b) const {
    const LaneOrder& first_a = heads_[a].first[next_[a]];
    const LaneOrder& first_b = heads_[b].first[next_[b]];
    switch (order) {
      case QueueOrder::priority:
        if (heads_[a].key.priority_class != heads_[b].key.priority_class) {
          return heads_[a].key.priority_class < heads_[b].key.priority_class;
        }
        break;
      case QueueOrder::deadline:
        if (due_at(a) != due_at(b)) return due_at(a) < due_at(b);
        break;
      case QueueOrder::fifo:
        return std::pair(first_a.rank, first_a.id) < std::pair(first_b.rank, first_b.id);
    }
    return first_a < first_b;
  }

  std::size_t best_lane(const Group& group) const {
    std::optional<std::size_t> best;
    for (std::size_t i = group.begin; i < group.end; ++i) {
      const std::size_t lane = by_queue_[i];
      if (has_jobs(lane) && (!best || goes_before(group.order, lane, *best))) best = lane;
    }
    return *best;
  }

  // The lane that is longest past its SLA. Of places behind the first only the first's wait is
  // known; it stands for them.
  std::optional<std::size_t> most_overdue() const {
    std::optional<std::size_t> best;
    std::int64_t best_ms = 0;
    for (const std::size_t lane : by_queue_) {
      if (!has_jobs(lane)) continue;
      const std::int64_t overdue_ms = now_.wall.since(due_at(lane));
      if (overdue_ms > best_ms) {
        best = lane;
        best_ms = overdue_ms;
      }
    }
    return best;
  }

  std::span<const LaneHead> heads_;
  Now now_;
  std::vector<std::size_t> next_;          // by lane: the next place
  std::vector<std::size_t> group_of_;      // by lane
  std::vector<std::size_t> by_queue_;      // lanes
  std::vector<Group> groups_;              // by queue id
  std::vector<std::size_t> class_groups_;  // those whose turn it may be
  PriorityClass class_ = PriorityClass::P4;
  std::uint64_t turn_ = 0;
  std::size_t place_ = 0;  // into class_groups_
};

}  // namespace

std::vector<Pick> allot(std::span<const LaneHead> heads, std::uint32_t credit, Now now,
                        std::uint64_t pick_count,
                        const std::function<QueueOrder(QueueId)>& order_of) {
  if (heads.empty() || credit == 0) return {};
  return Allotment(heads, now, order_of).run(credit, pick_count);
}

}  // namespace weir::core
