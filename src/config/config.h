// SPDX-License-Identifier: Apache-2.0
// weir.toml: what it may say, its defaults, and its checks. Flags win over variables
// (WEIR_SERVER_LISTEN style) over the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/decide.h"
#include "core/queue/queue.h"

namespace weir::config {

enum class StoreKind : std::uint8_t { journal, memory };
enum class TokenMode : std::uint8_t {
  automatic,  // open on loopback until the first token is made
  required    // closed from the start; the first start prints one admin token
};

// Value. [server]
struct ServerConfig {
  std::string listen = "127.0.0.1:7350";
  std::string probe_listen = "127.0.0.1:7351";  // empty: no probe listener
  std::string data;                             // empty: $STATE_DIRECTORY, else ./weir-data
  StoreKind store = StoreKind::journal;
  std::int64_t shutdown_grace_ms = 30'000;
  TokenMode tokens = TokenMode::automatic;
  std::string tls_cert;
  std::string tls_key;
  bool insecure_plaintext = false;
  std::vector<std::string> allowed_hosts;    // besides localhost and loopback addresses
  std::vector<std::string> allowed_origins;  // other web origins that may call
  std::uint64_t disk_max_bytes = 0;          // 0: as much as there is
  std::uint64_t cache_bytes = 64ULL << 20;
};

// Value. [doors]; an empty address: that door is not open.
struct DoorsConfig {
  std::string beanstalk;  // "host:port" or "unix:/path"
  std::uint64_t beanstalk_job_max_bytes = 65'535;
};

// Value. [pools.NAME], for `weir work --pool NAME`.
struct PoolConfig {
  std::string name;
  std::vector<std::string> queues;
  std::vector<core::PriorityClass> classes;
  std::uint32_t concurrency = 10;
  std::vector<std::string> exec;  // argv, or
  std::string post;               // URL
};

struct NamedQueue {
  std::string name;
  core::QueuePatch patch;
};

// Value.
struct Config {
  ServerConfig server;
  DoorsConfig doors;
  core::Policy policy;             // [defaults] and [[rules]]
  std::vector<NamedQueue> queues;  // [queues.NAME], put at every start
  std::vector<PoolConfig> pools;
  std::vector<core::RetryPolicy> retry_policies;  // [retry.NAME]
};

// Something that the file says and should not. Value.
struct Problem {
  std::string file;  // or "environment"
  int line = 0;
  std::string key;   // dotted
  std::string text;  // what is wrong and what would be right
  bool is_warning = false;

  std::string format() const;  // "weir.toml:12: server.listne: unknown key; did you mean listen?"
};

struct Loaded {
  Config config;
  std::vector<Problem> problems;
  bool is_usable() const;  // no problem but warnings
};

using Environment = std::map<std::string, std::string, std::less<>>;

// Reads `text` of the file `file` (both empty: no file) and the WEIR_* variables of `environment`.
Loaded load(std::string_view file, std::string_view text, const Environment& environment);

// A page of TOML with every key, its default and what it means (named tables as comments); `weir
// check --defaults` prints it.
std::string reference();

}  // namespace weir::config
