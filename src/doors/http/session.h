// SPDX-License-Identifier: Apache-2.0
// The life of one request: admitted (Host, Origin, route, token, scope), given to its handler,
// answered exactly once.
//
// Admission runs twice, on the head before the body is read and again on the whole request, from
// nothing but the request: a token revoked in between is refused, and no state hangs between the
// two.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/http_message.h"
#include "core/command.h"
#include "doors/auth.h"
#include "doors/http/events.h"
#include "doors/http/guard.h"
#include "doors/http/http_door.h"
#include "doors/http/map.h"
#include "doors/http/parser.h"
#include "doors/http/verbs.h"

namespace weir::doors {

// What every call shares. Lives as long as the door.
struct HttpDoor::Impl {
  Impl(engine::Engine& engine, HttpDoorOptions options);

  WallTime wall_now() const {
    return options.clock != nullptr ? options.clock->wall_now() : engine.now().wall;
  }
  AuthOptions auth() const {
    return {.is_loopback = options.is_loopback, .tokens_required = options.tokens_required};
  }

  engine::Engine& engine;
  HttpDoorOptions options;
  std::string openapi;  // printed once
  http::EventStreams events;
};

namespace http {

// The outcome of admission: a caller and a route, or a refusal ready to send.
struct Admission {
  Match match;
  Caller caller;
  bool is_admitted = false;
  HttpResponse refusal;
};
Admission admit(const HttpDoor::Impl& door, const HttpRequest& head);

// One request in hand. shared_ptr: the engine's callbacks and the responder's own keep it until the
// last of them is gone. One thread.
class Call : public std::enable_shared_from_this<Call> {
 public:
  Call(HttpDoor::Impl& door, HttpRequest request, HttpResponderPtr responder, Admission admission);

  HttpDoor::Impl& door() const { return door_; }
  engine::Engine& engine() const { return door_.engine; }
  const HttpRequest& request() const { return request_; }
  const std::string& body() const { return request_.body; }
  const Route& route() const { return *route_; }
  // The decoded {queue}, {id} or {token} of the path.
  const std::string& parameter() const { return parameter_; }
  const Caller& caller() const { return caller_; }
  const core::Principal& principal() const { return caller_.principal; }
  const Query& query() const { return query_; }
  HttpResponder& responder() const { return *responder_; }
  // For a handler that answers by a stream: no reply of this call leaves after it.
  HttpResponderPtr take_responder() {
    is_answered_ = true;
    return responder_;
  }

  // Reads the query, the shape of the key and the media type, then calls the handler, behind the
  // guard.
  void run();

  // Exactly one answer leaves: later ones are dropped (the guard may come after an answer).
  void reply(HttpResponse response);
  void refuse(const Error& error) { reply(problem_of(error)); }
  bool is_answered() const { return is_answered_; }

  using Render = std::function<HttpResponse(const core::Answer&)>;
  // Submits with the request's Idempotency-Key and answers with the outcome; `render` replaces the
  // usual map.
  void submit(core::Command command, Render render = nullptr);
  // The same for a Result: its error is answered.
  template <typename T>
  void submit(Result<T> command, Render render = nullptr) {
    if (!command) return refuse(command.error());
    submit(core::Command(std::move(*command)), std::move(render));
  }
  // The hashes under which this request is remembered; `item` tells the items of a list apart.
  // nullopt without a key.
  std::optional<core::IdempotencyRef> idempotency(std::size_t item = 0) const;

  // Runs `step`; what it throws is logged and answered as internal, and the server lives.
  template <typename F>
  void guarded(F&& step) {
    run_guarded(route_->operation, std::forward<F>(step), [this] {
      refuse(Error{.code = ErrorCode::internal, .detail = "the fault is in the server's log"});
    });
  }

  // The {id} of the path, when the caller may see that job. Errors: invalid_argument, not_found
  // (also for another namespace), permission_denied (another's queue).
  Result<engine::JobView> visible_job();
  // The {id} of a lease verb: looked up only for callers who are bound to some queues, since the
  // token proves the rest and a job that is gone must be told from one that never was.
  Result<core::JobId> reachable_job();
  Result<void> check_reach(core::JobId id);
  // For answers that come later: does the caller's token still hold? Errors: unauthenticated.
  Result<void> check_caller() const;
  // May the caller see it? Errors: not_found (another namespace's), permission_denied (its queue).
  Result<void> check_visible(const engine::JobView& view) const;

 private:
  static HttpResponse problem_of(const Error& error);
  Result<void> read_head();

  HttpDoor::Impl& door_;
  HttpRequest request_;
  HttpResponderPtr responder_;
  const Route* route_;
  std::string parameter_;
  Caller caller_;
  Query query_;
  bool is_answered_ = false;
};

}  // namespace http
}  // namespace weir::doors
