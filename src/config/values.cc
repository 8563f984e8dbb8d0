// SPDX-License-Identifier: Apache-2.0
// From values of the file to durations, sizes, policies, rules and pools. Variables of the
// environment come as texts, so every number and flag may be a text too.
#include <fmt/format.h>

#include <cmath>

#include "base/text.h"
#include "config/fields.h"

namespace weir::config {
namespace {

Failure wrong(const Value& value, std::string_view right) {
  return failure(ErrorCode::invalid_argument,
                 fmt::format("is {}; it must be {}", value.kind(), right));
}

Result<double> to_real(const Value& value) {
  if (const auto* real = std::get_if<double>(&value.data)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data))
    return static_cast<double>(*whole);
  return wrong(value, "a number, such as 2 or 0.2");
}

Result<void> set_retry_key(std::string_view key, const Value& value, core::RetryPolicy& policy) {
  if (key == "delays") {
    const Array* items = value.array();
    if (items == nullptr)
      return wrong(value, "a list of durations, such as [\"0s\", \"5s\", \"1m\"]");
    for (const Value& item : *items) {
      WEIR_TRY_ASSIGN(const std::int64_t ms, to_duration_ms(item));
      policy.delays_ms.push_back(ms);
    }
    return {};
  }
  if (key == "base") {
    WEIR_TRY_ASSIGN(policy.base_ms, to_duration_ms(value));
  } else if (key == "cap") {
    WEIR_TRY_ASSIGN(policy.cap_ms, to_duration_ms(value));
  } else if (key == "factor") {
    WEIR_TRY_ASSIGN(policy.factor, to_real(value));
  } else if (key == "jitter") {
    WEIR_TRY_ASSIGN(policy.jitter, to_real(value));
  } else if (key == "max_attempts") {
    WEIR_TRY_ASSIGN(const std::uint64_t count, to_count(value, core::kMaxAttemptsMax));
    policy.max_attempts = static_cast<std::uint32_t>(count);
  } else {
    return failure(ErrorCode::invalid_argument,
                   unknown_key(key, {"delays", "base", "factor", "cap", "jitter", "max_attempts"}));
  }
  return {};
}

}  // namespace

std::string unknown_key(std::string_view key, const std::vector<std::string_view>& known) {
  const std::string_view near = nearest_word(key, known);
  if (!near.empty()) return fmt::format("unknown key {}; did you mean {}?", key, near);
  return fmt::format("unknown key {}; known here: {}", key, fmt::join(known, ", "));
}

Result<std::string> to_text(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return wrong(value, "a text in quotes");
}

Result<std::int64_t> to_duration_ms(const Value& value) {
  if (const auto* ms = std::get_if<std::int64_t>(&value.data)) {
    if (*ms < 0) return failure(ErrorCode::invalid_argument, "is negative; a duration is not");
    return *ms;
  }
  if (const auto* text = std::get_if<std::string>(&value.data)) return parse_duration_ms(*text);
  return wrong(value, "a duration such as \"30s\", or milliseconds");
}

Result<std::uint64_t> to_count(const Value& value, std::uint64_t max) {
  std::uint64_t count = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) {
    if (*whole < 0)
      return failure(ErrorCode::invalid_argument,
                     fmt::format("is negative; it must be 0 to {}", max));
    count = static_cast<std::uint64_t>(*whole);
  } else if (const auto* text = std::get_if<std::string>(&value.data)) {
    WEIR_TRY_ASSIGN(count, parse_u64("value", *text));
  } else {
    return wrong(value, "a whole number");
  }
  if (count > max)
    return failure(ErrorCode::invalid_argument,
                   fmt::format("is {}; it must be at most {}", count, max));
  return count;
}

Result<std::uint64_t> to_bytes(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value.data)) return parse_size_bytes(*text);
  return to_count(value, UINT64_MAX / 2);
}

Result<bool> to_bool(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value.data)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value.data)) {
    if (*text == "true" || *text == "1") return true;
    if (*text == "false" || *text == "0") return false;
  }
  return wrong(value, "true or false");
}

Result<std::vector<std::string>> to_texts(const Value& value) {
  if (const auto* text =
          std::get_if<std::string>(&value.data)) {  // from the environment: separated by commas
    std::vector<std::string> items;
    for (const std::string& item : split(*text, ',')) items.emplace_back(trim(item));
    return items;
  }
  const Array* array = value.array();
  if (array == nullptr) return wrong(value, "a list of texts");
  std::vector<std::string> items;
  for (const Value& item : *array) {
    WEIR_TRY_ASSIGN(std::string text, to_text(item));
    items.push_back(std::move(text));
  }
  return items;
}

Result<core::RetryPolicy> to_retry(const Value& value, const RetryTable& retries) {
  if (const auto* name = std::get_if<std::string>(&value.data)) {
    for (const core::RetryPolicy& policy : retries) {
      if (policy.name == *name) return policy;
    }
    auto preset = core::retry_preset(*name);
    if (!preset && !retries.empty())
      preset.error().detail += " or a policy of a [retry.NAME] table";
    return preset;
  }
  const Table* table = value.table();
  if (table == nullptr)
    return wrong(value, "the name of a policy, or a table with delays or base, factor and cap");
  core::RetryPolicy policy;
  policy.factor = core::kRetryFactorDefault;
  for (const auto& [key, item] : *table) {
    if (auto set = set_retry_key(key, item, policy); !set) {
      return failure(ErrorCode::invalid_argument, fmt::format("{}: {}", key, set.error().detail));
    }
  }
  policy = core::complete_retry_policy(std::move(policy));
  WEIR_TRY(core::check_retry_policy(policy));
  return policy;
}

Result<core::ErrorRule> to_rule(const Value& value) {
  const Table* table = value.table();
  if (table == nullptr) return wrong(value, "a table with when and then");
  core::ErrorRule rule;
  bool has_when = false;
  bool has_then = false;
  for (const auto& [key, item] : *table) {
    if (key == "then") {
      WEIR_TRY_ASSIGN(const std::string then, to_text(item));
      if (then != "retry" && then != "dead") {
        return failure(ErrorCode::invalid_argument,
                       fmt::format("then: \"{}\" must be \"retry\" or \"dead\"", then));
      }
      rule.then = then == "retry" ? core::ErrorVerdict::retry : core::ErrorVerdict::dead;
      has_then = true;
    } else if (key == "name") {
      WEIR_TRY_ASSIGN(rule.name, to_text(item));
    } else if (key == "when" && item.table() != nullptr) {
      has_when = !item.table()->empty();
      for (const auto& [what, match] : *item.table()) {
        if (what == "http_status") {
          std::string text =
              fmt::format("{}", std::holds_alternative<std::int64_t>(match.data)
                                    ? std::to_string(std::get<std::int64_t>(match.data))
                                    : to_text(match).value_or(""));
          WEIR_TRY(core::parse_http_status_range(text, rule));
          continue;
        }
        WEIR_TRY_ASSIGN(std::string text, to_text(match));
        if (what == "class") {
          rule.error_class = std::move(text);
        } else if (what == "code") {
          rule.code = std::move(text);
        } else if (what == "message") {
          rule.message = std::move(text);
        } else {
          return failure(ErrorCode::invalid_argument,
                         "when: " + unknown_key(what, {"class", "code", "http_status", "message"}));
        }
      }
    } else {
      return failure(ErrorCode::invalid_argument, unknown_key(key, {"when", "then", "name"}));
    }
  }
  if (!has_when || !has_then) {
    return failure(ErrorCode::invalid_argument,
                   "a rule needs both, such as when = { http_status = \"5xx\" }, then = \"retry\"");
  }
  return rule;
}

Result<PoolConfig> to_pool(std::string_view name, const Value& value) {
  const Table* table = value.table();
  if (table == nullptr) return wrong(value, "a table");
  PoolConfig pool;
  pool.name = name;
  for (const auto& [key, item] : *table) {
    if (key == "queues") {
      WEIR_TRY_ASSIGN(pool.queues, to_texts(item));
    } else if (key == "classes") {
      WEIR_TRY_ASSIGN(const std::vector<std::string> words, to_texts(item));
      for (const std::string& word : words) {
        const auto found = core::priority_class_from(word);
        if (!found) return failure(ErrorCode::invalid_argument, "classes: write P0 to P4");
        pool.classes.push_back(*found);
      }
    } else if (key == "concurrency" || key == "min" || key == "max") {
      WEIR_TRY_ASSIGN(const std::uint64_t count, to_count(item, 10'000));
      if (count == 0)
        return failure(ErrorCode::invalid_argument, fmt::format("{}: must be at least 1", key));
      if (key == "concurrency") pool.concurrency = static_cast<std::uint32_t>(count);
    } else if (key == "exec") {
      WEIR_TRY_ASSIGN(pool.exec, to_texts(item));
    } else if (key == "post") {
      WEIR_TRY_ASSIGN(pool.post, to_text(item));
    } else {
      return failure(
          ErrorCode::invalid_argument,
          unknown_key(key, {"queues", "classes", "concurrency", "min", "max", "exec", "post"}));
    }
  }
  if (pool.queues.empty())
    return failure(ErrorCode::invalid_argument, "queues: name at least one queue");
  if (pool.classes.size() > 1) {
    return failure(ErrorCode::invalid_argument,
                   "classes: a pool serves one class, so that no class waits behind another; make "
                   "a pool for each");
  }
  if (pool.exec.empty() == pool.post.empty()) {
    return failure(ErrorCode::invalid_argument,
                   "set exec = [\"command\", …] or post = \"https://…\", one of them");
  }
  return pool;
}

}  // namespace weir::config
