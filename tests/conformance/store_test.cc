// SPDX-License-Identifier: Apache-2.0
#include "conformance/store_test.h"

#include <algorithm>
#include <ostream>
#include <utility>

namespace weir::conformance {

StoreTest::StoreTest() : factory_(make_store_factory()), store_(factory_->make()) {
  now_ = {.wall = WallTime{1'800'000'000'000},
          .store = store().identity().store_time.plus(kMsPerHour)};
}

StoreTest::~StoreTest() = default;

void StoreTest::reopen(StopKind how) {
  store_ = factory_->reopen(std::move(store_), how, now_);
  now_.store = std::max(now_.store, store().identity().store_time);
  ids_ = {};
}

void StoreTest::advance(std::int64_t duration_ms) {
  now_ = {.wall = now_.wall.plus(duration_ms), .store = now_.store.plus(duration_ms)};
}

std::vector<CommitResult> StoreTest::commit(const std::vector<core::ChangeSet>& change_sets) {
  std::vector<CommitResult> results;
  const auto seq = store().commit(change_sets, now_, results);
  EXPECT_TRUE(seq.has_value()) << (seq ? "" : seq.error().detail);
  EXPECT_EQ(results.size(), change_sets.size());
  return results;
}

CommitResult StoreTest::try_commit(core::ChangeSet change_set) {
  return commit({std::move(change_set)}).at(0);
}

void StoreTest::apply(core::ChangeSet change_set) {
  EXPECT_EQ(try_commit(std::move(change_set)), CommitResult::applied);
}

core::JobId StoreTest::new_id() {
  if (ids_.count == 0) {
    auto range = store().allocate_job_ids();
    EXPECT_TRUE(range.has_value());
    ids_ = *range;
  }
  --ids_.count;
  return {ids_.first++};
}

core::Queue StoreTest::make_queue(std::string name, core::QueueSettings settings) {
  const auto id = store().allocate_queue_id();
  EXPECT_TRUE(id.has_value());
  core::Queue queue;
  queue.id = *id;
  queue.name = std::move(name);
  queue.settings = std::move(settings);
  queue.version = 1;
  queue.created_at = now_.wall;
  apply(test::only(core::QueueChange{.after = queue}));
  return queue;
}

core::Queue StoreTest::change_queue(const core::Queue& before,
                                    const std::function<void(core::Queue&)>& how) {
  core::Queue after = before;
  ++after.version;
  how(after);
  apply(test::only(core::QueueChange{.after = after, .expected_version = before.version}));
  return after;
}

core::Job StoreTest::add(const JobBuilder& builder) {
  const core::Job job = builder.build(new_id(), now_);
  apply(test::only(test::enqueue_of(job)));
  return job;
}

core::Job StoreTest::put(const core::Job& before, const core::Job& after) {
  apply(test::only(test::change_of(before, after)));
  return after;
}

void StoreTest::remove(const core::Job& job) { apply(test::only(test::removal_of(job))); }

core::Job StoreTest::claim(const core::Job& job, std::int64_t lease_ms) {
  return put(job, test::claimed(job, now_, lease_ms));
}

core::Job StoreTest::end(const core::Job& job, JobState state) {
  return put(job, test::ended(job, state, now_));
}

void StoreTest::lock_group(const core::Job& holder) {
  apply(test::only(core::GroupLockChange{
      .after = {.queue = holder.queue, .group = holder.group, .holder = holder.id}}));
}

void StoreTest::unlock_group(const core::Job& holder) {
  apply(test::only(core::GroupLockChange{
      .after = {.queue = holder.queue, .group = holder.group, .holder = holder.id},
      .erase = true,
      .expected_holder = holder.id}));
}

std::vector<core::LaneHead> StoreTest::heads(const core::LaneFilter& filter, std::size_t places) {
  std::vector<core::LaneHead> out;
  store().heads(filter, places, out);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.key < b.key; });
  return out;
}

std::vector<core::JobId> StoreTest::claimable(const core::LaneFilter& filter, std::size_t places) {
  std::vector<core::JobId> ids;
  for (const core::LaneHead& head : heads(filter, places)) {
    for (const core::LaneOrder& order : head.first) ids.push_back(order.id);
  }
  return ids;
}

std::vector<Due> StoreTest::due(std::size_t limit) {
  std::vector<Due> out;
  store().due(now_, limit, out);
  return out;
}

std::vector<core::JobId> StoreTest::due_jobs(Due::Kind kind, std::size_t limit) {
  std::vector<core::JobId> ids;
  for (const Due& one : due(limit)) {
    if (one.kind == kind) ids.push_back(one.job);
  }
  return ids;
}

core::QueueCounts StoreTest::counts(core::QueueId queue) {
  const auto stats = store().queue_stats(queue);
  EXPECT_TRUE(stats.has_value());
  return stats ? stats->counts : core::QueueCounts{};
}

std::vector<core::Job> StoreTest::walk(store::ScanQuery query) {
  std::vector<core::Job> jobs;
  do {
    const auto page = store().scan_page(query);
    EXPECT_TRUE(page.has_value());
    if (!page) break;
    EXPECT_LE(page->jobs.size(), query.limit);
    jobs.insert(jobs.end(), page->jobs.begin(), page->jobs.end());
    query.after_id = page->next_after_id;
  } while (query.after_id != 0);
  return jobs;
}

std::vector<core::JobId> ids_of(const std::vector<core::Job>& jobs) {
  std::vector<core::JobId> ids;
  for (const core::Job& job : jobs) ids.push_back(job.id);
  return ids;
}

}  // namespace weir::conformance

namespace weir {

void PrintTo(const core::JobId& id, std::ostream* out) { *out << "job " << id.value; }

namespace core {

void PrintTo(const Job& job, std::ostream* out) {
  *out << "job " << job.id.value << " of queue " << job.queue.value << ", " << to_string(job.state)
       << ", version " << job.version << ", attempt " << job.attempt;
}

}  // namespace core
}  // namespace weir
