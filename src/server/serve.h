// SPDX-License-Identifier: Apache-2.0
// `weir serve`: wires store, engine, doors and probes together, and runs until it is told to stop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "config/config.h"

namespace weir::server {

// What the command line says; set fields win over variables and file.
struct ServeOptions {
  std::string config_file;  // empty: none
  std::optional<std::string> data;
  std::optional<std::string> store;  // journal | memory | postgres://…
  std::optional<std::string> listen;
  std::optional<std::string> probe_listen;
  std::optional<bool> insecure_plaintext;
  config::Environment environment;  // WEIR_* and STATE_DIRECTORY, NOTIFY_SOCKET
  // Called with the addresses bound once the server is ready (tests). May be empty.
  std::function<void(const std::string& listen, const std::string& probe_listen)> on_ready;
};

// Runs the server on the calling thread. Returns the exit code of the process: 0 after a graceful
// stop, 1 failed to start, 73 data directory locked or not ours, 74 failed write or sync, 78 bad
// configuration, 130/143 second signal. Problems are logged; configuration problems go to stderr
// one a line, as `weir check` prints them.
int serve(const ServeOptions& options);

// The configuration that `options` add up to, with every problem. A file that can't be read is a
// problem too.
config::Loaded load_configuration(const ServeOptions& options);

// Why this configuration must not listen as it says (beyond loopback without tokens and TLS), or
// empty.
std::string listening_problem(const config::ServerConfig& server, bool has_tokens);

// The same for a door whose protocol has neither tokens nor TLS: loopback or a unix socket.
std::string door_problem(std::string_view key, const std::string& address);

}  // namespace weir::server
