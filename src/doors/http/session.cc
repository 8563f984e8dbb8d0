// SPDX-License-Identifier: Apache-2.0
#include "doors/http/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "doors/http/openapi.h"
#include "doors/http/reply.h"

namespace weir::doors {
namespace http {
namespace {

// A refused request with a body up to this size is read to its end, so that the connection can go
// on.
constexpr std::size_t kRefusedBodyMax = 16 * core::kKiB;

// "localhost" of "localhost:7350", "::1" of "[::1]:7350".
std::string_view host_name(std::string_view host) {
  if (host.starts_with('['))
    return host.substr(1, host.find(']') == std::string_view::npos ? 0 : host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

// A page of any site can make a browser send here under a name that resolves to us (DNS rebinding):
// only names that are ours are answered. A listener open to the network has tokens; there an empty
// list means any name.
Result<void> check_host(const HttpDoorOptions& options, const HttpRequest& head) {
  const std::string_view name = host_name(head.header("host"));
  if (is_loopback_host(name)) return {};
  if (!options.is_loopback && options.allowed_hosts.empty()) return {};
  for (const std::string& allowed : options.allowed_hosts) {
    if (equals_ignore_case(name, host_name(allowed))) return {};
  }
  return failure(
      ErrorCode::permission_denied,
      fmt::format("host {} is not one of this server's; allow it by server.allowed_hosts",
                  json_string(cut_utf8(name, 255))));
}

// Browsers say where a request comes from; only the server's own pages and the allowed ones may
// call.
Result<void> check_origin(const HttpDoorOptions& options, const HttpRequest& head) {
  const std::string_view site = head.header("sec-fetch-site");
  if (!head.has_header("origin")) {
    if (site != "cross-site") return {};
    return failure(ErrorCode::permission_denied, "requests from other sites are refused");
  }
  const std::string_view origin = head.header("origin");
  const std::string_view scheme = head.is_tls ? "https://" : "http://";
  if (origin.starts_with(scheme) &&
      equals_ignore_case(origin.substr(scheme.size()), head.header("host")))
    return {};
  for (const std::string& allowed : options.allowed_origins) {
    if (equals_ignore_case(origin, allowed)) return {};
  }
  return failure(ErrorCode::permission_denied,
                 fmt::format("origin {} may not call; allow it by server.allowed_origins",
                             json_string(cut_utf8(origin, 255))));
}

std::string_view path_of(const HttpRequest& head) {
  return std::string_view(head.target).substr(0, head.target.find('?'));
}

std::string_view query_of(const HttpRequest& head) {
  const std::size_t mark = head.target.find('?');
  return mark == std::string::npos ? std::string_view()
                                   : std::string_view(head.target).substr(mark + 1);
}

HttpResponse no_route(const Match& match, const HttpRequest& head) {
  if (match.methods.empty()) {
    return problem(Error{.code = ErrorCode::not_found,
                         .detail = "no such path; GET /openapi.json lists them"});
  }
  std::string allowed;
  for (const std::string_view method : match.methods)
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", method);
  HttpResponse response =
      problem(Error{.code = ErrorCode::invalid_argument,
                    .detail = fmt::format("{} is not a method of this path; {} is",
                                          cut_utf8(head.method, 32), allowed)},
              405);
  response.headers.emplace_back("Allow", allowed);
  return response;
}

Result<Caller> admit_caller(const HttpDoor::Impl& door, const HttpRequest& head,
                            const Match& match) {
  const Route& route = *match.route;
  if (route.access == Access::open) return Caller{};
  WEIR_TRY_ASSIGN(Caller caller, authenticate(door.engine, door.auth(), door.wall_now(),
                                              head.header("authorization")));
  const bool has_queue = route.path.find("{queue}") != std::string_view::npos;
  WEIR_TRY(authorize(caller, route.scopes,
                     has_queue ? std::string_view(match.parameter) : std::string_view()));
  if (match.is_bad_escape)
    return failure(ErrorCode::invalid_argument, "the path has a bad percent escape");
  if (has_queue) WEIR_TRY(check_name("queue", match.parameter, core::kNameBytesMax));
  return caller;
}

Hash128 hash_of(std::string_view text) {
  const Sha256 digest = sha256(text);
  Hash128 hash;
  for (std::size_t i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | digest[i];
    hash.low = hash.low << 8 | digest[i + 8];
  }
  return hash;
}

// Parts with their lengths, so that no two different lists run together to the same text.
void add_part(std::string& text, std::string_view part) {
  text += fmt::format("{}:{}", part.size(), part);
}

}  // namespace

Admission admit(const HttpDoor::Impl& door, const HttpRequest& head) {
  Admission admission;
  Result<void> allowed = check_host(door.options, head);
  if (allowed) allowed = check_origin(door.options, head);
  if (!allowed) {
    admission.refusal = problem(allowed.error());
    return admission;
  }
  admission.match =
      match_route(head.method == "HEAD" ? "GET" : std::string_view(head.method), path_of(head));
  if (admission.match.route == nullptr) {
    admission.refusal = no_route(admission.match, head);
    return admission;
  }
  Result<Caller> caller = admit_caller(door, head, admission.match);
  if (!caller) {
    admission.refusal = problem(caller.error());
    return admission;
  }
  admission.caller = std::move(*caller);
  admission.is_admitted = true;
  return admission;
}

Call::Call(HttpDoor::Impl& door, HttpRequest request, HttpResponderPtr responder,
           Admission admission)
    : door_(door),
      request_(std::move(request)),
      responder_(std::move(responder)),
      route_(admission.match.route),
      parameter_(std::move(admission.match.parameter)),
      caller_(std::move(admission.caller)) {}

void Call::run() {
  guarded([this] {
    if (const Result<void> read = read_head(); !read) return refuse(read.error());
    route_->handler(shared_from_this());
  });
}

Result<void> Call::read_head() {
  WEIR_TRY_ASSIGN(query_, Query::parse(query_of(request_), route_->query));
  if (route_->repeat != Repeat::read && request_.has_header("idempotency-key")) {
    if (route_->repeat == Repeat::refused) {
      return failure(ErrorCode::invalid_argument,
                     "a claim takes no Idempotency-Key: its jobs are leased; claim again, and let "
                     "lost leases run out");
    }
    WEIR_TRY(check_name("Idempotency-Key", request_.header("idempotency-key"),
                        core::kIdempotencyKeyBytesMax));
  }
  // Some clients send {} with every call; anything more is a slip that must not be passed over.
  if (route_->request.empty() && !request_.body.empty()) WEIR_TRY(parse_nothing(request_.body));
  // An enqueue takes any type; its parser looks for itself.
  if (!route_->request.empty() && route_->request != "NewJob") WEIR_TRY(check_json_body(request_));
  return {};
}

void Call::reply(HttpResponse response) {
  if (is_answered_) return;
  is_answered_ = true;
  finish(response);
  responder_->respond(std::move(response));
}

HttpResponse Call::problem_of(const Error& error) { return problem(error); }

std::optional<core::IdempotencyRef> Call::idempotency(std::size_t item) const {
  if (route_->repeat != Repeat::stored || !request_.has_header("idempotency-key"))
    return std::nullopt;
  std::string scope;
  add_part(scope, caller_.principal.id);
  add_part(scope, request_.method);
  add_part(scope, path_of(request_));
  add_part(scope, request_.header("idempotency-key"));
  if (item != 0) add_part(scope, fmt::format("{}", item));
  // What the request asks for: the body, and everything beside it that changes the effect.
  std::string asked;
  add_part(asked, request_.body);
  add_part(asked, query_of(request_));
  add_part(asked, request_.header("if-match"));
  for (const auto& [name, value] : request_.headers) {
    if (!name.starts_with("weir-")) continue;
    add_part(asked, name);
    add_part(asked, value);
  }
  if (route_->request == "NewJob" && !is_json_type(request_.header("content-type"))) {
    add_part(asked, request_.header("content-type"));
  }
  return core::IdempotencyRef{.scope = hash_of(scope), .request = hash_of(asked)};
}

void Call::submit(core::Command command, Render render) {
  core::Request request{
      .command = std::move(command), .principal = caller_.principal, .idempotency = idempotency()};
  const Result<void> taken = engine().submit(
      std::move(request),
      [call = shared_from_this(), render = std::move(render)](core::Answer answer) {
        call->guarded([&call, &render, &answer] {
          if (render && std::get_if<Error>(&answer.outcome) == nullptr) {
            HttpResponse response = render(answer);
            if (answer.replayed) response.headers.emplace_back("Idempotent-Replayed", "true");
            call->reply(std::move(response));
            return;
          }
          const bool is_batch = call->route().request == "NewJobs";
          call->reply(to_response(answer, {.queue = call->parameter(), .is_batch = is_batch}));
        });
      });
  if (!taken) refuse(taken.error());
}

Result<void> Call::check_visible(const engine::JobView& view) const {
  const core::Queue* queue = engine().find_queue(view.queue_name, caller_.principal.namespace_id);
  if (queue == nullptr || queue->id != view.job.queue) {
    return failure(ErrorCode::not_found, fmt::format("there is no job {}", view.job.id.value));
  }
  // Without the queue's name: ids are easy to guess, names may be telling.
  if (caller_.may_touch(view.queue_name)) return {};
  return failure(ErrorCode::permission_denied, "the token does not reach the queue of this job");
}

Result<engine::JobView> Call::visible_job() {
  WEIR_TRY_ASSIGN(const core::JobId id, parse_job_id(parameter_));
  WEIR_TRY_ASSIGN(engine::JobView view, engine().job(id));
  WEIR_TRY(check_visible(view));
  return view;
}

Result<void> Call::check_reach(core::JobId id) {
  if (caller_.is_unrestricted()) return {};
  const Result<engine::JobView> view = engine().job(id);
  // A job that is gone is the core's to answer: a true token of it gives `gone`.
  if (!view) return {};
  return check_visible(*view);
}

Result<void> Call::check_caller() const {
  return check_still_valid(door_.engine, door_.auth(), door_.wall_now(), caller_);
}

Result<core::JobId> Call::reachable_job() {
  WEIR_TRY_ASSIGN(const core::JobId id, parse_job_id(parameter_));
  WEIR_TRY(check_reach(id));
  return id;
}

}  // namespace http

HttpDoor::Impl::Impl(engine::Engine& the_engine, HttpDoorOptions the_options)
    : engine(the_engine),
      options(std::move(the_options)),
      events(the_engine, options.after, [this](const Caller& caller) {
        return check_still_valid(engine, auth(), wall_now(), caller).has_value();
      }) {
  if (!options.started_at.is_set()) options.started_at = wall_now();
  openapi = http::print_openapi(options.version);
}

HttpDoor::HttpDoor(engine::Engine& engine, HttpDoorOptions options)
    : impl_(std::make_unique<Impl>(engine, std::move(options))) {}

HttpDoor::~HttpDoor() = default;

HttpHeadVerdict HttpDoor::on_head(const HttpRequest& head) {
  const http::Admission admission = http::admit(*impl_, head);
  const Result<std::uint64_t> declared = parse_u64("Content-Length", head.header("content-length"));
  const bool has_body = head.has_header("content-length") || head.has_header("transfer-encoding");
  HttpHeadVerdict verdict;
  if (admission.is_admitted) {
    verdict.body_bytes_max = admission.match.route->body_bytes_max;
    const bool is_too_large = declared && *declared > verdict.body_bytes_max;
    if (!is_too_large) return verdict;
    verdict.accept = false;
    verdict.refusal = http::too_large(*admission.match.route, *declared);
    http::finish(verdict.refusal);
    return verdict;
  }
  // Without a body, or with a small one, the answer comes in turn and the connection goes on.
  verdict.body_bytes_max = http::kRefusedBodyMax;
  const bool is_small = !has_body || (declared && *declared <= http::kRefusedBodyMax);
  if (is_small && !head.has_header("expect")) return verdict;
  verdict.accept = false;
  verdict.refusal = admission.refusal;
  http::finish(verdict.refusal);
  return verdict;
}

void HttpDoor::on_request(HttpRequest request, HttpResponderPtr responder) {
  http::Admission admission = http::admit(*impl_, request);
  if (!admission.is_admitted) {
    http::finish(admission.refusal);
    responder->respond(std::move(admission.refusal));
    return;
  }
  std::make_shared<http::Call>(*impl_, std::move(request), std::move(responder),
                               std::move(admission))
      ->run();
}

void HttpDoor::end_streams() { impl_->events.end_all(); }

}  // namespace weir::doors
