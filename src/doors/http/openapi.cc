// SPDX-License-Identifier: Apache-2.0
#include "doors/http/openapi.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "base/text.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/verbs.h"

namespace weir::doors::http {
namespace {

// Parameters of queries by name; the same name means the same on every route.
struct QueryParameter {
  std::string_view name;
  std::string_view schema;
  std::string_view summary;
};
constexpr QueryParameter kParameters[] = {
    {"queue", R"({"type":"string"})",
     "Jobs of this queue; for events a pattern in which * matches any run."},
    {"status", R"({"type":"string"})", "One or several states, with commas."},
    {"kind", R"({"type":"string"})", "Jobs of this kind."},
    {"tag", R"({"type":"string"})", "Jobs with this tag."},
    {"group", R"({"type":"string"})", "Jobs of this group."},
    {"unique_key", R"({"type":"string"})", "The jobs with this unique key."},
    {"limit", R"({"type":"integer","minimum":1,"maximum":1000,"default":100})",
     "The length of a page."},
    {"cursor", R"({"type":"string"})", "next_cursor of the page before."},
    {"order", R"({"type":"string","enum":["oldest","newest"],"default":"oldest"})", "By id."},
    {"history", R"({"type":"string","enum":["0","1"]})", "1: with every attempt."},
    {"payload", R"({"type":"string","enum":["0","1"]})", "With or without the payload."},
    {"wait", R"({"$ref":"#/components/schemas/Duration"})",
     "Answer once the job has ended, or after this long (at most 60s)."},
    {"force", R"({"type":"string","enum":["0","1"]})", "1: also when the queue is not empty."},
};

// Schemas of answers. Members beyond these may be added by later versions.
struct NamedSchema {
  std::string_view name;
  std::string_view json;
};
constexpr NamedSchema kSchemas[] = {
    {"Any", R"({"type":"object"})"},
    {"Duration",
     R"({"description":"A text such as 30s, 5m, 2h, 7d, or whole milliseconds.","oneOf":[{"type":"string"},{"type":"integer","minimum":0}]})"},
    {"JobId",
     R"({"type":"string","pattern":"^[0-9]+$","description":"A 64-bit number as decimal text."})"},
    {"JobStatus",
     R"({"type":"string","enum":["scheduled","pending","processing","failed","blocked","completed","dead","cancelled","expired"]})"},
    {"Problem",
     R"({"type":"object","required":["type","title","status","code"],"properties":{"type":{"type":"string"},"title":{"type":"string"},)"
     R"("status":{"type":"integer"},"detail":{"type":"string"},"code":{"$ref":"#/components/schemas/ErrorCode"},"depth":{"type":"integer"},)"
     R"("max_depth":{"type":"integer"},"retry_after_ms":{"type":"integer"}}})"},
    {"Enqueued",
     R"({"type":"object","required":["id","status","queue","status_url","duplicate","durable"],"properties":{"id":{"$ref":"#/components/schemas/JobId"},)"
     R"("status":{"$ref":"#/components/schemas/JobStatus"},"queue":{"type":"string"},"status_url":{"type":"string"},"duplicate":{"type":"boolean"},)"
     R"("durable":{"type":"boolean"}}})"},
    {"EnqueuedBatch",
     R"({"type":"object","required":["ids","duplicates","durable"],"properties":{"ids":{"type":"array","items":{"$ref":"#/components/schemas/JobId"}},)"
     R"("duplicates":{"type":"array","items":{"type":"integer"}},"queue":{"type":"string"},"durable":{"type":"boolean"}}})"},
    {"Delivery",
     R"({"type":"object","required":["id","queue","attempt","fence","max_attempts","lease_token","content_type","headers","created_at"],"properties":{)"
     R"("id":{"$ref":"#/components/schemas/JobId"},"queue":{"type":"string"},"kind":{"type":["string","null"]},"class":{"type":"string"},)"
     R"("payload":{},"payload_base64":{"type":"string","contentEncoding":"base64"},"content_type":{"type":"string"},)"
     R"("headers":{"type":"object","additionalProperties":{"type":"string"}},"attempt":{"type":"integer"},"max_attempts":{"type":"integer"},)"
     R"("fence":{"type":"integer","format":"int64"},"lease_token":{"type":"string"},"lease_expires_at":{"type":["string","null"],"format":"date-time"},)"
     R"("created_at":{"type":"string","format":"date-time"},"timeout":{"$ref":"#/components/schemas/Duration"},"group":{"type":"string"},)"
     R"("tags":{"type":"array","items":{"type":"string"}}}})"},
    {"Claimed",
     R"({"type":"object","required":["jobs"],"properties":{"jobs":{"type":"array","items":{"$ref":"#/components/schemas/Delivery"}}}})"},
    {"Moved",
     R"({"type":"object","required":["status"],"properties":{"id":{"$ref":"#/components/schemas/JobId"},"status":{"$ref":"#/components/schemas/JobStatus"},)"
     R"("retry_after":{"$ref":"#/components/schemas/Duration"},"retry_after_ms":{"type":"integer"},"run_at":{"type":"string","format":"date-time"},)"
     R"("reason":{"type":"string"},"version":{"type":"integer"},"durable":{"type":"boolean"}}})"},
    {"Extended",
     R"({"type":"object","required":["lease_expires_at"],"properties":{"id":{"$ref":"#/components/schemas/JobId"},"status":{"type":"string"},)"
     R"("lease_expires_at":{"type":["string","null"],"format":"date-time"}}})"},
    {"Results",
     R"({"type":"object","required":["results"],"properties":{"results":{"type":"array","items":{"type":"object","properties":{)"
     R"("id":{"$ref":"#/components/schemas/JobId"},"status":{"$ref":"#/components/schemas/JobStatus"},"error":{"$ref":"#/components/schemas/Problem"}}}}}})"},
    {"Removed",
     R"({"type":"object","properties":{"removed":{"type":"integer"},"durable":{"type":"boolean"}}})"},
    {"Attempt",
     R"({"type":"object","properties":{"attempt":{"type":"integer"},"worker_id":{"type":["string","null"]},"started_at":{"type":["string","null"],"format":"date-time"},)"
     R"("ended_at":{"type":["string","null"],"format":"date-time"},"outcome":{"type":"string"},"error":{"type":["object","null"],"properties":{"class":{"type":"string"},)"
     R"("code":{"type":"string"},"http_status":{"type":"integer"},"message":{"type":"string"}}},"reason":{"type":["string","null"]}}})"},
    {"Job",
     R"({"type":"object","required":["id","queue","status","attempts","max_attempts","created_at","version"],"properties":{)"
     R"("id":{"$ref":"#/components/schemas/JobId"},"queue":{"type":"string"},"status":{"$ref":"#/components/schemas/JobStatus"},)"
     R"("kind":{"type":["string","null"]},"class":{"type":"string"},"priority":{"type":"integer"},"attempts":{"type":"integer"},)"
     R"("max_attempts":{"type":"integer"},"charged_attempts":{"type":"integer"},"last_error":{"type":["string","null"]},"reason":{"type":["string","null"]},)"
     R"("created_at":{"type":"string","format":"date-time"},"run_at":{"type":["string","null"],"format":"date-time"},)"
     R"("claimed_at":{"type":["string","null"],"format":"date-time"},"completed_at":{"type":["string","null"],"format":"date-time"},)"
     R"("dead_at":{"type":["string","null"],"format":"date-time"},"retry_after":{"type":["string","null"],"format":"date-time"},)"
     R"("lease_expires_at":{"type":["string","null"],"format":"date-time"},"worker_id":{"type":["string","null"]},)"
     R"("progress":{"type":"object","properties":{"percent":{"type":"integer"},"message":{"type":["string","null"]}}},)"
     R"("tags":{"type":"array","items":{"type":"string"}},"group":{"type":["string","null"]},"key":{"type":["string","null"]},)"
     R"("unique_key":{"type":["string","null"]},"ttl":{"$ref":"#/components/schemas/Duration"},"created_by":{"type":["string","null"]},)"
     R"("payload_bytes":{"type":"integer"},"version":{"type":"integer"},"has_result":{"type":"boolean"},"payload":{},)"
     R"("payload_base64":{"type":"string"},"content_type":{"type":"string"},"headers":{"type":"object","additionalProperties":{"type":"string"}},)"
     R"("result":{},"history":{"type":"array","items":{"$ref":"#/components/schemas/Attempt"}}}})"},
    {"JobPage",
     R"({"type":"object","required":["jobs","next_cursor"],"properties":{"jobs":{"type":"array","items":{"$ref":"#/components/schemas/Job"}},)"
     R"("next_cursor":{"type":["string","null"]}}})"},
    {"Counts",
     R"({"type":"object","properties":{"scheduled":{"type":"integer"},"pending":{"type":"integer"},"processing":{"type":"integer"},"failed":{"type":"integer"},)"
     R"("blocked":{"type":"integer"},"completed":{"type":"integer"},"dead":{"type":"integer"},"cancelled":{"type":"integer"},"expired":{"type":"integer"}}})"},
    {"QueueState",
     R"({"type":"object","required":["name","counts"],"properties":{"name":{"type":"string"},"counts":{"$ref":"#/components/schemas/Counts"},)"
     R"("depth":{"type":"integer"},"total":{"type":"integer"},"oldest_pending_since":{"type":["string","null"],"format":"date-time"},)"
     R"("oldest_age":{"type":["string","null"]},"oldest_age_ms":{"type":["integer","null"]},"dead_letter_queue":{"type":"string"},)"
     R"("created_at":{"type":["string","null"],"format":"date-time"},"version":{"type":"integer"}}})"},
    {"Queue",
     R"({"allOf":[{"$ref":"#/components/schemas/QueueState"}],"description":"With every setting of QueueSettings."})"},
    {"QueueList",
     R"({"type":"object","required":["queues"],"properties":{"queues":{"type":"array","items":{"$ref":"#/components/schemas/Queue"}}}})"},
    {"QueueChanged",
     R"({"type":"object","properties":{"name":{"type":"string"},"created":{"type":"boolean"},"warnings":{"type":"array","items":{"type":"string"}}}})"},
    {"Token",
     R"({"type":"object","properties":{"id":{"type":"string"},"name":{"type":["string","null"]},"scopes":{"type":"array","items":{"type":"string"}},)"
     R"("queues":{"type":"array","items":{"type":"string"}},"namespace":{"type":"integer"},"created_at":{"type":["string","null"],"format":"date-time"},)"
     R"("expires_at":{"type":["string","null"],"format":"date-time"},"revoked":{"type":"boolean"},"expired":{"type":"boolean"}}})"},
    {"TokenCreated",
     R"({"allOf":[{"$ref":"#/components/schemas/Token"},{"type":"object","properties":{"token":{"type":["string","null"]}}}]})"},
    {"TokenList",
     R"({"type":"object","properties":{"tokens":{"type":"array","items":{"$ref":"#/components/schemas/Token"}}}})"},
    {"TokenRevoked",
     R"({"type":"object","properties":{"id":{"type":"string"},"revoked":{"type":"boolean"}}})"},
    {"BackedUp",
     R"({"type":"object","properties":{"status":{"type":"string"},"to":{"type":"string"}}})"},
    {"AuditList",
     R"({"type":"object","properties":{"audit":{"type":"array","items":{"type":"object","properties":{"at":{"type":"string","format":"date-time"},)"
     R"("principal":{"type":"string"},"action":{"type":"string"},"subject":{"type":"string"},"reason":{"type":["string","null"]}}}}}})"},
    {"Info",
     R"({"type":"object","properties":{"name":{"type":"string"},"version":{"type":"string"},"store":{"type":"string"},"epoch":{"type":"integer"},)"
     R"("durability":{"type":"string"},"started_at":{"type":"string","format":"date-time"},"uptime":{"type":"string"},"uptime_ms":{"type":"integer"},)"
     R"("limits":{"type":"object"},"features":{"type":"array","items":{"type":"string"}}}})"},
    {"Probe", R"({"type":"object","properties":{"status":{"type":"string"}}})"},
};

std::string reference(std::string_view schema) {
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", schema);
}

void write_parameters(JsonWriter& out, const Route& route) {
  out.key("parameters").begin_array();
  const std::size_t open = route.path.find('{');
  if (open != std::string_view::npos) {
    const std::string_view name = route.path.substr(open + 1, route.path.find('}') - open - 1);
    out.begin_object().text("name", name).text("in", "path").flag("required", true);
    out.raw("schema", name == "id" ? reference("JobId") : std::string(R"({"type":"string"})"))
        .end_object();
  }
  for (const std::string& name : split(route.query, ',')) {
    for (const QueryParameter& parameter : kParameters) {
      if (parameter.name != name) continue;
      out.begin_object()
          .text("name", name)
          .text("in", "query")
          .text("description", parameter.summary);
      out.raw("schema", parameter.schema).end_object();
    }
  }
  if (route.repeat == Repeat::stored) {
    out.raw(
        R"({"name":"Idempotency-Key","in":"header","schema":{"type":"string","maxLength":255},)"
        R"("description":"The same key with the same body gives the stored answer, with another body 422; kept 24 hours."})");
  }
  if (route.operation == "editJob")
    out.raw(R"({"name":"If-Match","in":"header","schema":{"type":"string"}})");
  out.end_array();
}

void write_operation(JsonWriter& out, const Route& route) {
  out.key(to_lower(route.method)).begin_object();
  out.text("operationId", route.operation).text("summary", route.summary);
  write_parameters(out, route);
  if (!route.request.empty()) {
    out.key("requestBody")
        .begin_object()
        .flag("required", route.request != "Nothing" && route.request != "Reason");
    out.key("content")
        .begin_object()
        .key("application/json")
        .begin_object()
        .raw("schema", reference(route.request));
    out.end_object();
    if (route.request == "NewJob")
      out.raw("*/*", R"({"schema":{"type":"string","format":"binary"}})");
    out.end_object().end_object();
  }
  out.key("responses").begin_object();
  const auto answer = [&](std::string_view status, std::string_view text) {
    out.key(status).begin_object().text("description", text);
    if (!route.response.empty()) {
      out.raw("content",
              fmt::format(R"({{"application/json":{{"schema":{}}}}})", reference(route.response)));
    } else {
      out.raw("content", route.operation == "events"
                             ? R"({"text/event-stream":{"schema":{"type":"string"}}})"
                             : R"({"text/plain":{"schema":{"type":"string"}}})");
    }
    out.end_object();
  };
  answer(fmt::format("{}", route.status), "Done.");
  if (route.operation == "enqueue") answer("200", "A job with this unique key lives already.");
  if (route.operation == "putQueue") answer("201", "The queue was made.");
  out.raw(
      "default",
      R"({"description":"Refused or failed; the code says why.","content":{"application/problem+json":)"
      R"({"schema":{"$ref":"#/components/schemas/Problem"}}}})");
  out.end_object();
  if (route.access == Access::token) {
    out.raw("security", R"([{"token":[]},{}])");
    if (route.scopes != 0) out.text("x-weir-scope", scope_text(route.scopes));
  } else {
    out.raw("security", "[]");
  }
  out.end_object();
}

}  // namespace

std::string print_openapi(std::string_view version) {
  std::map<std::string_view, std::vector<const Route*>> paths;
  for (const Route& route : routes()) paths[route.path].push_back(&route);
  std::string json;
  JsonWriter out(json);
  out.begin_object().text("openapi", "3.1.0");
  out.key("info").begin_object().text("title", "weir").text("version", version);
  out.text("description",
           "A durable job queue. Errors are application/problem+json; an unknown field is refused "
           "by name.");
  out.raw("license", R"({"name":"Apache-2.0","identifier":"Apache-2.0"})").end_object();
  out.key("paths").begin_object();
  for (const auto& [path, on_path] : paths) {
    out.key(path).begin_object();
    for (const Route* route : on_path) write_operation(out, *route);
    out.end_object();
  }
  out.end_object();
  out.key("components").begin_object();
  out.raw("securitySchemes",
          R"({"token":{"type":"http","scheme":"bearer","description":"wt_<id>.<secret>"}})");
  out.key("schemas").begin_object();
  write_request_schemas(out);
  for (const NamedSchema& schema : kSchemas) out.raw(schema.name, schema.json);
  out.key("ErrorCode").begin_object().text("type", "string").key("enum").begin_array();
  for (int code = 0; code < kErrorCodeCount; ++code)
    out.text(to_string(static_cast<ErrorCode>(code)));
  out.end_array().end_object();
  out.end_object().end_object().end_object();
  return json;
}

}  // namespace weir::doors::http
