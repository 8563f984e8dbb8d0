// SPDX-License-Identifier: Apache-2.0
// Query strings, media types, and the bodies of the verbs on jobs that exist.
#include "doors/http/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/http/parse_retry.h"
#include "doors/http/read_field.h"

namespace weir::doors::http {
namespace {

// "application/json" of "application/json; charset=utf-8", lower case.
std::string media_type(std::string_view content_type) {
  return to_lower(trim(content_type.substr(0, content_type.find(';'))));
}

template <typename T>
Result<void> read_id(JsonCursor& in, T& out) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const Result<core::JobId> id = parse_job_id(text);
  if (!id) return at_field(in, id.error());
  out.job = *id;
  return {};
}

// ---- verbs of a lease holder; in item form each has its id first

constexpr Field<core::Ack> kAck[] = {
    {"id", schema::id, read_id<core::Ack>, true},
    {"lease_token", schema::text, read_token<&core::Ack::token>, true},
    {"result", schema::any,
     [](JsonCursor& in, core::Ack& out) -> Result<void> {
       WEIR_TRY_ASSIGN(const std::string_view text, in.raw());
       out.result = std::string(text);
       return {};
     }},
};

constexpr Field<core::JobError> kJobError[] = {
    {"class", schema::text, read_text<&core::JobError::error_class>},
    {"code", schema::text, read_text<&core::JobError::code>},
    {"http_status", schema::integer,
     read_integer<&core::JobError::http_status, std::int32_t, 0, 999>},
    {"message", schema::text, read_text<&core::JobError::message>},
};

constexpr Field<core::Fail> kFail[] = {
    {"id", schema::id, read_id<core::Fail>, true},
    {"lease_token", schema::text, read_token<&core::Fail::token>, true},
    {"error", R"({"$ref":"#/components/schemas/JobError"})",
     [](JsonCursor& in, core::Fail& out) {
       return read_object(in, Fields<core::JobError>(kJobError), out.error);
     }},
    {"retry_after", schema::duration, read_duration<&core::Fail::retry_after_ms>},
    {"dead", schema::flag, read_flag<&core::Fail::dead>},
};

constexpr Field<core::Extend> kExtend[] = {
    {"id", schema::id, read_id<core::Extend>, true},
    {"lease_token", schema::text, read_token<&core::Extend::token>, true},
    {"lease", schema::duration, read_duration<&core::Extend::lease_ms>},
};

constexpr Field<core::Release> kRelease[] = {
    {"lease_token", schema::text, read_token<&core::Release::token>, true},
    {"delay", schema::duration, read_duration<&core::Release::delay_ms>},
    {"place", R"({"type":"string","enum":["keep","front","back"]})",
     [](JsonCursor& in, core::Release& out) -> Result<void> {
       WEIR_TRY_ASSIGN(const std::string text, in.string());
       if (text == "keep") {
         out.place = core::ReleasePlace::keep;
       } else if (text == "front") {
         out.place = core::ReleasePlace::front;
       } else if (text == "back") {
         out.place = core::ReleasePlace::back;
       } else {
         return in.error("must be keep, front or back");
       }
       return {};
     }},
};

constexpr Field<core::Snooze> kSnooze[] = {
    {"lease_token", schema::text, read_token<&core::Snooze::token>, true},
    {"delay", schema::duration, read_duration<&core::Snooze::delay_ms>},
    {"until", schema::instant, read_instant<&core::Snooze::until>},
};

constexpr Field<core::Progress> kProgress[] = {
    {"lease_token", schema::text, read_token<&core::Progress::token>, true},
    {"percent", R"({"type":"integer","minimum":0,"maximum":100})",
     read_integer<&core::Progress::percent, std::uint8_t, 0, 100>},
    {"message", schema::text, read_text<&core::Progress::message>},
};

// Reads the body of one verb, whose fields begin behind "id" when it has one.
template <typename T>
Result<T> one(core::JobId id, std::string_view body, Fields<T> fields) {
  T command;
  command.job = id;
  if (fields.front().name == "id") fields = fields.subspan(1);
  WEIR_TRY(read_body(body, fields, command));
  return command;
}

template <typename T>
Result<void> read_item(JsonCursor& in, Fields<T> fields, std::vector<core::Command>& out) {
  T command;
  WEIR_TRY(read_object(in, fields, command));
  out.emplace_back(std::move(command));
  return {};
}

struct Items {
  BatchVerb verb = BatchVerb::ack;
  std::vector<core::Command> commands;
};

Result<void> read_items(JsonCursor& in, Items& out) {
  WEIR_TRY(in.open_array());
  for (;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_item());
    if (!more) break;
    if (out.commands.size() == core::kBatchJobsMax) {
      return failure(
          ErrorCode::too_large,
          fmt::format("items holds more than {}; send several requests", core::kBatchJobsMax));
    }
    in.push_path(out.commands.size());
    switch (out.verb) {
      case BatchVerb::ack:
        WEIR_TRY(read_item(in, Fields<core::Ack>(kAck), out.commands));
        break;
      case BatchVerb::fail:
        WEIR_TRY(read_item(in, Fields<core::Fail>(kFail), out.commands));
        break;
      case BatchVerb::extend:
        WEIR_TRY(read_item(in, Fields<core::Extend>(kExtend), out.commands));
        break;
    }
    in.pop_path();
  }
  if (out.commands.empty()) return in.error("must hold at least one item");
  return {};
}

constexpr Field<Items> kItems[] = {{"items", schema::any, read_items, true}};

struct Reason {
  std::string text;
};
constexpr Field<Reason> kReason[] = {{"reason", schema::text, read_text<&Reason::text>}};

struct Nothing {};

// ---- claim

template <auto Member, std::size_t Max>
Result<void> read_texts(JsonCursor& in, engine::Demand& out) {
  WEIR_TRY_ASSIGN(out.*Member, texts_value(in, Max));
  return {};
}

constexpr Field<engine::Demand> kClaim[] = {
    {"queues", R"({"type":"array","items":{"type":"string"},"minItems":1,"maxItems":256})",
     read_texts<&engine::Demand::queues, core::kClaimQueuesMax>, true},
    {"max", R"({"type":"integer","minimum":1,"maximum":1000,"default":1})",
     read_integer<&engine::Demand::credit, std::uint32_t, 1,
                  static_cast<std::int64_t>(core::kClaimJobsMax)>},
    {"wait", schema::duration, read_duration<&engine::Demand::wait_ms>},
    {"lease", schema::duration, read_duration<&engine::Demand::lease_ms>},
    {"worker_id", schema::text, read_text<&engine::Demand::worker_id>},
    {"classes", R"({"type":"array","items":{"type":"string","enum":["P0","P1","P2","P3","P4"]}})",
     [](JsonCursor& in, engine::Demand& out) -> Result<void> {
       WEIR_TRY(in.open_array());
       for (;;) {
         WEIR_TRY_ASSIGN(const bool more, in.next_item());
         if (!more) return {};
         if (out.classes.size() == core::kPriorityClassCount)
           return in.error("names a class twice");
         in.push_path(out.classes.size());
         WEIR_TRY_ASSIGN(const core::PriorityClass one, class_value(in));
         out.classes.push_back(one);
         in.pop_path();
       }
     }},
    {"kinds", schema::texts, read_texts<&engine::Demand::kinds, core::kClaimQueuesMax>},
};

struct BackupBody {
  std::string to;
};
constexpr Field<BackupBody> kBackup[] = {{"to", schema::text, read_text<&BackupBody::to>, true}};

}  // namespace

Result<Query> Query::parse(std::string_view text, std::string_view allowed) {
  Query query;
  if (text.empty()) return query;
  const std::vector<std::string> names = split(allowed, ',');
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& pair : split(text, '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view view = pair;
    std::string name;
    std::string value;
    if (!percent_decode(view.substr(0, equals), name, true) ||
        (equals != std::string::npos && !percent_decode(view.substr(equals + 1), value, true))) {
      return failure(ErrorCode::invalid_argument, "the query has a bad percent escape");
    }
    if (allowed.empty() || std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string_view near = nearest_word(name, known);
      return failure(
          ErrorCode::invalid_argument,
          fmt::format("unknown parameter {}{}", json_string(cut_utf8(name, 64)),
                      near.empty() ? std::string() : fmt::format("; did you mean {}?", near)));
    }
    if (query.find(name) != nullptr) {
      return failure(ErrorCode::invalid_argument, fmt::format("parameter {} is given twice", name));
    }
    query.values_.emplace_back(std::move(name), std::move(value));
  }
  return query;
}

const std::string* Query::find(std::string_view name) const {
  for (const auto& [known, value] : values_) {
    if (known == name) return &value;
  }
  return nullptr;
}

Result<bool> Query::flag(std::string_view name) const {
  const std::string* value = find(name);
  if (value == nullptr || *value == "0" || *value == "false") return false;
  if (*value == "1" || *value == "true") return true;
  return failure(ErrorCode::invalid_argument, fmt::format("{} must be 1 or 0", name));
}

Result<std::uint64_t> Query::number(std::string_view name, std::uint64_t fallback,
                                    std::uint64_t min, std::uint64_t max) const {
  const std::string* value = find(name);
  if (value == nullptr) return fallback;
  const Result<std::uint64_t> parsed = parse_u64(name, *value);
  if (!parsed || *parsed < min || *parsed > max) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} must be a whole number from {} to {}", name, min, max));
  }
  return *parsed;
}

Result<std::int64_t> Query::duration_ms(std::string_view name, std::int64_t fallback,
                                        std::int64_t max) const {
  const std::string* value = find(name);
  if (value == nullptr) return fallback;
  const Result<std::int64_t> parsed = parse_duration_ms(*value);
  if (!parsed || *parsed > max) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("{} must be a duration of at most {}", name, format_duration(max)));
  }
  return *parsed;
}

bool is_json_type(std::string_view content_type) {
  if (media_type(content_type) != "application/json") return false;
  const std::string lower = to_lower(content_type);
  const std::size_t at = lower.find("charset=");
  if (at == std::string::npos) return true;
  std::string_view charset = trim(std::string_view(lower).substr(at + 8));
  charset = charset.substr(0, charset.find(';'));
  return charset == "utf-8" || charset == "\"utf-8\"" || charset == "utf8";
}

Result<void> check_json_body(const HttpRequest& request) {
  if (request.body.empty()) return {};
  const std::string_view encoding = request.header("content-encoding");
  if (!encoding.empty() && encoding != "identity") {
    return failure(ErrorCode::unsupported_media_type,
                   "compressed bodies are not taken; send it plain");
  }
  if (!request.has_header("content-type") || is_json_type(request.header("content-type")))
    return {};
  return failure(ErrorCode::unsupported_media_type,
                 "send Content-Type: application/json, in UTF-8");
}

Result<core::JobId> parse_job_id(std::string_view text) {
  const Result<std::uint64_t> id = parse_u64("job id", text);
  if (!id || *id == 0)
    return failure(ErrorCode::invalid_argument, "a job id is a decimal number of at most 64 bits");
  return core::JobId{*id};
}

Result<core::Ack> parse_ack(core::JobId id, std::string_view body) {
  return one(id, body, Fields<core::Ack>(kAck));
}

Result<core::Fail> parse_fail(core::JobId id, std::string_view body) {
  return one(id, body, Fields<core::Fail>(kFail));
}

Result<core::Extend> parse_extend(core::JobId id, std::string_view body) {
  return one(id, body, Fields<core::Extend>(kExtend));
}

Result<core::Release> parse_release(core::JobId id, std::string_view body) {
  return one(id, body, Fields<core::Release>(kRelease));
}

Result<core::Snooze> parse_snooze(core::JobId id, std::string_view body) {
  WEIR_TRY_ASSIGN(core::Snooze snooze, one(id, body, Fields<core::Snooze>(kSnooze)));
  if (snooze.delay_ms.has_value() == snooze.until.has_value()) {
    return failure(ErrorCode::invalid_argument, "snooze needs delay or until, one of them");
  }
  return snooze;
}

Result<core::Progress> parse_progress(core::JobId id, std::string_view body) {
  return one(id, body, Fields<core::Progress>(kProgress));
}

Result<std::vector<core::Command>> parse_items(BatchVerb verb, std::string_view body) {
  Items items{.verb = verb};
  WEIR_TRY(read_body(body, Fields<Items>(kItems), items));
  return std::move(items.commands);
}

Result<std::string> parse_reason(std::string_view body) {
  Reason reason;
  WEIR_TRY(read_body(body, Fields<Reason>(kReason), reason));
  if (reason.text.size() > core::kKiB)
    return failure(ErrorCode::invalid_argument, "reason is longer than 1 KiB");
  return std::move(reason.text);
}

Result<void> parse_nothing(std::string_view body) {
  Nothing nothing;
  return read_body(body, Fields<Nothing>(), nothing);
}

Result<engine::Demand> parse_claim(std::string_view body) {
  engine::Demand demand;
  WEIR_TRY(read_body(body, Fields<engine::Demand>(kClaim), demand));
  if (demand.queues.empty())
    return failure(ErrorCode::invalid_argument, "queues must name at least one queue");
  if (demand.wait_ms > core::kWaitMsMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("wait must be at most {}; claim again after it",
                               format_duration(core::kWaitMsMax)));
  }
  if (demand.lease_ms &&
      (*demand.lease_ms < core::kLeaseMsMin || *demand.lease_ms > core::kLeaseMsMax)) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("lease must be from {} to {}", format_duration(core::kLeaseMsMin),
                               format_duration(core::kLeaseMsMax)));
  }
  for (const std::string& queue : demand.queues)
    WEIR_TRY(check_name("queue", queue, core::kNameBytesMax));
  for (const std::string& kind : demand.kinds)
    WEIR_TRY(check_name("kind", kind, core::kNameBytesMax, 0));
  WEIR_TRY(check_name("worker_id", demand.worker_id, core::kNameBytesMax, 0));
  return demand;
}

Result<std::string> parse_backup(std::string_view body) {
  BackupBody backup;
  WEIR_TRY(read_body(body, Fields<BackupBody>(kBackup), backup));
  if (!backup.to.starts_with('/') || backup.to.find('\0') != std::string::npos) {
    return failure(ErrorCode::invalid_argument,
                   "to must be the absolute path of an empty or absent directory on the server");
  }
  return std::move(backup.to);
}

void write_request_schemas(JsonWriter& out) {
  write_job_schemas(out);
  write_queue_schemas(out);
  write_retry_schema(out);
  write_schema(out, "AckItem", Fields<core::Ack>(kAck));
  write_schema(out, "FailItem", Fields<core::Fail>(kFail));
  write_schema(out, "ExtendItem", Fields<core::Extend>(kExtend));
  write_schema(out, "Ack", Fields<core::Ack>(kAck).subspan(1));
  write_schema(out, "Fail", Fields<core::Fail>(kFail).subspan(1));
  write_schema(out, "Extend", Fields<core::Extend>(kExtend).subspan(1));
  write_schema(out, "Release", Fields<core::Release>(kRelease));
  write_schema(out, "Snooze", Fields<core::Snooze>(kSnooze));
  write_schema(out, "Progress", Fields<core::Progress>(kProgress));
  write_schema(out, "JobError", Fields<core::JobError>(kJobError));
  write_schema(out, "Claim", Fields<engine::Demand>(kClaim));
  write_schema(out, "Reason", Fields<Reason>(kReason));
  write_schema(out, "Nothing", Fields<Nothing>());
  write_schema(out, "Backup", Fields<BackupBody>(kBackup));
  for (const std::string_view verb : {"Ack", "Fail", "Extend"}) {
    out.raw(
        fmt::format("{}Items", verb),
        fmt::format(
            R"({{"type":"object","required":["items"],"additionalProperties":false,"properties":{{"items":)"
            R"({{"type":"array","minItems":1,"maxItems":{},"items":{{"$ref":"#/components/schemas/{}Item"}}}}}}}})",
            core::kBatchJobsMax, verb));
  }
}

}  // namespace weir::doors::http
