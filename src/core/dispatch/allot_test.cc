// SPDX-License-Identifier: Apache-2.0
// allot: class before queue, turns between queues, places in order, the overdue pick, and B43 (a
// retried job overtakes).
#include "core/dispatch/allot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "core/limits.h"

namespace weir::core {
namespace {

constexpr Now kNow{.wall = WallTime{1'800'000'000'000}, .store = StoreTime{1}};

LaneHead lane(std::uint32_t queue, PriorityClass c, std::vector<LaneOrder> places,
              std::int64_t waited_ms = 0, std::string kind = {}) {
  return {.key = {.queue = QueueId{queue}, .priority_class = c, .kind = std::move(kind)},
          .first = std::move(places),
          .waiting_since = kNow.wall.plus(-waited_ms)};
}

std::vector<LaneOrder> places(std::uint64_t first_id, std::size_t count,
                              std::int32_t priority = 0) {
  std::vector<LaneOrder> list;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t id = first_id + i;
    list.push_back({.priority = priority, .rank = static_cast<std::int64_t>(id), .id = JobId{id}});
  }
  return list;
}

QueueOrder by_priority(QueueId) { return QueueOrder::priority; }

std::vector<std::uint64_t> ids_of(const std::vector<Pick>& picks) {
  std::vector<std::uint64_t> ids;
  for (const Pick& pick : picks) ids.push_back(pick.order.id.value);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST(AllotTest, nothing_gives_nothing) {
  EXPECT_TRUE(allot({}, 5, kNow, 0, by_priority).empty());
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P2, places(1, 2))};
  EXPECT_TRUE(allot(heads, 0, kNow, 0, by_priority).empty());
  EXPECT_EQ(ids_of(allot(heads, 9, kNow, 0, by_priority)), (Ids{1, 2}));
}

TEST(AllotTest, class_goes_before_queue) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P3, places(1, 3)),
                                       lane(2, PriorityClass::P0, places(10, 2)),
                                       lane(3, PriorityClass::P1, places(20, 2))};
  EXPECT_EQ(ids_of(allot(heads, 7, kNow, 0, by_priority)), (Ids{10, 11, 20, 21, 1, 2, 3}));
}

TEST(AllotTest, queues_of_a_class_take_turns_within_and_between_calls) {
  std::vector<LaneHead> heads;
  for (std::uint32_t queue = 1; queue <= 3; ++queue) {
    heads.push_back(lane(queue, PriorityClass::P2, places(queue * 100, 50)));
  }
  std::map<std::size_t, int> once;
  for (const Pick& pick : allot(heads, 60, kNow, 5, by_priority)) ++once[pick.lane];
  EXPECT_EQ(once, (std::map<std::size_t, int>{{0, 20}, {1, 20}, {2, 20}}));
  std::map<std::size_t, int> singly;
  for (std::uint64_t n = 0; n < 60; ++n) ++singly[allot(heads, 1, kNow, n, by_priority).at(0).lane];
  EXPECT_EQ(singly, (std::map<std::size_t, int>{{0, 20}, {1, 20}, {2, 20}}));
}

TEST(AllotTest, a_queue_that_runs_out_leaves_the_turns_to_the_others) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P2, places(1, 1)),
                                       lane(2, PriorityClass::P2, places(10, 3)),
                                       lane(3, PriorityClass::P2, places(20, 3))};
  EXPECT_EQ(ids_of(allot(heads, 9, kNow, 0, by_priority)), (Ids{1, 10, 20, 11, 21, 12, 22}));
}

TEST(AllotTest, lanes_of_a_queue_merge_by_priority_rank_and_id) {
  // B43: the retried job 1 (priority 25) goes before all with 50, which stay in accept order over
  // both kinds.
  const std::vector<LaneHead> heads = {
      lane(1, PriorityClass::P2, {{25, 1, JobId{1}}, {50, 3, JobId{3}}, {50, 5, JobId{5}}}, 0, "a"),
      lane(1, PriorityClass::P2, {{50, 2, JobId{2}}, {50, 4, JobId{4}}}, 0, "b")};
  EXPECT_EQ(ids_of(allot(heads, 5, kNow, 0, by_priority)), (Ids{1, 2, 3, 4, 5}));
}

TEST(AllotTest, fifo_merges_classes_and_kinds_by_acceptance) {
  const std::vector<LaneHead> heads = {
      lane(1, PriorityClass::P0, {{0, 2, JobId{2}}, {0, 4, JobId{4}}}),
      lane(1, PriorityClass::P4, {{0, 1, JobId{1}}, {0, 3, JobId{3}}})};
  const auto fifo = [](QueueId) { return QueueOrder::fifo; };
  EXPECT_EQ(ids_of(allot(heads, 4, kNow, 0, fifo)), (Ids{1, 2, 3, 4}));
}

TEST(AllotTest, deadline_order_takes_the_lane_that_is_due_first) {
  // P0 is due 10 s after it came, P2 5 min after: the P2 head came so early that it is due first.
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P0, places(1, 1), 1'000),
                                       lane(1, PriorityClass::P2, places(2, 1), 295'000)};
  const auto deadline = [](QueueId) { return QueueOrder::deadline; };
  EXPECT_EQ(ids_of(allot(heads, 2, kNow, 0, deadline)), (Ids{2, 1}));
  EXPECT_EQ(ids_of(allot(heads, 2, kNow, 0, by_priority)), (Ids{1, 2}));
}

TEST(AllotTest, one_pick_in_twenty_goes_to_the_overdue_class) {
  const std::vector<LaneHead> heads = {
      lane(1, PriorityClass::P0, places(1, 400)),
      lane(1, PriorityClass::P4, places(10'000, 400), kMsPerDay + 1)};
  int together = 0;
  for (const Pick& pick : allot(heads, 400, kNow, 0, by_priority))
    together += pick.lane == 1 ? 1 : 0;
  EXPECT_EQ(together, 20);
  int singly = 0;
  for (std::uint64_t n = 0; n < 400; ++n) {
    singly += allot(heads, 1, kNow, n, by_priority).at(0).lane == 1 ? 1 : 0;
  }
  EXPECT_EQ(singly, 20);
}

TEST(AllotTest, a_lane_within_its_sla_waits_for_the_classes_above) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P0, places(1, 100)),
                                       lane(1, PriorityClass::P4, places(500, 9), kMsPerDay)};
  for (const Pick& pick : allot(heads, 100, kNow, 0, by_priority)) EXPECT_EQ(pick.lane, 0U);
}

TEST(AllotTest, the_most_overdue_lane_is_served_first) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P0, places(1, 40)),
                                       lane(2, PriorityClass::P4, places(100, 40), kMsPerDay + 5),
                                       lane(3, PriorityClass::P3, places(200, 40), kMsPerHour + 6)};
  EXPECT_EQ(allot(heads, 1, kNow, 19, by_priority).at(0).lane, 2U);
}

TEST(AllotTest, overdue_picks_take_no_turn_from_a_queue) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P2, places(1, 5)),
                                       lane(2, PriorityClass::P2, places(100, 5)),
                                       lane(3, PriorityClass::P4, places(200, 5), kMsPerDay + 1)};
  std::map<std::size_t, int> picked;
  for (std::uint64_t n = 0; n < 400; ++n)
    ++picked[allot(heads, 1, kNow, n, by_priority).at(0).lane];
  EXPECT_EQ(picked, (std::map<std::size_t, int>{{0, 190}, {1, 190}, {2, 20}}));
}

TEST(AllotTest, a_queue_emptied_by_an_overdue_pick_does_not_shift_the_turns) {
  const std::vector<LaneHead> heads = {lane(1, PriorityClass::P2, places(1, 2), kMsPerHour),
                                       lane(2, PriorityClass::P2, places(10, 3)),
                                       lane(3, PriorityClass::P2, places(20, 3))};
  EXPECT_EQ(ids_of(allot(heads, 5, kNow, 18, by_priority)), (Ids{1, 2, 10, 20, 11}));
}

// Random lanes: no job twice, each lane in order, as many as there are, the same whatever the order
// of the heads.
TEST(AllotTest, random_lanes_are_given_in_order_once_and_wholly) {
  Prng prng(12);
  for (int round = 0; round < 300; ++round) {
    std::vector<LaneHead> heads;
    std::set<LaneKey> keys;
    std::size_t total = 0;
    for (std::uint64_t i = prng.up_to(12) + 1; i > 0; --i) {
      LaneHead head =
          lane(static_cast<std::uint32_t>(prng.between(1, 4)),
               static_cast<PriorityClass>(prng.up_to(4)), places(i * 1'000, prng.up_to(9) + 1),
               prng.between(0, 2 * kMsPerDay), std::string(prng.up_to(2), 'k'));
      if (!keys.insert(head.key).second) continue;
      total += head.first.size();
      heads.push_back(std::move(head));
    }
    const auto order_of = [](QueueId id) { return static_cast<QueueOrder>(id.value % 3); };
    const std::uint64_t pick_count = prng.up_to(1'000'000);
    const auto credit = static_cast<std::uint32_t>(prng.up_to(total + 5));
    const std::vector<Pick> picks = allot(heads, credit, kNow, pick_count, order_of);
    ASSERT_EQ(picks.size(), std::min<std::size_t>(credit, total));
    std::vector<std::size_t> next(heads.size(), 0);
    for (const Pick& pick : picks) ASSERT_EQ(pick.order, heads[pick.lane].first[next[pick.lane]++]);

    std::vector<LaneHead> reversed(heads.rbegin(), heads.rend());
    ASSERT_EQ(ids_of(allot(reversed, credit, kNow, pick_count, order_of)), ids_of(picks));
  }
}

}  // namespace
}  // namespace weir::core
