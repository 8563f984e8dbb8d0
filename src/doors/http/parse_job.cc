// SPDX-License-Identifier: Apache-2.0
// New jobs and edits: JSON objects, or a body that is itself the payload with options in Weir-*
// headers. Both fill one draft.
#include <fmt/format.h>

#include <algorithm>

#include "doors/http/parse_retry.h"
#include "doors/http/parser.h"
#include "doors/http/read_field.h"

namespace weir::doors::http {
namespace {

struct JobDraft : core::NewJob {
  std::optional<RetryDraft> retry;
  std::optional<std::string> content_type;
  bool has_json = false;
  bool has_bytes = false;
};

Result<void> read_payload(JsonCursor& in, JobDraft& out) {
  WEIR_TRY_ASSIGN(const std::string_view text, in.raw());
  out.body.payload = std::string(text);
  out.has_json = true;
  return {};
}

Result<void> read_payload_base64(JsonCursor& in, JobDraft& out) {
  WEIR_TRY_ASSIGN(out.body.payload, base64_value(in));
  out.has_bytes = true;
  return {};
}

Result<void> read_retry(JsonCursor& in, JobDraft& out) {
  WEIR_TRY_ASSIGN(out.retry, retry_value(in));
  return {};
}

Result<void> read_tags(JsonCursor& in, JobDraft& out) {
  WEIR_TRY_ASSIGN(out.tags, texts_value(in, core::kTagsMax));
  return {};
}

Result<void> add_header(core::JobBody& body, std::string name, std::string value) {
  if (body.headers.size() == core::kHeadersMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("a job has at most {} headers", core::kHeadersMax));
  }
  body.headers.emplace_back(std::move(name), std::move(value));
  return {};
}

Result<void> read_headers(JsonCursor& in, JobDraft& out) {
  WEIR_TRY(in.open_object());
  for (std::string_view key;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_field(key));
    if (!more) return {};
    std::string name(key);
    const auto is_same = [&name](const core::TypedHeader& header) { return header.first == name; };
    if (std::any_of(out.body.headers.begin(), out.body.headers.end(), is_same)) {
      return in.error(fmt::format("names {} twice", json_string(cut_utf8(name, 64))));
    }
    WEIR_TRY_ASSIGN(std::string value, in.string());
    WEIR_TRY(add_header(out.body, std::move(name), std::move(value)));
  }
}

template <auto Member>
Result<void> read_option_duration(JsonCursor& in, JobDraft& out) {
  WEIR_TRY_ASSIGN(out.options.*Member, duration_value(in));
  return {};
}

constexpr std::int64_t kInt32Min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

constexpr Field<JobDraft> kJob[] = {
    {"kind", schema::text, read_text<&core::NewJob::kind>},
    {"payload", schema::any, read_payload},
    {"payload_base64", schema::base64, read_payload_base64},
    {"content_type", schema::text, read_text<&JobDraft::content_type>},
    {"class", schema::priority_class, read_class<&core::NewJob::priority_class>},
    {"priority", schema::integer,
     read_integer<&core::NewJob::priority, std::int32_t, kInt32Min, kInt32Max>},
    {"delay", schema::duration, read_duration<&core::NewJob::delay_ms>},
    {"run_at", schema::instant, read_instant<&core::NewJob::run_at>},
    {"max_attempts", R"({"type":"integer","minimum":1,"maximum":100000})",
     [](JsonCursor& in, JobDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(const std::int64_t count, in.integer(1, core::kMaxAttemptsMax));
       out.options.max_attempts = static_cast<std::uint32_t>(count);
       return {};
     }},
    {"retry", kRetrySchema, read_retry},
    {"lease", schema::duration, read_option_duration<&core::JobOptions::lease_ms>},
    {"timeout", schema::duration, read_option_duration<&core::JobOptions::timeout_ms>},
    {"ttl", schema::duration, read_duration<&core::NewJob::ttl_ms>},
    {"group", schema::text, read_text<&core::NewJob::group>},
    {"key", schema::text, read_text<&core::NewJob::limit_key>},
    {"unique_key", schema::text, read_text<&core::NewJob::unique_key>},
    {"unique_window", schema::duration, read_duration<&core::NewJob::unique_window_ms>},
    {"tags", R"({"type":"array","items":{"type":"string"},"maxItems":16})", read_tags},
    {"headers", schema::text_map, read_headers},
};

// What holds for both forms, and for each job of a batch.
Result<void> finish(JobDraft& draft, const RetryPolicies& policies) {
  if (draft.has_json && draft.has_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "payload and payload_base64 are both given; choose one");
  }
  if (!draft.has_json && !draft.has_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "payload is missing; give payload (any JSON) or payload_base64");
  }
  if (draft.delay_ms && draft.run_at) {
    return failure(ErrorCode::invalid_argument, "delay and run_at are both given; choose one");
  }
  if (draft.content_type) {
    WEIR_TRY(check_name("content_type", *draft.content_type, core::kNameBytesMax));
    draft.body.set_type(*draft.content_type);
  } else if (draft.has_bytes) {
    draft.body.content_type = "application/octet-stream";
  }
  if (draft.has_json && !is_json_type(draft.body.type())) {
    // The text stays JSON whatever it is called: "+json" types and the like are the client's
    // business.
    if (draft.body.type().find("json") == std::string_view::npos) {
      return failure(ErrorCode::invalid_argument,
                     "content_type is not JSON; send such a payload as payload_base64");
    }
  }
  if (draft.retry) {
    WEIR_TRY_ASSIGN(draft.options.retry, resolve_retry(*draft.retry, policies));
    if (!draft.options.max_attempts) draft.options.max_attempts = draft.options.retry->max_attempts;
  }
  return {};
}

// traceparent and tracestate of the request go along unless the job brings its own.
Result<void> keep_trace(const HttpRequest& request, core::JobBody& body) {
  for (const std::string_view name : {"traceparent", "tracestate"}) {
    const std::string_view value = request.header(name);
    const auto is_same = [name](const core::TypedHeader& header) {
      return equals_ignore_case(header.first, name);
    };
    if (value.empty() || std::any_of(body.headers.begin(), body.headers.end(), is_same)) continue;
    WEIR_TRY(add_header(body, std::string(name), std::string(value)));
  }
  return {};
}

// ---- options in headers

struct HeaderOption {
  std::string_view name;   // behind "weir-"
  std::string_view field;  // of kJob
  enum class Form : std::uint8_t { text, number, list } form;
};
using Form = HeaderOption::Form;

constexpr HeaderOption kHeaderOptions[] = {
    {"kind", "kind", Form::text},
    {"class", "class", Form::text},
    {"priority", "priority", Form::number},
    {"delay", "delay", Form::text},
    {"run-at", "run_at", Form::text},
    {"max-attempts", "max_attempts", Form::number},
    {"retry", "retry", Form::text},
    {"lease", "lease", Form::text},
    {"timeout", "timeout", Form::text},
    {"ttl", "ttl", Form::text},
    {"group", "group", Form::text},
    {"key", "key", Form::text},
    {"unique-key", "unique_key", Form::text},
    {"unique-window", "unique_window", Form::text},
    {"tags", "tags", Form::list},
};

// The value as JSON, so that one reader and one set of messages serve both forms.
std::string as_json(const HeaderOption& option, std::string_view value) {
  switch (option.form) {
    case Form::text:
      return json_string(value);
    case Form::number:
      return std::string(trim(value));
    case Form::list:
      break;
  }
  std::string json;
  JsonWriter out(json);
  out.begin_array();
  for (const std::string& tag : split(value, ',')) {
    if (!trim(tag).empty()) out.text(trim(tag));
  }
  out.end_array();
  return json;
}

Result<void> read_option(std::string_view name, std::string_view value, JobDraft& draft) {
  if (!is_valid_utf8(value))
    return failure(ErrorCode::invalid_argument, fmt::format("header weir-{} is not UTF-8", name));
  const auto* option =
      std::find_if(std::begin(kHeaderOptions), std::end(kHeaderOptions),
                   [name](const HeaderOption& known) { return known.name == name; });
  if (option == std::end(kHeaderOptions)) {
    std::vector<std::string_view> known;
    for (const HeaderOption& one : kHeaderOptions) known.push_back(one.name);
    const std::string_view near = nearest_word(name, known);
    return failure(ErrorCode::invalid_argument,
                   fmt::format("unknown header Weir-{}{}", name,
                               near.empty() ? "" : fmt::format("; did you mean Weir-{}?", near)));
  }
  const auto* field =
      std::find_if(std::begin(kJob), std::end(kJob),
                   [option](const Field<JobDraft>& known) { return known.name == option->field; });
  const std::string json = as_json(*option, value);
  const std::string place = "header Weir-" + std::string(name);
  JsonCursor in(json);
  in.push_path(place);
  if (in.peek() == JsonKind::none) return in.error("has no proper value");
  WEIR_TRY(field->read(in, draft));
  if (!in.end()) return in.error("has no proper value");
  return {};
}

Result<JobDraft> read_raw_job(const HttpRequest& request) {
  JobDraft draft;
  draft.has_bytes = true;
  draft.body.payload = request.body;
  draft.content_type = std::string(trim(request.header("content-type")));
  draft.body.content_encoding = std::string(request.header("content-encoding"));
  std::vector<std::string_view> seen;
  for (const auto& [name, value] : request.headers) {
    if (!name.starts_with("weir-")) continue;
    const std::string_view option = std::string_view(name).substr(5);
    if (option.starts_with("header-") && option.size() > 7) {
      WEIR_TRY(add_header(draft.body, std::string(option.substr(7)), value));
      continue;
    }
    if (std::find(seen.begin(), seen.end(), option) != seen.end()) {
      return failure(ErrorCode::invalid_argument,
                     fmt::format("header Weir-{} is given twice", option));
    }
    seen.push_back(option);
    WEIR_TRY(read_option(option, value, draft));
  }
  return draft;
}

// ---- batch

struct BatchDraft {
  const HttpRequest* request = nullptr;
  const RetryPolicies* policies = nullptr;
  std::vector<core::NewJob> jobs;
};

Result<void> read_jobs(JsonCursor& in, BatchDraft& out) {
  WEIR_TRY(in.open_array());
  for (;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_item());
    if (!more) break;
    if (out.jobs.size() == core::kBatchJobsMax) {
      return failure(
          ErrorCode::too_large,
          fmt::format("jobs holds more than {}; send several batches", core::kBatchJobsMax));
    }
    in.push_path(out.jobs.size());
    JobDraft draft;
    WEIR_TRY(read_object(in, Fields<JobDraft>(kJob), draft));
    if (const Result<void> finished = finish(draft, *out.policies); !finished)
      return in.error(": " + finished.error().detail);
    WEIR_TRY(keep_trace(*out.request, draft.body));
    out.jobs.push_back(std::move(draft));
    in.pop_path();
  }
  if (out.jobs.empty()) return in.error("must hold at least one job");
  return {};
}

constexpr Field<BatchDraft> kBatch[] = {
    {"jobs",
     R"({"type":"array","minItems":1,"maxItems":1000,"items":{"$ref":"#/components/schemas/NewJob"}})",
     read_jobs, true},
};

// ---- edit

struct EditDraft : core::Edit {
  bool has_json = false;
  bool has_bytes = false;
};

constexpr Field<EditDraft> kEdit[] = {
    {"payload", schema::any,
     [](JsonCursor& in, EditDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(const std::string_view text, in.raw());
       out.payload = std::string(text);
       out.has_json = true;
       return {};
     }},
    {"payload_base64", schema::base64,
     [](JsonCursor& in, EditDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.payload, base64_value(in));
       out.has_bytes = true;
       return {};
     }},
    {"content_type", schema::text, read_text<&core::Edit::content_type>},
    {"class", schema::priority_class, read_class<&core::Edit::priority_class>},
    {"priority", schema::integer,
     read_integer<&core::Edit::priority, std::int32_t, kInt32Min, kInt32Max>},
    {"run_at", schema::instant, read_instant<&core::Edit::run_at>},
    {"tags", R"({"type":"array","items":{"type":"string"},"maxItems":16})",
     [](JsonCursor& in, EditDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.tags, texts_value(in, core::kTagsMax));
       return {};
     }},
};

// The version of an entity tag: "7", W/"7" or 7; nullopt for "*" and for no header.
Result<std::optional<std::uint64_t>> version_of(std::string_view if_match) {
  std::string_view text = trim(if_match);
  if (text.empty() || text == "*") return std::optional<std::uint64_t>();
  if (text.starts_with("W/")) text.remove_prefix(2);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  const Result<std::uint64_t> version = parse_u64("If-Match", text);
  if (!version)
    return failure(ErrorCode::invalid_argument,
                   "If-Match must be the ETag that GET gave, such as \"3\"");
  return std::optional(*version);
}

}  // namespace

Result<core::Enqueue> parse_enqueue(const HttpRequest& request, std::string_view queue,
                                    const RetryPolicies& policies) {
  JobDraft draft;
  if (!request.has_header("content-type") || is_json_type(request.header("content-type"))) {
    WEIR_TRY(check_json_body(request));
    if (request.body.empty())
      return failure(ErrorCode::invalid_argument, "the body is empty; send {\"payload\": …}");
    WEIR_TRY(read_body(request.body, Fields<JobDraft>(kJob), draft));
  } else {
    WEIR_TRY_ASSIGN(draft, read_raw_job(request));
  }
  WEIR_TRY(finish(draft, policies));
  WEIR_TRY(keep_trace(request, draft.body));
  core::Enqueue enqueue{.queue = std::string(queue)};
  enqueue.jobs.push_back(std::move(draft));
  return enqueue;
}

Result<core::Enqueue> parse_enqueue_batch(const HttpRequest& request, std::string_view queue,
                                          const RetryPolicies& policies) {
  WEIR_TRY(check_json_body(request));
  BatchDraft draft{.request = &request, .policies = &policies};
  WEIR_TRY(read_body(request.body, Fields<BatchDraft>(kBatch), draft));
  return core::Enqueue{
      .queue = std::string(queue), .jobs = std::move(draft.jobs), .is_batch = true};
}

Result<core::Edit> parse_edit(core::JobId id, std::string_view body, std::string_view if_match) {
  EditDraft draft;
  draft.job = id;
  WEIR_TRY(read_body(body, Fields<EditDraft>(kEdit), draft));
  if (draft.has_json && draft.has_bytes) {
    return failure(ErrorCode::invalid_argument,
                   "payload and payload_base64 are both given; choose one");
  }
  if (draft.has_json && !draft.content_type) draft.content_type = "application/json";
  if (draft.content_type)
    WEIR_TRY(check_name("content_type", *draft.content_type, core::kNameBytesMax));
  WEIR_TRY_ASSIGN(draft.if_match, version_of(if_match));
  return static_cast<core::Edit>(std::move(draft));
}

void write_job_schemas(JsonWriter& out) {
  write_schema(out, "NewJob", Fields<JobDraft>(kJob));
  write_schema(out, "NewJobs", Fields<BatchDraft>(kBatch));
  write_schema(out, "JobEdit", Fields<EditDraft>(kEdit));
}

}  // namespace weir::doors::http
