// SPDX-License-Identifier: Apache-2.0
#include "doors/http/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {

struct EventStreams::Stream {
  HttpResponderPtr responder;
  Caller caller;
  std::string queue;
  bool is_gone = false;
};

EventStreams::EventStreams(engine::Engine& engine, After after, MayGoOn may_go_on)
    : engine_(engine), after_(std::move(after)), may_go_on_(std::move(may_go_on)) {}

EventStreams::~EventStreams() {
  *is_alive_ = false;
  if (subscription_ != 0) engine_.unsubscribe(subscription_);
}

void EventStreams::add(HttpResponderPtr responder, Caller caller, std::string queue) {
  drop_gone();
  HttpResponse head;
  head.content_type = "text/event-stream";
  finish(head);
  head.headers.emplace_back("X-Accel-Buffering", "no");
  auto stream = std::make_shared<Stream>();
  stream->responder = std::move(responder);
  stream->caller = std::move(caller);
  stream->queue = std::move(queue);
  // Only marked here: the callback may come from inside write(), while the list is walked.
  stream->responder->on_abandoned([weak = std::weak_ptr<Stream>(stream)] {
    if (const auto gone = weak.lock()) gone->is_gone = true;
  });
  stream->responder->begin_stream(std::move(head));
  stream->is_gone = !stream->responder->write(": weir\nretry: 1000\n\n");
  streams_.push_back(std::move(stream));
  if (subscription_ == 0) {
    subscription_ = engine_.subscribe(
        [this](const core::Event& event, std::string_view queue_name) { send(event, queue_name); });
  }
  schedule_beat();
}

bool EventStreams::goes_on(Stream& stream) const {
  if (stream.is_gone) return false;
  if (may_go_on_(stream.caller)) return true;
  stream.responder->end_stream();
  stream.is_gone = true;
  return false;
}

void EventStreams::send(const core::Event& event, std::string_view queue_name) {
  ++last_id_;
  const std::string_view name =
      event.verb == core::Verb::erase ? std::string_view("delete") : core::to_string(event.verb);
  std::string text =
      fmt::format("id: {}-{}\nevent: {}\ndata: ", engine_.store().identity().epoch, last_id_, name);
  JsonWriter out(text);
  write_event(out, event, queue_name);
  text += "\n\n";
  for (const std::shared_ptr<Stream>& stream : streams_) {
    if (!goes_on(*stream) || !stream->caller.may_touch(queue_name)) continue;
    if (!stream->queue.empty() && !glob_match(stream->queue, queue_name)) continue;
    const core::Queue* queue =
        engine_.find_queue(queue_name, stream->caller.principal.namespace_id);
    if (queue != nullptr && queue->id != event.queue) continue;
    if (queue == nullptr && stream->caller.principal.namespace_id != 0) continue;
    if (!stream->responder->write(text)) stream->is_gone = true;
  }
}

void EventStreams::beat() {
  for (const std::shared_ptr<Stream>& stream : streams_) {
    if (goes_on(*stream) && !stream->responder->write(": beat\n\n")) stream->is_gone = true;
  }
  drop_gone();
}

void EventStreams::drop_gone() {
  std::erase_if(streams_, [](const std::shared_ptr<Stream>& stream) { return stream->is_gone; });
  if (!streams_.empty() || subscription_ == 0) return;
  engine_.unsubscribe(std::exchange(subscription_, 0));
}

void EventStreams::schedule_beat() {
  if (is_beating_ || !after_) return;
  is_beating_ = true;
  after_(kHeartbeatMs, [this, is_alive = is_alive_] {
    if (!*is_alive) return;
    is_beating_ = false;
    beat();
    if (!streams_.empty()) schedule_beat();
  });
}

void EventStreams::end_all() {
  for (const std::shared_ptr<Stream>& stream : streams_) {
    if (!stream->is_gone) stream->responder->end_stream();
    stream->is_gone = true;
  }
  drop_gone();
}

void follow_events(const CallPtr& call) {
  const std::string* queue = call->query().find("queue");
  if (queue != nullptr) {
    if (const auto named = check_name("queue", *queue, core::kNameBytesMax); !named)
      return call->refuse(named.error());
  }
  if (call->request().method == "HEAD") {
    HttpResponse head;
    head.content_type = "text/event-stream";
    return call->reply(std::move(head));
  }
  call->door().events.add(call->take_responder(), call->caller(),
                          queue != nullptr ? *queue : std::string());
}

}  // namespace weir::doors::http
