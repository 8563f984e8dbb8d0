// SPDX-License-Identifier: Apache-2.0
// Settings of queues, and wishes for tokens.
#include <fmt/format.h>

#include "doors/http/parse_retry.h"
#include "doors/http/parser.h"
#include "doors/http/read_field.h"

namespace weir::doors::http {
namespace {

struct PatchDraft : core::QueuePatch {
  std::optional<RetryDraft> retry_draft;
};

// A setting of a few words.
template <auto Member, auto Parse>
Result<void> read_word(JsonCursor& in, PatchDraft& out) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const auto word = Parse(text);
  if (!word) return in.error(word.error().detail);
  out.*Member = *word;
  return {};
}

Result<void> read_durability(JsonCursor& in, PatchDraft& out) {
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  if (const Result<void> read = core::parse_durability(text, out); !read)
    return in.error(read.error().detail);
  return {};
}

Result<void> read_size(JsonCursor& in, PatchDraft& out) {
  if (in.peek() == JsonKind::number) {
    WEIR_TRY_ASSIGN(const std::int64_t bytes,
                    in.integer(1, std::numeric_limits<std::int64_t>::max()));
    out.payload_bytes_max = static_cast<std::uint64_t>(bytes);
    return {};
  }
  WEIR_TRY_ASSIGN(const std::string text, in.string());
  const Result<std::uint64_t> bytes = parse_size_bytes(text);
  if (!bytes) return at_field(in, bytes.error());
  out.payload_bytes_max = *bytes;
  return {};
}

constexpr std::int64_t kCountMax = std::numeric_limits<std::int64_t>::max();

constexpr Field<PatchDraft> kSettings[] = {
    {"class", schema::priority_class, read_class<&core::QueuePatch::priority_class>},
    {"retry", kRetrySchema,
     [](JsonCursor& in, PatchDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.retry_draft, retry_value(in));
       return {};
     }},
    {"max_attempts", R"({"type":"integer","minimum":1,"maximum":100000})",
     read_integer<&core::QueuePatch::max_attempts, std::uint32_t, 1, core::kMaxAttemptsMax>},
    {"lease", schema::duration, read_duration<&core::QueuePatch::lease_ms>},
    {"timeout", schema::duration, read_duration<&core::QueuePatch::timeout_ms>},
    {"ttl", schema::duration, read_duration<&core::QueuePatch::ttl_ms>},
    {"max_depth", schema::count,
     read_integer<&core::QueuePatch::max_depth, std::uint64_t, 0, kCountMax>},
    {"payload_max", R"({"type":["string","integer"],"examples":["1MiB"]})", read_size},
    {"durability", R"({"type":"string","examples":["sync","interval:100ms"]})", read_durability},
    {"claim", R"({"type":"string","enum":["ride","sync"]})",
     read_word<&core::QueuePatch::claim, core::parse_claim_mode>},
    {"delivery", R"({"type":"string","enum":["at_least_once","at_most_once"]})",
     read_word<&core::QueuePatch::delivery, core::parse_delivery_mode>},
    {"order", R"({"type":"string","enum":["priority","deadline","fifo"]})",
     read_word<&core::QueuePatch::order, core::parse_queue_order>},
    {"completed_retention", schema::duration,
     read_duration<&core::QueuePatch::completed_retention_ms>},
    {"completed_max", schema::count,
     read_integer<&core::QueuePatch::completed_max, std::uint64_t, 0, kCountMax>},
    {"dead_retention", schema::duration, read_duration<&core::QueuePatch::dead_retention_ms>},
    {"paused", schema::flag, read_flag<&core::QueuePatch::paused>},
    {"draining", schema::flag, read_flag<&core::QueuePatch::draining>},
};

struct TokenDraft : TokenWish {
  std::optional<std::int64_t> expires_in_ms;
};

Result<void> read_scopes(JsonCursor& in, TokenDraft& out) {
  WEIR_TRY_ASSIGN(const std::vector<std::string> words, texts_value(in, 5));
  for (const std::string& word : words) {
    const std::optional<core::Scope> scope = core::scope_from(word);
    if (!scope) return in.error("must be a list of enqueue, work, read, operate, admin");
    out.scopes = static_cast<ScopeMask>(out.scopes | scope_bit(*scope));
  }
  if (out.scopes == 0)
    return in.error("must name at least one of enqueue, work, read, operate, admin");
  return {};
}

constexpr Field<TokenDraft> kToken[] = {
    {"name", schema::text, read_text<&TokenWish::name>},
    {"scopes",
     R"({"type":"array","items":{"type":"string","enum":["enqueue","work","read","operate","admin"]},"minItems":1})",
     read_scopes, true},
    {"queues", schema::texts,
     [](JsonCursor& in, TokenDraft& out) -> Result<void> {
       WEIR_TRY_ASSIGN(out.queues, texts_value(in, core::kClaimQueuesMax));
       for (const std::string& pattern : out.queues)
         WEIR_TRY(check_name("queue pattern", pattern, core::kNameBytesMax));
       return {};
     }},
    {"namespace", schema::count,
     read_integer<&TokenWish::namespace_id, std::uint32_t, 0,
                  std::numeric_limits<std::uint32_t>::max()>},
    {"expires_at", schema::instant, read_instant<&TokenWish::expires_at>},
    {"expires_in", schema::duration, read_duration<&TokenDraft::expires_in_ms>},
};

}  // namespace

Result<core::QueuePatch> parse_queue_patch(std::string_view body, const RetryPolicies& policies) {
  PatchDraft draft;
  WEIR_TRY(read_body(body, Fields<PatchDraft>(kSettings), draft));
  if (draft.retry_draft) {
    WEIR_TRY_ASSIGN(draft.retry, resolve_retry(*draft.retry_draft, policies));
  }
  return static_cast<core::QueuePatch>(std::move(draft));
}

Result<TokenWish> parse_token_wish(std::string_view body, WallTime now) {
  TokenDraft draft;
  WEIR_TRY(read_body(body, Fields<TokenDraft>(kToken), draft));
  WEIR_TRY(check_name("name", draft.name, core::kNameBytesMax, 0));
  if (draft.expires_in_ms) {
    if (draft.expires_at.is_set()) {
      return failure(ErrorCode::invalid_argument,
                     "expires_at and expires_in are both given; choose one");
    }
    draft.expires_at = now.plus(*draft.expires_in_ms);
  }
  if (draft.expires_at.is_set() && (draft.expires_at <= now || draft.expires_at > kWallTimeMax)) {
    return failure(ErrorCode::invalid_argument,
                   "the token must expire in the future, before the year 10000");
  }
  return static_cast<TokenWish>(std::move(draft));
}

void write_queue_schemas(JsonWriter& out) {
  write_schema(out, "QueueSettings", Fields<PatchDraft>(kSettings));
  write_schema(out, "NewToken", Fields<TokenDraft>(kToken));
}

}  // namespace weir::doors::http
