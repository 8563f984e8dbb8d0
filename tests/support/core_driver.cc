// SPDX-License-Identifier: Apache-2.0
#include "support/core_driver.h"

#include "base/assert.h"
#include "base/digest.h"

namespace weir::test {

CoreDriver::CoreDriver(store::Store& store, const DriverOptions& options)
    : store_(&store),
      policy_(options.policy),
      prng_(options.seed),
      lease_secret_{options.seed, 0x5EC2E7},
      next_job_id_(options.first_job_id),
      next_queue_id_(options.first_queue_id) {}

TurnReport CoreDriver::turn(std::span<const core::Request> requests, Now now) {
  TurnReport report;
  view_.clear();
  std::vector<core::ChangeSet> change_sets;
  core::Context context{.now = now,
                        .prng = prng_,
                        .ids = *this,
                        .policy = policy_,
                        .lease_secret = lease_secret_,
                        .judged_at = {}};
  for (const core::Request& request : requests) {
    core::ReadSet wanted;
    core::reads(request, wanted);
    const auto loaded = store_->prefetch(wanted, view_);
    WEIR_ASSERT(loaded.has_value(), loaded ? "" : loaded.error().detail);
    change_sets.push_back(core::decide(view_, request, context));
    view_.apply(change_sets.back());
    report.answers.push_back(change_sets.back().answer);
  }
  report.seq = store_->commit(change_sets, now, report.results);
  return report;
}

std::vector<core::Request> CoreDriver::due_requests(Now now, std::size_t limit) {
  std::vector<store::Due> due;
  store_->due(now, limit, due);
  std::vector<core::Request> requests;
  for (const store::Due& one : due) requests.push_back(request_for(one));
  return requests;
}

core::Request request_for(const store::Due& due) {
  core::Request request;
  request.principal.id = "server";
  switch (due.kind) {
    case store::Due::Kind::run_at:
    case store::Due::Kind::retry:
      request.command = core::BecomeDue{due.job};
      break;
    case store::Due::Kind::lease:
      request.command = core::ExpireLease{due.job};
      break;
    case store::Due::Kind::ttl:
      request.command = core::ExpireTtl{due.job};
      break;
    case store::Due::Kind::retention:
      request.command = core::Retain{due.job};
      break;
    case store::Due::Kind::unique_key:
      request.command = core::ForgetUnique{due.queue, due.key};
      break;
    case store::Due::Kind::idempotency:
      request.command = core::ForgetIdempotency{due.scope};
      break;
  }
  return request;
}

}  // namespace weir::test
