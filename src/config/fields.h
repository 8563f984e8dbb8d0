// SPDX-License-Identifier: Apache-2.0
// The table of keys: each names a key, its meaning and how it is set. Unknown keys, environment
// variables and the reference page all come from these tables, so that they can't differ.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/config.h"
#include "config/value.h"

namespace weir::config {

// Named retry policies of the file, for `retry = "NAME"`.
using RetryTable = std::vector<core::RetryPolicy>;

template <typename Target>
struct Field {
  std::string_view key;
  std::string_view fallback;  // the default as TOML, for the reference
  std::string_view meaning;
  std::function<Result<void>(const Value&, Target&)> set;
};

const std::vector<Field<ServerConfig>>& server_fields();
const std::vector<Field<DoorsConfig>>& door_fields();
std::vector<Field<core::QueuePatch>> queue_fields(const RetryTable& retries);

// Single values. Errors: invalid_argument, saying what would be right.
Result<std::string> to_text(const Value& value);
Result<std::int64_t> to_duration_ms(const Value& value);
Result<std::uint64_t> to_count(const Value& value, std::uint64_t max);
Result<std::uint64_t> to_bytes(const Value& value);
Result<bool> to_bool(const Value& value);
Result<std::vector<std::string>> to_texts(const Value& value);
Result<core::RetryPolicy> to_retry(const Value& value, const RetryTable& retries);
Result<core::ErrorRule> to_rule(const Value& value);
Result<PoolConfig> to_pool(std::string_view name, const Value& value);

// "unknown key; did you mean …?" or the list of the known ones.
std::string unknown_key(std::string_view key, const std::vector<std::string_view>& known);

}  // namespace weir::config
