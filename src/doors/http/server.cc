// SPDX-License-Identifier: Apache-2.0
// The server itself: probes, metrics, facts, backup, audit.
#include <algorithm>

#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

constexpr std::uint64_t kAuditDefault = 100;
constexpr std::uint64_t kAuditMax = 1000;

Result<void> check_unrestricted(const Call& call) {
  if (call.caller().is_unrestricted()) return {};
  return failure(ErrorCode::permission_denied,
                 "this concerns the whole server; the token is bound to some queues");
}

HttpResponse probe(bool is_ok, std::string_view word) {
  HttpResponse response;
  response.status = is_ok ? 200 : 503;
  JsonWriter out(response.body);
  out.begin_object().text("status", word).end_object();
  if (!is_ok) response.headers.emplace_back("Retry-After", "1");
  return response;
}

void write_limits(JsonWriter& out) {
  out.key("limits").begin_object();
  out.count("request_bytes", core::kRequestBytesMax).count("payload_bytes", core::kPayloadBytesMax);
  out.count("result_bytes", core::kResultBytesMax).count("batch_jobs", core::kBatchJobsMax);
  out.count("claim_jobs", core::kClaimJobsMax).count("claim_queues", core::kClaimQueuesMax);
  out.count("page_jobs", core::kPageJobsMax)
      .count("name_bytes", core::kNameBytesMax)
      .count("tags", core::kTagsMax);
  out.count("headers", core::kHeadersMax).count("json_depth", kJsonDepthMax);
  out.duration("wait", core::kWaitMsMax).duration("lease_min", core::kLeaseMsMin);
  out.duration("lease_max", core::kLeaseMsMax).duration("idempotency", core::kIdempotencyMs);
  out.end_object();
}

}  // namespace

void get_livez(const CallPtr& call) {
  const bool is_stopped = call->engine().published().is_stopped.load();
  call->reply(probe(!is_stopped, is_stopped ? "stopped" : "alive"));
}

void get_readyz(const CallPtr& call) {
  const std::string_view word = call->engine().published().readiness();
  call->reply(probe(word == "ready", word));
}

void get_metrics(const CallPtr& call) {
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = *call->engine().published().metrics();
  call->reply(std::move(response));
}

void get_openapi(const CallPtr& call) { call->reply(json_response(200, call->door().openapi)); }

void get_info(const CallPtr& call) {
  const HttpDoor::Impl& door = call->door();
  const store::Store& store = door.engine.store();
  const store::Identity& identity = store.identity();
  const store::StoreStats stats = store.stats();
  const std::int64_t uptime_ms =
      std::max<std::int64_t>(0, door.wall_now().since(door.options.started_at));
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().text("name", "weir").text("version", door.options.version);
  out.text("store", identity.name)
      .count("epoch", identity.epoch)
      .text("durability", door.options.durability);
  out.time("started_at", door.options.started_at)
      .duration("uptime", uptime_ms)
      .number("uptime_ms", uptime_ms);
  out.time("now", door.wall_now())
      .flag("draining", door.engine.is_draining())
      .flag("store_full", stats.is_full);
  out.flag("tokens_required", door.options.tokens_required || door.engine.has_tokens());
  write_limits(out);
  out.key("features").begin_array();
  for (const std::string_view feature :
       {"batch", "dead_letters", "events", "groups", "history", "idempotency", "raw_payloads",
        "results", "tokens", "unique_keys"}) {
    out.text(feature);
  }
  if (store.capabilities().has_backup) out.text("backup");
  out.end_array().end_object();
  call->reply(std::move(response));
}

void back_up(const CallPtr& call) {
  if (const Result<void> allowed = check_unrestricted(*call); !allowed)
    return call->refuse(allowed.error());
  const Result<std::string> to = parse_backup(call->body());
  if (!to) return call->refuse(to.error());
  const auto& hook = call->door().options.backup;
  const Result<void> done = hook ? hook(*to) : call->engine().backup(*to);
  if (!done) return call->refuse(done.error());
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().text("status", "written").text("to", *to).end_object();
  call->reply(std::move(response));
}

void list_audit(const CallPtr& call) {
  if (const Result<void> allowed = check_unrestricted(*call); !allowed)
    return call->refuse(allowed.error());
  const Result<std::uint64_t> limit = call->query().number("limit", kAuditDefault, 1, kAuditMax);
  if (!limit) return call->refuse(limit.error());
  const Result<std::vector<core::AuditRecord>> records =
      call->engine().audit(static_cast<std::size_t>(*limit));
  if (!records) return call->refuse(records.error());
  HttpResponse response;
  JsonWriter out(response.body);
  out.begin_object().key("audit").begin_array();
  std::for_each(records->rbegin(), records->rend(),
                [&out](const core::AuditRecord& record) { write_audit(out, record); });
  out.end_array().end_object();
  call->reply(std::move(response));
}

}  // namespace weir::doors::http
