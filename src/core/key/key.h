// SPDX-License-Identifier: Apache-2.0
// Keys: unique keys of jobs, idempotency keys of requests, and the API tokens that name who asks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "core/job/job.h"

namespace weir::core {

// {scope, key, until end or instant, first id}. At most one living job per (queue, key). Value, an
// entity of the store. The entry goes when its job ends (until is none), or at `until` when a
// window was asked for.
struct UniqueKey {
  QueueId queue;
  std::string key;
  JobId job;
  StoreTime until;  // none: until the job ends

  bool operator==(const UniqueKey&) const = default;
};

// A group that is busy: closed to others from its head's first claim until the head ends. Value, an
// entity of the store.
struct GroupLock {
  QueueId queue;
  std::string group;
  JobId holder;

  bool operator==(const GroupLock&) const = default;
};

// A remembered request. `scope` is a hash of (token, route, key), `request` a hash of the body. The
// answer is the encoded core::Answer (answer_codec.cc). Stored in the same commit as the effect;
// expires after 24 h of store time.
struct IdempotencyEntry {
  Hash128 scope;
  Hash128 request;
  StoreTime expires_at;
  std::string answer;

  bool operator==(const IdempotencyEntry&) const = default;
};

enum class Scope : std::uint8_t { enqueue = 1, work = 2, read = 4, operate = 8, admin = 16 };
std::string_view to_string(Scope scope);
std::optional<Scope> scope_from(std::string_view text);

// A bearer token as stored: never its secret, only the SHA-256 of it. Value, an entity of the
// store.
struct ApiToken {
  std::string id;  // public prefix, "wt_<12>"
  std::string name;
  Sha256 secret_sha256{};
  std::uint8_t scopes = 0;          // or of Scope
  std::vector<std::string> queues;  // glob patterns; empty = every queue
  std::uint32_t namespace_id = 0;
  WallTime created_at;
  WallTime expires_at;  // none: does not expire
  bool is_revoked = false;
  std::string created_by;

  bool operator==(const ApiToken&) const = default;
};

// Who asks. Value.
struct Principal {
  std::string id;  // token id, "local" on an open loopback server, "server" for the server itself
  std::uint32_t namespace_id = 0;

  bool operator==(const Principal&) const = default;
};

}  // namespace weir::core
