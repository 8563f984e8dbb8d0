// SPDX-License-Identifier: Apache-2.0
// Who asks, and may they: bearer tokens "wt_<id>.<secret>", scopes × queue patterns × namespace.
// Shared by every door.
//
// A token is stored as its public id and the SHA-256 of its secret (128 bits of the kernel's
// randomness, so that a plain digest is enough); the compare takes the same time wherever the
// digests differ. Without any living token a loopback listener is open; the first token closes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/key/key.h"
#include "engine/engine.h"

namespace weir::doors {

// Which scopes open a verb: any one of the bits. 0: any token at all.
using ScopeMask = std::uint8_t;
constexpr ScopeMask scope_bit(core::Scope scope) { return static_cast<ScopeMask>(scope); }
inline constexpr ScopeMask kEveryScope = 31;

// The caller of one request. Value.
struct Caller {
  core::Principal principal;
  ScopeMask scopes = 0;
  std::vector<std::string> queues;  // patterns; empty: every queue

  // admin opens every verb; the other scopes only their own.
  bool has_any(ScopeMask wanted) const;
  bool may_touch(std::string_view queue) const;
  // Every queue of the default namespace: what concerns the whole server asks for it.
  bool is_unrestricted() const { return queues.empty() && principal.namespace_id == 0; }
};

struct AuthOptions {
  bool is_loopback = true;       // is the listener bound to loopback only?
  bool tokens_required = false;  // closed from the start, also without any token
};

// The caller behind an Authorization header ("" when there is none). Errors: unauthenticated.
Result<Caller> authenticate(const engine::Engine& engine, const AuthOptions& options, WallTime now,
                            std::string_view authorization);

// Does what let the caller in still hold? For answers that come later than their request and for
// streams: a revoked token gets nothing more. Errors: unauthenticated.
Result<void> check_still_valid(const engine::Engine& engine, const AuthOptions& options,
                               WallTime now, const Caller& caller);

// Errors: permission_denied, naming the scope or the pattern that lacks. `queue` empty: no queue in
// play.
Result<void> authorize(const Caller& caller, ScopeMask wanted, std::string_view queue = {});

// A new token: the record to keep, and the text to show once.
struct NewToken {
  core::ApiToken token;
  std::string text;
};
struct TokenWish {
  std::string name;
  ScopeMask scopes = 0;
  std::vector<std::string> queues;
  std::uint32_t namespace_id = 0;
  WallTime expires_at;
};
NewToken make_token(const TokenWish& wish, WallTime now, std::string_view created_by);

// May `caller` hand out what `wish` asks for? Nobody gives more than they have. Errors:
// permission_denied.
Result<void> check_wish(const Caller& caller, const TokenWish& wish);

// "read, work" for messages and lists.
std::string scope_text(ScopeMask scopes);

}  // namespace weir::doors
