// SPDX-License-Identifier: Apache-2.0
// API tokens: created once, then only revoked.
#include <fmt/format.h>

#include "base/text.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

constexpr std::uint8_t kAllScopes = 1 | 2 | 4 | 8 | 16;

Result<void> check_token(const ApiToken& token, WallTime now) {
  WEIR_TRY(check_name("token id", token.id, kNameBytesMax));
  WEIR_TRY(check_name("token name", token.name, kNameBytesMax, 0));
  if (token.scopes == 0 || (token.scopes & ~kAllScopes) != 0) {
    return failure(ErrorCode::invalid_argument,
                   "a token needs scopes out of enqueue, work, read, operate, admin");
  }
  if (token.queues.size() > kClaimQueuesMax) {
    return failure(ErrorCode::invalid_argument,
                   fmt::format("there are {} queue patterns; a token may have {}",
                               token.queues.size(), kClaimQueuesMax));
  }
  for (const std::string& pattern : token.queues) {
    WEIR_TRY(check_name("queue pattern", pattern, kNameBytesMax));
  }
  if (token.expires_at.is_set() && token.expires_at <= now) {
    return failure(ErrorCode::invalid_argument, "the token would have expired already");
  }
  return {};
}

}  // namespace

Decided decide_put_token(Deciding& d, const PutToken& command) {
  WEIR_TRY(check_token(command.token, d.now().wall));
  const std::string& id = command.token.id;
  if (d.view.token(id) != nullptr) {
    return failure(conflict(fmt::format("token {} is there already", id)));
  }
  ApiToken token = command.token;
  token.created_at = d.now().wall;
  token.created_by = d.principal.id;
  d.out.tokens.push_back({.after = std::move(token)});
  audit(d, "token create", "token " + id);
  commit_synced(d);
  return TokenChanged{.id = id};
}

Decided decide_revoke_token(Deciding& d, const RevokeToken& command) {
  const ApiToken* token = d.view.token(command.id);
  if (token == nullptr || token->namespace_id != d.principal.namespace_id) {
    return failure(ErrorCode::not_found, fmt::format("token {} is not there", command.id));
  }
  if (token->is_revoked) return TokenChanged{.id = token->id};
  ApiToken after = *token;
  after.is_revoked = true;
  d.out.tokens.push_back({.after = std::move(after)});
  audit(d, "token revoke", "token " + command.id);
  commit_synced(d);
  return TokenChanged{.id = command.id};
}

}  // namespace weir::core
