// SPDX-License-Identifier: Apache-2.0
// weir serve: the server, with what the command line says over variables and file.
#include "server/serve.h"

#include <memory>

#include "cli/commands.h"
#include "cli/environment.h"

namespace weir::cli {
namespace {

struct Flags {
  std::string config, data, store, listen, probe_listen;
  bool insecure = false;
};

std::optional<std::string> given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

}  // namespace

void add_serve(Command& root) {
  Command& command = root.add("serve", "Run the server");
  const auto flags = std::make_shared<Flags>();
  command.details =
      "Listens on loopback unless told otherwise; a wider address needs tokens and TLS, or "
      "--insecure-plaintext.\n"
      "TERM and INT stop gracefully, a second one at once; HUP reads certificates and "
      "configuration again.";
  command.examples = {"weir serve", "weir serve --data /var/lib/weir --listen 127.0.0.1:7350",
                      "weir serve --config /etc/weir/weir.toml"};
  command.add_text("--config", "FILE", flags->config, "Configuration, weir.toml").variable =
      "WEIR_CONFIG";
  command.add_text("--data", "DIR", flags->data,
                   "Data directory (default: $STATE_DIRECTORY or ./weir-data)");
  command.add_text("--store", "STORE", flags->store,
                   "journal (default), or memory, which forgets all at the end");
  command.add_text("--listen", "ADDRESS", flags->listen,
                   "Where to listen (default 127.0.0.1:7350)");
  command.add_text("--probe-listen", "ADDRESS", flags->probe_listen,
                   "Where probes and metrics listen (default 127.0.0.1:7351)");
  command.add_flag("--insecure-plaintext", flags->insecure, "Allow a wider address without TLS");
  command.run = [flags](Session&) {
    server::ServeOptions options;
    options.config_file = flags->config;
    options.data = given(flags->data);
    options.store = given(flags->store);
    options.listen = given(flags->listen);
    options.probe_listen = given(flags->probe_listen);
    if (flags->insecure) options.insecure_plaintext = true;
    options.environment = process_environment();
    return server::serve(options);
  };
}

}  // namespace weir::cli
