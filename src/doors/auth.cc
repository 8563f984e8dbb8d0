// SPDX-License-Identifier: Apache-2.0
#include "doors/auth.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/digest.h"
#include "base/text.h"

namespace weir::doors {
namespace {

constexpr std::array kScopes = {core::Scope::enqueue, core::Scope::work, core::Scope::read,
                                core::Scope::operate, core::Scope::admin};

// Is the server open to callers without a token? A token that merely expired does not open it
// again; revoking the last does.
bool is_open(const engine::Engine& engine, const AuthOptions& options) {
  if (!options.is_loopback || options.tokens_required || engine.has_tokens()) return false;
  const std::vector<core::ApiToken> tokens = engine.tokens();
  return std::all_of(tokens.begin(), tokens.end(),
                     [](const core::ApiToken& token) { return token.is_revoked; });
}

std::string_view as_text(const Sha256& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Failure refuse(std::string detail) {
  return failure(ErrorCode::unauthenticated, std::move(detail));
}

// The caller without a token on an open server.
constexpr std::string_view kLocalId = "local";

Result<void> check_living(const core::ApiToken& token, WallTime now) {
  if (token.is_revoked) return refuse("the token was revoked");
  if (token.expires_at.is_set() && token.expires_at <= now) return refuse("the token has expired");
  return {};
}

}  // namespace

bool Caller::has_any(ScopeMask wanted) const {
  if (wanted == 0) return true;
  return (scopes & (wanted | scope_bit(core::Scope::admin))) != 0;
}

bool Caller::may_touch(std::string_view queue) const {
  if (queues.empty()) return true;
  return std::any_of(queues.begin(), queues.end(),
                     [queue](const std::string& pattern) { return glob_match(pattern, queue); });
}

Result<Caller> authenticate(const engine::Engine& engine, const AuthOptions& options, WallTime now,
                            std::string_view authorization) {
  if (authorization.empty()) {
    if (is_open(engine, options)) {
      return Caller{.principal = {.id = std::string(kLocalId)}, .scopes = kEveryScope};
    }
    return refuse("send a token as Authorization: Bearer wt_….…");
  }
  const std::size_t space = authorization.find(' ');
  if (space == std::string_view::npos ||
      !equals_ignore_case(authorization.substr(0, space), "bearer")) {
    return refuse("only the Bearer scheme is known");
  }
  const std::string_view text = trim(authorization.substr(space));
  const std::size_t dot = text.find('.');
  const std::string_view id = text.substr(0, dot);
  const std::string_view secret =
      dot == std::string_view::npos ? std::string_view() : text.substr(dot + 1);
  const core::ApiToken* token = engine.find_token(id);
  // Hashed and compared also when there is no such token: the time must not tell which ids exist.
  const Sha256 shown = sha256(secret);
  const Sha256 kept = token != nullptr ? token->secret_sha256 : Sha256{};
  const bool is_equal = constant_time_equal(as_text(shown), as_text(kept));
  if (token == nullptr || !is_equal) return refuse("the token is not known");
  WEIR_TRY(check_living(*token, now));
  return Caller{.principal = {.id = token->id, .namespace_id = token->namespace_id},
                .scopes = token->scopes,
                .queues = token->queues};
}

Result<void> check_still_valid(const engine::Engine& engine, const AuthOptions& options,
                               WallTime now, const Caller& caller) {
  if (caller.principal.id == kLocalId) {
    if (is_open(engine, options)) return {};
    return refuse("the server takes only calls with a token now");
  }
  const core::ApiToken* token = engine.find_token(caller.principal.id);
  if (token == nullptr) return refuse("the token is not known");
  return check_living(*token, now);
}

Result<void> authorize(const Caller& caller, ScopeMask wanted, std::string_view queue) {
  if (!caller.has_any(wanted)) {
    return failure(ErrorCode::permission_denied,
                   fmt::format("this needs scope {}; the token has {}", scope_text(wanted),
                               scope_text(caller.scopes)));
  }
  if (!queue.empty() && !caller.may_touch(queue)) {
    return failure(ErrorCode::permission_denied, fmt::format("the token does not reach queue {}",
                                                             json_string(cut_utf8(queue, 300))));
  }
  return {};
}

NewToken make_token(const TokenWish& wish, WallTime now, std::string_view created_by) {
  std::array<std::uint8_t, 9> id_bytes{};
  secure_random(id_bytes);
  std::array<std::uint8_t, 24> secret_bytes{};
  secure_random(secret_bytes);
  const auto coded = [](std::span<const std::uint8_t> bytes) {
    return base64url_encode({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  const std::string secret = coded(secret_bytes);
  NewToken made;
  made.token = {.id = "wt_" + coded(id_bytes),
                .name = wish.name,
                .secret_sha256 = sha256(secret),
                .scopes = wish.scopes,
                .queues = wish.queues,
                .namespace_id = wish.namespace_id,
                .created_at = now,
                .expires_at = wish.expires_at,
                .created_by = std::string(created_by)};
  made.text = made.token.id + "." + secret;
  return made;
}

Result<void> check_wish(const Caller& caller, const TokenWish& wish) {
  if (caller.is_unrestricted()) return {};
  if (wish.namespace_id != caller.principal.namespace_id && caller.principal.namespace_id != 0) {
    return failure(ErrorCode::permission_denied,
                   "a token can't reach beyond the namespace of its maker");
  }
  if (caller.queues.empty()) return {};
  if (wish.namespace_id != caller.principal.namespace_id || wish.queues.empty()) {
    return failure(ErrorCode::permission_denied, "a token can't reach more queues than its maker");
  }
  for (const std::string& pattern : wish.queues) {
    // A pattern that another matches as a text admits no name that the other does not.
    if (!caller.may_touch(pattern)) {
      return failure(
          ErrorCode::permission_denied,
          fmt::format("queue pattern {} reaches beyond the maker's own", json_string(pattern)));
    }
  }
  return {};
}

std::string scope_text(ScopeMask scopes) {
  std::string text;
  for (const core::Scope scope : kScopes) {
    if ((scopes & scope_bit(scope)) == 0) continue;
    if (!text.empty()) text += ", ";
    text += core::to_string(scope);
  }
  return text.empty() ? "none" : text;
}

}  // namespace weir::doors
