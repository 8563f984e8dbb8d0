// SPDX-License-Identifier: Apache-2.0
// One job, lists of jobs, dead letters.
#include <fmt/format.h>

#include <memory>

#include "base/bytes.h"
#include "base/text.h"
#include "doors/http/cursor.h"
#include "doors/http/handlers.h"
#include "doors/http/json_writer.h"
#include "doors/http/parser.h"
#include "doors/http/reply.h"
#include "doors/http/session.h"

namespace weir::doors::http {
namespace {

constexpr std::size_t kPageDefault = 100;
// A store looks at a bounded number of jobs a call; a page asks so often at most before it is
// handed on short.
constexpr int kScansPerPage = 16;
// A page with payloads stops growing here; the cursor goes on behind it.
constexpr std::size_t kPageBytesMax = core::kRequestBytesMax / 2;

struct ShowParts {
  bool payload = false;
  bool history = false;
};

// Writes a job with what was asked for. Errors: those of reading it (the job may have gone
// meanwhile).
Result<void> write_shown(JsonWriter& out, engine::Engine& engine, const engine::JobView& view,
                         ShowParts parts, bool with_result) {
  core::JobBody body;
  std::string result;
  std::vector<core::AttemptRecord> history;
  JobParts shown;
  if (parts.payload) {
    WEIR_TRY_ASSIGN(body, engine.job_body(view.job.id));
    shown.body = &body;
  }
  if (parts.history) {
    if (view.job.has_history) {
      WEIR_TRY_ASSIGN(history, engine.job_history(view.job.id));
    }
    shown.history = &history;
  }
  if (with_result && view.job.has_result) {
    WEIR_TRY_ASSIGN(result, engine.job_result(view.job.id));
    shown.result = &result;
  }
  write_job(out, view, shown);
  return {};
}

void reply_job(Call& call) {
  const Result<engine::JobView> view = call.visible_job();
  if (!view) return call.refuse(view.error());
  const Result<bool> history = call.query().flag("history");
  if (!history) return call.refuse(history.error());
  bool payload = true;
  if (call.query().find("payload") != nullptr) {
    const Result<bool> asked = call.query().flag("payload");
    if (!asked) return call.refuse(asked.error());
    payload = *asked;
  }
  HttpResponse response;
  JsonWriter out(response.body);
  const Result<void> written =
      write_shown(out, call.engine(), *view, {.payload = payload, .history = *history}, true);
  if (!written) return call.refuse(written.error());
  response.headers.emplace_back("ETag", entity_tag(view->job.version));
  call.reply(std::move(response));
}

// ---- lists

Result<std::uint32_t> states_of(const std::string* text) {
  if (text == nullptr) return 0U;
  std::uint32_t states = 0;
  for (const std::string& word : split(*text, ',')) {
    const std::optional<core::JobState> state = core::job_state_from(word);
    if (!state) {
      std::string known;
      for (const core::JobState one : core::kJobStates)
        known += fmt::format("{}{}", known.empty() ? "" : ", ", core::to_string(one));
      return failure(
          ErrorCode::invalid_argument,
          fmt::format("status {} is none of {}", json_string(cut_utf8(word, 64)), known));
    }
    states |= 1U << static_cast<unsigned>(*state);
  }
  return states;
}

struct ListRequest {
  store::ScanQuery scan;
  bool is_nothing = false;  // the queue is not there: an empty list
  std::string filter;       // what the cursor belongs to
};

// The queue filter; `<queue>-dlq` means the dead jobs of <queue> unless a real queue has that name.
Result<void> set_queue(Call& call, const std::string& name, ListRequest& list) {
  WEIR_TRY(check_name("queue", name, core::kNameBytesMax));
  const std::uint32_t namespace_id = call.principal().namespace_id;
  std::string_view wanted = name;
  const core::Queue* queue = call.engine().find_queue(wanted, namespace_id);
  if (queue == nullptr && wanted.ends_with(core::kDeadLetterSuffix)) {
    wanted.remove_suffix(core::kDeadLetterSuffix.size());
    queue = call.engine().find_queue(wanted, namespace_id);
    const std::uint32_t dead = 1U << static_cast<unsigned>(core::JobState::dead);
    if (list.scan.states != 0 && (list.scan.states & dead) == 0) list.is_nothing = true;
    list.scan.states = dead;
  }
  WEIR_TRY(authorize(call.caller(), 0, wanted));
  if (queue == nullptr) {
    list.is_nothing = true;
  } else {
    list.scan.queue = queue->id;
  }
  return {};
}

Result<void> set_paging(const Query& query, ListRequest& list) {
  WEIR_TRY_ASSIGN(const std::uint64_t limit,
                  query.number("limit", kPageDefault, 1, core::kPageJobsMax));
  list.scan.limit = static_cast<std::size_t>(limit);
  if (const std::string* order = query.find("order")) {
    if (*order != "oldest" && *order != "newest") {
      return failure(ErrorCode::invalid_argument, "order must be oldest or newest");
    }
    list.scan.newest_first = *order == "newest";
  }
  for (const char* name : {"queue", "status", "kind", "tag", "group", "unique_key", "order"}) {
    const std::string* value = query.find(name);
    list.filter +=
        value != nullptr ? fmt::format("{}={}:{};", name, value->size(), *value) : std::string(";");
  }
  if (const std::string* cursor = query.find("cursor")) {
    WEIR_TRY_ASSIGN(list.scan.after_id, read_cursor(*cursor, list.filter));
  }
  return {};
}

void set_text(const Query& query, std::string_view name, std::optional<std::string>& out) {
  if (const std::string* value = query.find(name)) out = *value;
}

// Fills a page: scans until it has `limit` visible jobs, everything was seen, or it has looked long
// enough.
Result<std::string> write_page(Call& call, ListRequest list, ShowParts parts) {
  std::string json;
  JsonWriter out(json);
  out.begin_object().key("jobs").begin_array();
  std::size_t left = list.scan.limit;
  std::uint64_t next = 0;
  for (int scans = 0; !list.is_nothing && scans < kScansPerPage; ++scans) {
    list.scan.limit = left;
    WEIR_TRY_ASSIGN(const engine::Engine::JobPage page, call.engine().list_jobs(list.scan));
    next = page.next_after_id;
    for (const engine::JobView& view : page.jobs) {
      if (!call.check_visible(view)) continue;
      // A job that went between the scan and the read is left out, one that is damaged is shown
      // without its parts.
      if (Result<void> written = write_shown(out, call.engine(), view, parts, false); !written) {
        if (written.error().code != ErrorCode::corruption) continue;
        write_job(out, view, {});
      }
      --left;
      if (json.size() > kPageBytesMax && &view != &page.jobs.back()) {
        next = view.job.id.value;
        left = 0;
        break;
      }
    }
    if (next == 0 || left == 0 || json.size() > kPageBytesMax) break;
    list.scan.after_id = next;
  }
  out.end_array();
  if (next != 0) {
    out.text("next_cursor", write_cursor(next, list.filter));
  } else {
    out.null("next_cursor");
  }
  out.end_object();
  return json;
}

Result<ListRequest> list_request(Call& call) {
  const Query& query = call.query();
  ListRequest list;
  WEIR_TRY_ASSIGN(list.scan.states, states_of(query.find("status")));
  set_text(query, "kind", list.scan.kind);
  set_text(query, "tag", list.scan.tag);
  set_text(query, "group", list.scan.group);
  set_text(query, "unique_key", list.scan.unique_key);
  if (const std::string* queue = query.find("queue")) WEIR_TRY(set_queue(call, *queue, list));
  WEIR_TRY(set_paging(query, list));
  return list;
}

Result<std::string> list_page(Call& call) {
  WEIR_TRY_ASSIGN(ListRequest list, list_request(call));
  return write_page(call, std::move(list), {});
}

Result<std::string> dead_page(Call& call) {
  const Query& query = call.query();
  ListRequest list;
  list.scan.states = 1U << static_cast<unsigned>(core::JobState::dead);
  set_text(query, "kind", list.scan.kind);
  set_text(query, "tag", list.scan.tag);
  set_text(query, "group", list.scan.group);
  const core::Queue* queue =
      call.engine().find_queue(call.parameter(), call.principal().namespace_id);
  if (queue == nullptr) {
    return failure(ErrorCode::not_found,
                   fmt::format("there is no queue {}", json_string(call.parameter())));
  }
  list.scan.queue = queue->id;
  list.filter = fmt::format("dead {};", queue->id.value);
  WEIR_TRY(set_paging(query, list));
  ShowParts parts;
  WEIR_TRY_ASSIGN(parts.payload, query.flag("payload"));
  WEIR_TRY_ASSIGN(parts.history, query.flag("history"));
  return write_page(call, std::move(list), parts);
}

void reply_page(Call& call, Result<std::string> page) {
  if (!page) return call.refuse(page.error());
  call.reply(json_response(200, std::move(*page)));
}

}  // namespace

void get_job(const CallPtr& call) {
  const Result<std::int64_t> wait_ms = call->query().duration_ms("wait", 0, core::kWaitMsMax);
  if (!wait_ms) return call->refuse(wait_ms.error());
  const Result<engine::JobView> view = call->visible_job();
  if (!view) return call->refuse(view.error());
  if (*wait_ms == 0 || core::is_ended(view->job.state)) return reply_job(*call);
  // shared_ptr: the id is known only after the callback was made.
  const auto wait_id = std::make_shared<std::uint64_t>(0);
  call->responder().on_abandoned([&engine = call->engine(), wait_id] {
    if (*wait_id != 0) engine.withdraw_wait(*wait_id);
    *wait_id = 0;
  });
  *wait_id = call->engine().wait_for_end(view->job.id, *wait_ms, [call, wait_id] {
    *wait_id = 0;
    call->guarded([&call] {
      if (const Result<void> caller = call->check_caller(); !caller)
        return call->refuse(caller.error());
      reply_job(*call);
    });
  });
}

void list_jobs(const CallPtr& call) { reply_page(*call, list_page(*call)); }
void list_dead(const CallPtr& call) { reply_page(*call, dead_page(*call)); }

}  // namespace weir::doors::http
