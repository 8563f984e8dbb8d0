// SPDX-License-Identifier: Apache-2.0
// Queues: settings, counts, pause, purge.
#include <fmt/format.h>

#include "base/text.h"
#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

Failure no_queue(std::string_view name) {
  return failure(ErrorCode::not_found, fmt::format("there is no queue {}", json_string(name)));
}

// The queue must be there: changes of a setting never make one by a slip of the pen; PUT does.
Result<void> check_exists(Call& call) {
  if (call.engine().find_queue(call.parameter(), call.principal().namespace_id) != nullptr)
    return {};
  return no_queue(call.parameter());
}

// `<queue>-dlq`, when no real queue has that name: the dead letters of <queue>, as a view.
Result<std::string> dead_letter_view(Call& call) {
  std::string_view source = call.parameter();
  if (!source.ends_with(core::kDeadLetterSuffix)) return no_queue(call.parameter());
  source.remove_suffix(core::kDeadLetterSuffix.size());
  const Result<engine::QueueView> view = call.engine().queue(source, call.principal().namespace_id);
  if (!view) return no_queue(call.parameter());
  WEIR_TRY(authorize(call.caller(), 0, source));
  const std::uint64_t dead = view->stats.counts.of(core::JobState::dead);
  std::string json;
  JsonWriter out(json);
  out.begin_object().text("name", call.parameter()).text("dead_letters_of", source);
  out.duration("dead_retention", view->queue.settings.dead_retention_ms);
  out.key("counts").begin_object();
  for (const core::JobState state : core::kJobStates) {
    out.count(core::to_string(state), state == core::JobState::dead ? dead : 0);
  }
  out.end_object().count("depth", 0).count("total", dead).end_object();
  return json;
}

Result<core::PutQueue> settings_of(Call& call, bool replace) {
  WEIR_TRY_ASSIGN(core::QueuePatch patch,
                  parse_queue_patch(call.body(), call.door().options.retry_policies));
  if (!replace) WEIR_TRY(check_exists(call));
  return core::PutQueue{.queue = call.parameter(), .patch = std::move(patch), .replace = replace};
}

Result<core::PutQueue> pause_of(Call& call, bool paused) {
  WEIR_TRY(parse_nothing(call.body()));
  WEIR_TRY(check_exists(call));
  core::PutQueue put{.queue = call.parameter()};
  put.patch.paused = paused;
  return put;
}

Result<core::DeleteQueue> delete_of(Call& call) {
  WEIR_TRY_ASSIGN(const bool force, call.query().flag("force"));
  return core::DeleteQueue{.queue = call.parameter(), .force = force};
}

}  // namespace

void list_queues(const CallPtr& call) {
  const Result<std::vector<engine::QueueView>> views =
      call->engine().queues(call->principal().namespace_id);
  if (!views) return call->refuse(views.error());
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().key("queues").begin_array();
  for (const engine::QueueView& view : *views) {
    if (call->caller().may_touch(view.queue.name)) write_queue(out, view, call->door().wall_now());
  }
  out.end_array().end_object();
  call->reply(std::move(response));
}

void get_queue(const CallPtr& call) {
  const Result<engine::QueueView> view =
      call->engine().queue(call->parameter(), call->principal().namespace_id);
  if (!view && view.error().code != ErrorCode::not_found) return call->refuse(view.error());
  if (!view) {
    Result<std::string> dead = dead_letter_view(*call);
    if (!dead) return call->refuse(dead.error());
    return call->reply(json_response(200, std::move(*dead)));
  }
  HttpResponse response;
  JsonWriter out(response.body);
  write_queue(out, *view, call->door().wall_now());
  response.headers.emplace_back("ETag", entity_tag(view->queue.version));
  call->reply(std::move(response));
}

void put_queue(const CallPtr& call) { call->submit(settings_of(*call, true)); }
void patch_queue(const CallPtr& call) { call->submit(settings_of(*call, false)); }
void delete_queue(const CallPtr& call) { call->submit(delete_of(*call)); }
void pause_queue(const CallPtr& call) { call->submit(pause_of(*call, true)); }
void resume_queue(const CallPtr& call) { call->submit(pause_of(*call, false)); }

void purge_queue(const CallPtr& call) {
  Result<void> ready = parse_nothing(call->body());
  if (ready) ready = check_exists(*call);
  if (!ready) return call->refuse(ready.error());
  call->engine().purge(call->parameter(), call->principal(), [call](core::Answer answer) {
    call->guarded([&call, &answer] { call->reply(to_response(answer)); });
  });
}

}  // namespace weir::doors::http
