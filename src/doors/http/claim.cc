// SPDX-License-Identifier: Apache-2.0
// Claiming, and the verbs of a lease holder on one job.
#include <memory>

#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

// Base64 makes a third more of it, and each job has its frame: the answer stays under
// kRequestBytesMax.
constexpr std::size_t kClaimPayloadBytesMax = core::kRequestBytesMax / 8 * 5;

// What must be undone when the client goes: the waiting demand, or the leases that did not reach
// it.
struct ClaimState {
  engine::Engine& engine;
  engine::DemandId demand = 0;
  bool is_delivered = false;
  std::vector<engine::Delivery> deliveries;  // bodies taken out
};

void abandon(ClaimState& state) {
  if (!state.is_delivered) {
    state.engine.withdraw(state.demand);
  } else if (!state.deliveries.empty()) {
    state.engine.undelivered(state.deliveries);
    state.deliveries.clear();
  }
}

void deliver(Call& call, ClaimState& state, Result<std::vector<engine::Delivery>> got) {
  state.is_delivered = true;
  if (!got) return call.refuse(got.error());
  if (const Result<void> caller = call.check_caller(); !caller) {
    state.engine.undelivered(*got);
    return call.refuse(caller.error());
  }
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().key("jobs").begin_array();
  for (engine::Delivery& delivery : *got) {
    const core::Queue* queue =
        call.engine().find_queue(delivery.queue_name, call.principal().namespace_id);
    const std::int64_t timeout_ms =
        queue != nullptr ? core::effective_timeout_ms(delivery.job, *queue) : std::int64_t{0};
    write_delivery(out, delivery, timeout_ms);
    delivery.body = {};
  }
  out.end_array().end_object();
  state.deliveries = std::move(*got);
  call.reply(std::move(response));
}

Result<engine::Demand> demand_of(Call& call) {
  WEIR_TRY_ASSIGN(engine::Demand demand, parse_claim(call.body()));
  for (const std::string& queue : demand.queues) WEIR_TRY(authorize(call.caller(), 0, queue));
  demand.principal = call.principal();
  demand.body_bytes_max = kClaimPayloadBytesMax;
  return demand;
}

template <typename T>
void submit_verb(const CallPtr& call, Result<T> (*parse)(core::JobId, std::string_view)) {
  const Result<core::JobId> id = call->reachable_job();
  if (!id) return call->refuse(id.error());
  call->submit(parse(*id, call->body()));
}

}  // namespace

void claim(const CallPtr& call) {
  Result<engine::Demand> demand = demand_of(*call);
  if (!demand) return call->refuse(demand.error());
  // shared_ptr: the engine's callback and the responder's each may be the last to run.
  const auto state = std::make_shared<ClaimState>(ClaimState{.engine = call->engine()});
  call->responder().on_abandoned([state] { abandon(*state); });
  state->demand = call->engine().demand(
      std::move(*demand), [call, state](Result<std::vector<engine::Delivery>> got) {
        call->guarded([&call, &state, &got] { deliver(*call, *state, std::move(got)); });
      });
}

void ack_job(const CallPtr& call) { submit_verb(call, parse_ack); }
void fail_job(const CallPtr& call) { submit_verb(call, parse_fail); }
void release_job(const CallPtr& call) { submit_verb(call, parse_release); }
void snooze_job(const CallPtr& call) { submit_verb(call, parse_snooze); }
void extend_job(const CallPtr& call) { submit_verb(call, parse_extend); }
void report_progress(const CallPtr& call) { submit_verb(call, parse_progress); }

}  // namespace weir::doors::http
