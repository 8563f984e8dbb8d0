// SPDX-License-Identifier: Apache-2.0
// The index against ordered maps, the exactness of packing, and its budget of memory.
#include "store/journal/index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "support/random_entity.h"

namespace weir::store::journal {
namespace {

core::Job pending(std::uint64_t id, std::int32_t priority = 0) {
  core::Job job;
  job.id = core::JobId{id};
  job.queue = core::QueueId{1};
  job.rank = static_cast<std::int64_t>(id);
  job.version = 1;
  job.priority = priority;
  job.created_at = WallTime{1'800'000'000'000 + static_cast<std::int64_t>(id)};
  return job;
}

RecordParts body_at(std::uint32_t segment, std::uint32_t offset, std::uint32_t length = 100) {
  RecordParts parts;
  parts.at = PackedLocation::of(
      {.segment = segment, .commit_offset = 4096, .body_offset = offset, .length = length});
  parts.has_body = true;
  return parts;
}

core::Queue queue_one() {
  core::Queue queue;
  queue.id = core::QueueId{1};
  queue.name = "q";
  queue.version = 1;
  return queue;
}

TEST(IndexTest, packing_and_unpacking_are_exact) {
  Prng prng(5);
  Index index;
  index.finish_loading(StoreTime{});
  for (int i = 0; i < 3000; ++i) {
    core::Job job = test::random_job(prng);
    job.id = core::JobId{prng.up_to(200) + 1};
    const JobFacts before = index.facts(job.id);
    if (before.exists && job.version < before.version) job.version = before.version;
    // An EndedJob is not built from memory; that is tested with the store.
    index.put_job(job, body_at(1, 0));
    core::Job found = test::random_job(prng);  // what was in it before leaves no trace
    ASSERT_TRUE(index.load_job(job.id, found));
    ASSERT_EQ(found, job);
    if (prng.one_in(3)) index.erase_job(job.id);
  }
}

TEST(IndexTest, locations_pack_exactly) {
  for (const Location at :
       {Location{1, 4096, 0, 0},
        Location{0xFFFFFFFF, kSegmentBytes - kBlockBytes, (1u << 24) - 1, (1u << 28) - 1},
        Location{7, 8192, 524288, 77}}) {
    EXPECT_EQ(PackedLocation::of(at).unpack(), at);
  }
}

// Random puts, moves and removals; lanes, counts and lists equal those of a sorted model.
TEST(IndexTest, agrees_with_ordered_maps) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Prng prng(seed);
    Index index;
    index.put_queue(queue_one());
    index.finish_loading(StoreTime{});
    std::map<std::uint64_t, core::Job> model;
    std::uint64_t next = 1;
    for (int step = 0; step < 6000; ++step) {
      core::Job job;
      if (model.empty() || prng.one_in(3)) {
        job = pending(next++, static_cast<std::int32_t>(prng.one_in(4) ? prng.between(-3, 3) : 0));
        if (prng.one_in(4)) job.kind = prng.one_in(2) ? "a" : "b";
        if (prng.one_in(5)) job.priority_class = core::PriorityClass::P0;
      } else {
        auto at = model.lower_bound(prng.up_to(next));
        if (at == model.end()) at = model.begin();
        job = at->second;
        ++job.version;
        if (prng.one_in(4)) {
          index.erase_job(job.id);
          model.erase(at);
          continue;
        }
        job.state = prng.one_in(2) ? core::JobState::pending : core::JobState::blocked;
        if (prng.one_in(6)) job.rank = static_cast<std::int64_t>(prng.up_to(2 * next));
        if (prng.one_in(8)) job.priority_class = core::PriorityClass::P1;
      }
      model[job.id.value] = job;
      index.put_job(job, body_at(1, 0));
      if (step % 50 != 0) continue;
      std::map<core::LaneKey, std::set<core::LaneOrder>> lanes;
      for (const auto& [id, each] : model) {
        if (each.state != core::JobState::pending) continue;
        lanes[{each.queue, each.priority_class, each.kind}].insert(
            {each.priority, each.rank, each.id});
      }
      std::vector<core::LaneHead> heads;
      const std::size_t places = prng.one_in(2) ? 3 : 1'000'000;
      index.heads({}, places, heads);
      ASSERT_EQ(heads.size(), lanes.size());
      auto lane = lanes.begin();
      for (const core::LaneHead& head : heads) {
        ASSERT_EQ(head.key, lane->first);
        std::vector<core::LaneOrder> expected(lane->second.begin(), lane->second.end());
        if (expected.size() > places) expected.resize(places);
        ASSERT_EQ(head.first, expected) << "seed " << seed << " step " << step;
        ++lane;
      }
      std::vector<std::uint64_t> up, down;
      for (std::uint64_t id = index.next_id(0, false); id != 0; id = index.next_id(id, false))
        up.push_back(id);
      for (std::uint64_t id = index.next_id(~0ull, true); id != 0; id = index.next_id(id, true))
        down.push_back(id);
      std::reverse(down.begin(), down.end());
      ASSERT_EQ(up, down);
      ASSERT_TRUE(
          std::equal(up.begin(), up.end(), model.begin(), model.end(),
                     [](std::uint64_t id, const auto& entry) { return id == entry.first; }));
    }
  }
}

TEST(IndexTest, applying_a_record_twice_changes_nothing) {
  Index index;
  index.put_queue(queue_one());
  index.finish_loading(StoreTime{});
  const core::Job job = pending(1);
  for (int i = 0; i < 2; ++i) index.put_job(job, body_at(3, 0));
  EXPECT_EQ(index.counts(core::QueueId{1}).of(core::JobState::pending), 1u);
  EXPECT_EQ(index.use().live_bytes(3), 100u);
  std::vector<core::LaneHead> heads;
  index.heads({}, 10, heads);
  ASSERT_EQ(heads.size(), 1u);
  EXPECT_EQ(heads[0].first.size(), 1u);
  core::Job old = job;
  core::Job newer = job;
  newer.version = 2;
  newer.state = core::JobState::blocked;
  index.put_job(newer, {});
  index.put_job(old, {});
  EXPECT_EQ(index.facts(job.id).version, 2u);
}

TEST(IndexTest, living_bytes_follow_the_places) {
  Index index;
  index.put_queue(queue_one());
  index.finish_loading(StoreTime{});
  core::Job job = pending(1);
  index.put_job(job, body_at(3, 0, 100));
  ++job.version;
  RecordParts attempt = body_at(4, 0, 50);
  attempt.has_body = false;
  attempt.has_attempts = true;
  index.put_job(job, attempt);
  EXPECT_EQ(index.use().live_bytes(3), 100u);
  EXPECT_EQ(index.use().live_bytes(4), 50u);
  ++job.version;
  job.state = core::JobState::completed;
  job.ended_at = StoreTime{5};
  RecordParts end = body_at(5, 0, 70);
  end.has_body = false;
  end.has_attempts = end.has_result = true;
  index.put_job(job, end);
  EXPECT_EQ(index.use().live_bytes(5), 70u) << "one record counts once";
  RecordParts whole = body_at(9, 0, 300);
  whole.has_attempts = whole.has_result = whole.is_whole = true;
  index.move_job(job.id, whole);
  EXPECT_EQ(index.use().total_bytes(), 300u);
  EXPECT_EQ(index.use().live_bytes(9), 300u);
  index.erase_job(job.id);
  EXPECT_EQ(index.use().total_bytes(), 0u);
}

// Design: 136 bytes a waiting job, with its id, its place in the lane and its age.
TEST(IndexTest, a_million_waiting_jobs_take_at_most_136_bytes_each) {
  Index index;
  index.put_queue(queue_one());
  index.finish_loading(StoreTime{});
  constexpr std::uint64_t kJobs = 1'000'000;
  core::Job job = pending(1);
  job.kind = "mail";
  const std::size_t empty = index.memory_bytes();
  for (std::uint64_t id = 1; id <= kJobs; ++id) {
    job.id = core::JobId{id};
    job.rank = static_cast<std::int64_t>(id);
    index.put_job(job, body_at(1, 0));
  }
  EXPECT_LE((index.memory_bytes() - empty) / kJobs, 136u);
}

// Jobs that end are small soon, and one that is replayed is whole again.
TEST(IndexTest, ended_jobs_shrink_and_grow_back) {
  Index index(IndexOptions{.ended_in_full_max = 2});
  index.put_queue(queue_one());
  index.finish_loading(StoreTime{});
  for (std::uint64_t id = 1; id <= 5; ++id) {
    core::Job job = pending(id);
    index.put_job(job, body_at(1, static_cast<std::uint32_t>(id * 100)));
    ++job.version;
    job.state = core::JobState::dead;
    job.ended_at = StoreTime{static_cast<std::int64_t>(id)};
    RecordParts end = body_at(2, static_cast<std::uint32_t>(id * 100), 40);
    end.has_body = false;
    index.put_job(job, end);
  }
  JobPlaces places;
  ASSERT_TRUE(index.places(core::JobId{1}, places));
  EXPECT_TRUE(places.is_shrunk);
  EXPECT_EQ(index.facts(core::JobId{1}).version, 2u);
  EXPECT_EQ(index.counts(core::QueueId{1}).of(core::JobState::dead), 5u);
  core::Job again = pending(1);
  again.version = 3;
  index.put_job(again, {});
  core::Job found;
  ASSERT_TRUE(index.load_job(core::JobId{1}, found));
  EXPECT_EQ(found, again);
  EXPECT_EQ(index.counts(core::QueueId{1}).of(core::JobState::dead), 4u);
  EXPECT_EQ(index.use().live_bytes(2), 160u) << "the record of its end is needed no more";
}

TEST(IndexTest, timers_tell_each_thing_once_and_the_most_overdue_first) {
  Index index;
  index.put_queue(queue_one());
  index.finish_loading(StoreTime{});
  core::Job job = pending(1);
  job.state = core::JobState::failed;
  for (int i = 0; i < 3000; ++i) {  // the same instant again and again leaves stale doubles behind
    ++job.version;
    job.due_at = StoreTime{i % 2 == 0 ? 500 : 700};
    index.put_job(job, {});
  }
  core::Job other = pending(2);
  other.state = core::JobState::failed;
  other.due_at = StoreTime{600};
  index.put_job(other, {});
  std::vector<Due> dues;
  index.due({.wall = WallTime{1}, .store = StoreTime{1000}}, 10, dues);
  ASSERT_EQ(dues.size(), 2u);
  EXPECT_EQ(dues[0].job, other.id);
  EXPECT_EQ(dues[1].job, job.id);
  WallTime wall;
  StoreTime store;
  index.next_due(wall, store);
  EXPECT_EQ(store, StoreTime{600});
  EXPECT_EQ(wall, WallTime::never());
}

}  // namespace
}  // namespace weir::store::journal
