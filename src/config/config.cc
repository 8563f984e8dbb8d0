// SPDX-License-Identifier: Apache-2.0
// Walks the file and the environment by the tables of fields.h and gathers every problem, not just
// the first.
#include "config/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "config/fields.h"
#include "config/value.h"

namespace weir::config {
namespace {

constexpr std::string_view kSections[] = {"server", "doors", "defaults", "queues",
                                          "retry",  "rules", "pools"};

// Gathers problems while the parts of the configuration are filled.
class Reader {
 public:
  Reader(Loaded& out, std::string_view file) : out_(out), file_(file) {}

  void read_file(const Value& root);
  void read_environment(const Environment& environment);
  void finish();

 private:
  void problem(int line, std::string key, std::string text, bool is_warning = false) {
    out_.problems.push_back({.file = line == 0 ? "environment" : std::string(file_),
                             .line = line,
                             .key = std::move(key),
                             .text = std::move(text),
                             .is_warning = is_warning});
  }

  template <typename Target>
  void set(const std::vector<Field<Target>>& fields, const std::string& path, std::string_view key,
           const Value& value, Target& target);
  template <typename Target>
  void read_section(const std::vector<Field<Target>>& fields, const std::string& path,
                    const Value& section, Target& target);
  void read_server_key(const std::string& path, std::string_view key, const Value& value);
  void read_default_key(const std::string& path, std::string_view key, const Value& value);
  void read_retries(const Value& section);
  void read_queues(const Value& section);
  void read_rules(const Value& section);
  void read_pools(const Value& section);
  void read_doors(const Value& section);

  Loaded& out_;
  std::string_view file_;
  RetryTable retries_;
  core::QueuePatch server_wide_;  // server.durability is a default of queues
  core::QueuePatch defaults_;
};

template <typename Target>
void Reader::set(const std::vector<Field<Target>>& fields, const std::string& path,
                 std::string_view key, const Value& value, Target& target) {
  std::vector<std::string_view> known;
  for (const Field<Target>& field : fields) {
    if (field.key == key) {
      if (auto done = field.set(value, target); !done)
        problem(value.line, path, done.error().detail);
      return;
    }
    known.push_back(field.key);
  }
  problem(value.line, path, unknown_key(key, known));
}

template <typename Target>
void Reader::read_section(const std::vector<Field<Target>>& fields, const std::string& path,
                          const Value& section, Target& target) {
  if (section.table() == nullptr) {
    problem(section.line, path, fmt::format("is {}; it must be a table", section.kind()));
    return;
  }
  for (const auto& [key, value] : *section.table())
    set(fields, path + "." + key, key, value, target);
}

void Reader::read_server_key(const std::string& path, std::string_view key, const Value& value) {
  if (key == "durability") {
    set(queue_fields(retries_), path, key, value, server_wide_);
  } else {
    set(server_fields(), path, key, value, out_.config.server);
  }
}

void Reader::read_default_key(const std::string& path, std::string_view key, const Value& value) {
  if (key == "auto_create") {
    if (auto flag = to_bool(value)) {
      out_.config.policy.auto_create = *flag;
    } else {
      problem(value.line, path, flag.error().detail);
    }
    return;
  }
  set(queue_fields(retries_), path, key, value, defaults_);
}

void Reader::read_retries(const Value& section) {
  if (section.table() == nullptr)
    return problem(section.line, "retry", "write [retry.NAME] tables");
  for (const auto& [name, value] : *section.table()) {
    if (core::retry_preset(name)) {
      problem(value.line, "retry." + name, "is a built-in policy; choose another name");
      continue;
    }
    if (value.table() == nullptr) {
      problem(value.line, "retry." + name, fmt::format("is {}; it must be a table", value.kind()));
      continue;
    }
    auto policy = to_retry(value, {});
    if (!policy) {
      problem(value.line, "retry." + name, policy.error().detail);
      continue;
    }
    policy->name = name;
    retries_.push_back(std::move(*policy));
  }
}

void Reader::read_queues(const Value& section) {
  if (section.table() == nullptr)
    return problem(section.line, "queues", "write [queues.NAME] tables");
  const auto fields = queue_fields(retries_);
  for (const auto& [name, value] : *section.table()) {
    const std::string path = "queues." + name;
    if (auto checked = check_name("queue name", name, core::kNameBytesMax); !checked) {
      problem(value.line, path, checked.error().detail);
      continue;
    }
    NamedQueue queue{.name = name, .patch = {}};
    read_section(fields, path, value, queue.patch);
    out_.config.queues.push_back(std::move(queue));
  }
}

void Reader::read_rules(const Value& section) {
  if (section.array() == nullptr)
    return problem(section.line, "rules", "write [[rules]] with when and then");
  std::size_t index = 0;
  for (const Value& item : *section.array()) {
    const std::string path = fmt::format("rules[{}]", index++);
    auto rule = to_rule(item);
    if (!rule) {
      problem(item.line, path, rule.error().detail);
      continue;
    }
    if (rule->name.empty()) rule->name = path;
    out_.config.policy.rules.push_back(std::move(*rule));
  }
}

void Reader::read_pools(const Value& section) {
  if (section.table() == nullptr)
    return problem(section.line, "pools", "write [pools.NAME] tables");
  for (const auto& [name, value] : *section.table()) {
    auto pool = to_pool(name, value);
    if (!pool) {
      problem(value.line, "pools." + name, pool.error().detail);
      continue;
    }
    if (value.table() != nullptr) {
      for (const auto& [key, item] : *value.table()) {
        if (key == "min" || key == "max") {
          problem(item.line, "pools." + name + "." + key,
                  "pools do not scale in this version; concurrency holds", true);
        }
      }
    }
    out_.config.pools.push_back(std::move(*pool));
  }
}

void Reader::read_doors(const Value& section) {
  read_section(door_fields(), "doors", section, out_.config.doors);
}

void Reader::read_file(const Value& root) {
  const Table& sections = *root.table();
  const auto find = [&](std::string_view name) -> const Value* {
    const auto at = std::find_if(sections.begin(), sections.end(),
                                 [&](const auto& s) { return s.key == name; });
    return at == sections.end() ? nullptr : &at->value;
  };
  for (const auto& [name, value] : sections) {
    if (std::find(std::begin(kSections), std::end(kSections), name) == std::end(kSections)) {
      problem(value.line, name, unknown_key(name, {std::begin(kSections), std::end(kSections)}));
    }
  }
  // Policies first: the others name them.
  if (const Value* s = find("retry")) read_retries(*s);
  for (const std::string_view name : {"server", "defaults"}) {
    const Value* s = find(name);
    if (s == nullptr) continue;
    if (s->table() == nullptr) {
      problem(s->line, std::string(name), "must be a table");
      continue;
    }
    for (const auto& [key, value] : *s->table()) {
      const std::string path = fmt::format("{}.{}", name, key);
      name == "server" ? read_server_key(path, key, value) : read_default_key(path, key, value);
    }
  }
  if (const Value* s = find("queues")) read_queues(*s);
  if (const Value* s = find("rules")) read_rules(*s);
  if (const Value* s = find("pools")) read_pools(*s);
  if (const Value* s = find("doors")) read_doors(*s);
}

void Reader::read_environment(const Environment& environment) {
  for (const auto& [name, text] : environment) {
    if (constexpr std::string_view prefix = "WEIR_DOORS_"; name.starts_with(prefix)) {
      set(door_fields(), name, to_lower(name.substr(prefix.size())), {.data = text, .line = 0},
          out_.config.doors);
      continue;
    }
    for (const std::string_view section : {"server", "defaults"}) {
      const std::string prefix = section == "server" ? "WEIR_SERVER_" : "WEIR_DEFAULTS_";
      if (!name.starts_with(prefix)) continue;
      const std::string key = to_lower(name.substr(prefix.size()));
      const Value value{.data = text, .line = 0};
      section == "server" ? read_server_key(name, key, value) : read_default_key(name, key, value);
    }
  }
}

void Reader::finish() {
  out_.config.retry_policies = retries_;
  core::QueueSettings& settings = out_.config.policy.queue_defaults;
  core::apply_patch(server_wide_, settings);
  core::apply_patch(defaults_, settings);
  const auto check = [&](const core::QueueSettings& s, const std::string& path) {
    if (auto checked = core::check_queue_settings(s); !checked)
      problem(1, path, checked.error().detail);
    for (std::string& warning : core::queue_warnings(s)) problem(1, path, std::move(warning), true);
  };
  check(settings, "defaults");
  for (const NamedQueue& queue : out_.config.queues) {
    core::QueueSettings merged = settings;
    core::apply_patch(queue.patch, merged);
    check(merged, "queues." + queue.name);
  }
  const ServerConfig& server = out_.config.server;
  if (server.tls_cert.empty() != server.tls_key.empty()) {
    problem(1, "server.tls_cert", "tls_cert and tls_key belong together; set both or none");
  }
}

}  // namespace

std::string Problem::format() const {
  const std::string place = line > 0 ? fmt::format("{}:{}", file, line) : file;
  return fmt::format("{}: {}{}: {}", place, is_warning ? "warning: " : "", key, text);
}

bool Loaded::is_usable() const {
  return std::all_of(problems.begin(), problems.end(),
                     [](const Problem& p) { return p.is_warning; });
}

Loaded load(std::string_view file, std::string_view text, const Environment& environment) {
  Loaded out;
  Reader reader(out, file);
  if (auto root = read_toml(text)) {
    reader.read_file(*root);
  } else {
    out.problems.push_back(
        {.file = std::string(file), .line = 0, .key = "syntax", .text = root.error().detail});
  }
  reader.read_environment(environment);
  reader.finish();
  return out;
}

std::string reference() {
  std::string text = "[server]\n";
  const auto line = [&](std::string_view key, std::string_view fallback, std::string_view meaning) {
    text += fmt::format("{:<32} # {}\n", fmt::format("{} = {}", key, fallback), meaning);
  };
  for (const auto& field : server_fields()) line(field.key, field.fallback, field.meaning);
  line("durability", "\"sync\"", "the same as defaults.durability");
  text +=
      "\n# Doors for the clients of other systems; each is closed unless it has an "
      "address.\n[doors]\n";
  for (const auto& field : door_fields()) line(field.key, field.fallback, field.meaning);
  text +=
      "\n# What queues get that say nothing else; each key may stand in [queues.NAME] "
      "too.\n[defaults]\n";
  for (const auto& field : queue_fields({})) line(field.key, field.fallback, field.meaning);
  line("auto_create", "true", "may the first enqueue create its queue?");
  text += R"(
# [queues.NAME]  any key of [defaults] but auto_create
# [retry.NAME]   delays = ["1m", "10m"], or base = "1s", factor = 2, cap = "15m"
#                jitter = 0.2, max_attempts = 5
# [[rules]]      when = { class, code, message (* for any run), http_status = "5xx" }
#                then = "retry" or "dead", name
# [pools.NAME]   queues = ["a"], classes = ["P1"], concurrency = 10
#                exec = ["./command"] or post = "https://…"
)";
  return text;
}

}  // namespace weir::config
