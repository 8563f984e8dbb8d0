// SPDX-License-Identifier: Apache-2.0
// Making jobs, and the operators' verbs on one job.
#include "doors/http/handlers.h"
#include "doors/http/parser.h"
#include "doors/http/session.h"

namespace weir::doors::http {

void enqueue(const CallPtr& call) {
  call->submit(
      parse_enqueue(call->request(), call->parameter(), call->door().options.retry_policies));
}

void enqueue_batch(const CallPtr& call) {
  call->submit(
      parse_enqueue_batch(call->request(), call->parameter(), call->door().options.retry_policies));
}

namespace {

// The job of the path when the caller may see it, and the reason of the body.
struct OperatorAct {
  core::JobId job;
  std::string reason;
};
Result<OperatorAct> operator_act(Call& call) {
  WEIR_TRY_ASSIGN(const core::JobId id, call.reachable_job());
  WEIR_TRY_ASSIGN(std::string reason, parse_reason(call.body()));
  return OperatorAct{.job = id, .reason = std::move(reason)};
}

Result<core::Cancel> cancel_of(Call& call) {
  WEIR_TRY_ASSIGN(OperatorAct act, operator_act(call));
  return core::Cancel{.job = act.job, .reason = std::move(act.reason)};
}

Result<core::Replay> replay_of(Call& call) {
  WEIR_TRY_ASSIGN(OperatorAct act, operator_act(call));
  return core::Replay{.job = act.job, .reason = std::move(act.reason)};
}

Result<core::Promote> promote_of(Call& call) {
  WEIR_TRY_ASSIGN(const core::JobId id, call.reachable_job());
  WEIR_TRY(parse_nothing(call.body()));
  return core::Promote{.job = id};
}

Result<core::Edit> edit_of(Call& call) {
  WEIR_TRY_ASSIGN(const core::JobId id, call.reachable_job());
  WEIR_TRY_ASSIGN(core::Edit edit, parse_edit(id, call.body(), call.request().header("if-match")));
  if (edit.payload || edit.content_type) {
    // A job that is not there is the core's to answer.
    if (Result<core::JobBody> stored = call.engine().job_body(id))
      edit.stored_body = std::move(*stored);
  }
  return edit;
}

Result<core::Erase> erase_of(Call& call) {
  WEIR_TRY_ASSIGN(const core::JobId id, call.reachable_job());
  return core::Erase{.job = id};
}

}  // namespace

void cancel_job(const CallPtr& call) { call->submit(cancel_of(*call)); }
void replay_job(const CallPtr& call) { call->submit(replay_of(*call)); }
void promote_job(const CallPtr& call) { call->submit(promote_of(*call)); }
void edit_job(const CallPtr& call) { call->submit(edit_of(*call)); }
void delete_job(const CallPtr& call) { call->submit(erase_of(*call)); }

}  // namespace weir::doors::http
