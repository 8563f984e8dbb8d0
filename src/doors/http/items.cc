// SPDX-License-Identifier: Apache-2.0
// The verbs of a lease holder on many jobs: one result an item, in order; an item's refusal stays
// its own.
//
// Under an Idempotency-Key every item is remembered by itself. The first goes ahead alone then:
// whether the key was used with another body, or is still being worked on, is known from it before
// any other item takes effect.
#include <algorithm>
#include <memory>
#include <optional>

#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/map.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

struct Items {
  std::vector<core::Command> commands;
  std::vector<core::JobId> jobs;
  std::vector<core::Answer> answers;
  std::size_t open_count = 0;
  bool is_first_alone = false;
};
using ItemsPtr = std::shared_ptr<Items>;

core::JobId job_of(const core::Command& command) {
  if (const auto* ack = std::get_if<core::Ack>(&command)) return ack->job;
  if (const auto* fail = std::get_if<core::Fail>(&command)) return fail->job;
  if (const auto* extend = std::get_if<core::Extend>(&command)) return extend->job;
  return {};
}

void finish_items(Call& call, const Items& items) {
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().key("results").begin_array();
  for (std::size_t i = 0; i < items.answers.size(); ++i)
    write_item(out, items.jobs[i], items.answers[i]);
  out.end_array().end_object();
  const auto is_replayed = [](const core::Answer& answer) { return answer.replayed; };
  if (std::any_of(items.answers.begin(), items.answers.end(), is_replayed)) {
    response.headers.emplace_back("Idempotent-Replayed", "true");
  }
  call.reply(std::move(response));
}

void submit_from(const CallPtr& call, const ItemsPtr& items, std::size_t first, std::size_t last);

void take_answer(const CallPtr& call, const ItemsPtr& items, std::size_t index,
                 core::Answer answer) {
  items->answers[index] = std::move(answer);
  if (--items->open_count > 0) return;
  if (items->is_first_alone) {
    items->is_first_alone = false;
    const auto* refusal = std::get_if<Error>(&items->answers[0].outcome);
    const bool is_key_refused =
        refusal != nullptr && !items->answers[0].replayed &&
        (refusal->code == ErrorCode::idempotency_mismatch || refusal->code == ErrorCode::conflict);
    if (is_key_refused) return call->refuse(*refusal);
    if (items->commands.size() > 1) return submit_from(call, items, 1, items->commands.size());
  }
  finish_items(*call, *items);
}

void submit_one(const CallPtr& call, const ItemsPtr& items, std::size_t index) {
  const auto refuse = [&](const Error& error) {
    take_answer(call, items, index, core::Answer{.outcome = error});
  };
  if (const Result<void> reached = call->check_reach(items->jobs[index]); !reached)
    return refuse(reached.error());
  core::Request request{.command = std::move(items->commands[index]),
                        .principal = call->principal(),
                        .idempotency = call->idempotency(index)};
  const Result<void> taken =
      call->engine().submit(std::move(request), [call, items, index](core::Answer answer) {
        call->guarded([&] { take_answer(call, items, index, std::move(answer)); });
      });
  if (!taken) refuse(taken.error());
}

void submit_from(const CallPtr& call, const ItemsPtr& items, std::size_t first, std::size_t last) {
  // Counted before the first is sent: a refusal comes back at once.
  items->open_count = last - first;
  for (std::size_t i = first; i < last; ++i) submit_one(call, items, i);
}

void submit_items(const CallPtr& call, BatchVerb verb) {
  Result<std::vector<core::Command>> commands = parse_items(verb, call->body());
  if (!commands) return call->refuse(commands.error());
  const auto items = std::make_shared<Items>();
  for (const core::Command& command : *commands) items->jobs.push_back(job_of(command));
  items->answers.resize(commands->size());
  items->commands = std::move(*commands);
  items->is_first_alone = call->idempotency().has_value();
  submit_from(call, items, 0, items->is_first_alone ? 1 : items->commands.size());
}

}  // namespace

void ack_items(const CallPtr& call) { submit_items(call, BatchVerb::ack); }
void fail_items(const CallPtr& call) { submit_items(call, BatchVerb::fail); }
void extend_items(const CallPtr& call) { submit_items(call, BatchVerb::extend); }

}  // namespace weir::doors::http
