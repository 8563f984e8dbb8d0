// SPDX-License-Identifier: Apache-2.0
// The fixture of the conformance suite: a fresh store, a clock that moves by call, and short words
// for what tests do often.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conformance/store_factory.h"
#include "support/job_builder.h"

namespace weir::conformance {

using core::JobState;
using store::CommitResult;
using store::Due;
using test::JobBuilder;

class StoreTest : public ::testing::Test {
 protected:
  StoreTest();
  ~StoreTest() override;

  store::Store& store() { return *store_; }
  StoreFactory& factory() { return *factory_; }
  bool survives_reopen() { return store().capabilities().survives_reopen; }
  // Stops and opens the store again; what is asked of it afterwards must be answered as before. The
  // clock goes on.
  void reopen(StopKind how = StopKind::clean);
  void advance(std::int64_t duration_ms);

  // Commits, one or several at once; for one: expects that it is applied.
  std::vector<CommitResult> commit(const std::vector<core::ChangeSet>& change_sets);
  CommitResult try_commit(core::ChangeSet change_set);
  void apply(core::ChangeSet change_set);

  core::JobId new_id();
  core::Queue make_queue(std::string name, core::QueueSettings settings = {});
  core::Queue change_queue(const core::Queue& before, const std::function<void(core::Queue&)>& how);
  core::Job add(const JobBuilder& builder);
  core::Job put(const core::Job& before, const core::Job& after);  // gives `after`
  void remove(const core::Job& job);
  // Steps of a job's life, committed. Group locks are the caller's.
  core::Job claim(const core::Job& job, std::int64_t lease_ms = 60'000);
  core::Job end(const core::Job& job, JobState state = JobState::completed);
  void lock_group(const core::Job& holder);
  void unlock_group(const core::Job& holder);

  // Everything claimable: the places of all lanes, lane after lane in order of key.
  std::vector<core::JobId> claimable(const core::LaneFilter& filter = {}, std::size_t places = 100);
  std::vector<core::LaneHead> heads(const core::LaneFilter& filter = {}, std::size_t places = 100);
  std::vector<Due> due(std::size_t limit = 1000);
  // The jobs that are due for `kind`, most overdue first.
  std::vector<core::JobId> due_jobs(Due::Kind kind, std::size_t limit = 1000);
  core::QueueCounts counts(core::QueueId queue);
  // Every job of a walk through all pages.
  std::vector<core::Job> walk(store::ScanQuery query);

  Now now_;

 private:
  std::unique_ptr<StoreFactory> factory_;
  std::unique_ptr<store::Store> store_;
  store::IdRange ids_;
};

std::vector<core::JobId> ids_of(const std::vector<core::Job>& jobs);

}  // namespace weir::conformance

namespace weir {
// Read by GoogleTest when a comparison of ids or jobs fails.
void PrintTo(const core::JobId& id, std::ostream* out);
namespace core {
void PrintTo(const Job& job, std::ostream* out);
}
}  // namespace weir
