// SPDX-License-Identifier: Apache-2.0
#include "doors/http/parse_retry.h"

#include "doors/http/read_field.h"

namespace weir::doors::http {
namespace {

using core::RetryPolicy;

constexpr std::size_t kDelaysMax = 100;

Result<void> read_delays(JsonCursor& in, RetryPolicy& out) {
  WEIR_TRY(in.open_array());
  for (;;) {
    WEIR_TRY_ASSIGN(const bool more, in.next_item());
    if (!more) break;
    if (out.delays_ms.size() == kDelaysMax) return in.error("holds more than 100 delays");
    in.push_path(out.delays_ms.size());
    WEIR_TRY_ASSIGN(const std::int64_t delay_ms, duration_value(in));
    out.delays_ms.push_back(delay_ms);
    in.pop_path();
  }
  if (out.delays_ms.empty()) return in.error("must hold at least one delay");
  return {};
}

template <auto Member>
Result<void> read_number(JsonCursor& in, RetryPolicy& out) {
  WEIR_TRY_ASSIGN(out.*Member, in.number());
  return {};
}

constexpr Field<RetryPolicy> kFields[] = {
    {"delays", R"({"type":"array","items":{"$ref":"#/components/schemas/Duration"}})", read_delays},
    {"base", schema::duration, read_duration<&RetryPolicy::base_ms>},
    {"factor", R"({"type":"number","minimum":1,"default":2})", read_number<&RetryPolicy::factor>},
    {"cap", schema::duration, read_duration<&RetryPolicy::cap_ms>},
    {"jitter", R"({"type":"number","exclusiveMinimum":0,"maximum":1})",
     read_number<&RetryPolicy::jitter>},
    {"max_attempts", schema::count,
     read_integer<&RetryPolicy::max_attempts, std::uint32_t, 1, core::kMaxAttemptsMax>},
};

}  // namespace

Result<RetryDraft> retry_value(JsonCursor& in) {
  RetryDraft draft;
  draft.policy.factor = core::kRetryFactorDefault;
  if (in.peek() == JsonKind::string) {
    draft.is_name = true;
    WEIR_TRY_ASSIGN(draft.policy.name, in.string());
    return draft;
  }
  if (in.peek() != JsonKind::object) {
    return in.error(
        R"(must be the name of a policy ("ladder", "exp2") or an object with delays, or base, factor and cap)");
  }
  WEIR_TRY(read_object(in, Fields<RetryPolicy>(kFields), draft.policy));
  RetryPolicy& policy = draft.policy;
  const bool is_list = !policy.delays_ms.empty();
  if (is_list && policy.base_ms != 0) return in.error("has delays and a formula; choose one");
  if (!is_list && policy.base_ms == 0) return in.error("needs delays, or base with factor and cap");
  if (!is_list && policy.cap_ms == 0) return in.error("needs a cap, such as \"15m\"");
  policy = core::complete_retry_policy(std::move(policy));
  return draft;
}

Result<core::RetryPolicy> resolve_retry(const RetryDraft& draft, const RetryPolicies& policies) {
  if (draft.is_name) {
    for (const RetryPolicy& policy : policies) {
      if (policy.name == draft.policy.name) return policy;
    }
    return core::retry_preset(draft.policy.name);
  }
  WEIR_TRY(core::check_retry_policy(draft.policy));
  return draft.policy;
}

void write_retry_schema(JsonWriter& out) {
  out.key("RetryPolicy").begin_object().key("oneOf").begin_array();
  out.raw(
      R"({"type":"string","description":"The name of a policy: ladder, exp2, or one of the configuration."})");
  out.raw(R"({"$ref":"#/components/schemas/RetryRule"})");
  out.end_array().end_object();
  write_schema(out, "RetryRule", Fields<RetryPolicy>(kFields));
}

}  // namespace weir::doors::http
