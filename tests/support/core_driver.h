// SPDX-License-Identifier: Apache-2.0
// The rules over a store, one turn at a time, with nothing left to chance: own ids, own seed, own
// lease secret. Two drivers with the same options that get the same requests must do the same on
// every store.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "core/decide.h"
#include "store/store.h"

namespace weir::test {

struct DriverOptions {
  std::uint64_t seed = 1;
  std::uint64_t first_job_id = 1;
  std::uint32_t first_queue_id = 1;
  core::Policy policy;
};

// What a turn did.
struct TurnReport {
  std::vector<core::Answer> answers;
  std::vector<store::CommitResult> results;
  Result<std::uint64_t> seq = std::uint64_t{0};
};

// One thread. The store must outlive the driver, or be replaced by set_store().
class CoreDriver final : public core::IdSource {
 public:
  CoreDriver(store::Store& store, const DriverOptions& options);

  // Decides each request, seeing those before it, and commits all together.
  TurnReport turn(std::span<const core::Request> requests, Now now);
  // The commands for what is due now, at most `limit`.
  std::vector<core::Request> due_requests(Now now, std::size_t limit);

  void set_store(store::Store& store) { store_ = &store; }
  const Hash128& lease_secret() const { return lease_secret_; }

  core::JobId next_job_id() override { return {next_job_id_++}; }
  core::QueueId next_queue_id() override { return {next_queue_id_++}; }

 private:
  store::Store* store_;
  core::Policy policy_;
  Prng prng_;
  Hash128 lease_secret_;
  core::View view_;
  std::uint64_t next_job_id_;
  std::uint32_t next_queue_id_;
};

// The command that answers a due thing. Made for "server", which no namespace hides anything from.
core::Request request_for(const store::Due& due);

}  // namespace weir::test
