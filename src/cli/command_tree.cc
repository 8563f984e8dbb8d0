// SPDX-License-Identifier: Apache-2.0
// The root of the commands and the options that all of them have.
#include "cli/commands.h"

namespace weir::cli {

std::unique_ptr<Command> command_tree(Session& session) {
  auto root = std::make_unique<Command>();
  root->name = "weir";
  root->summary = "weir, a durable job queue: server, workers and tools in one program.";
  root->details =
      "Exit codes: 0 ok, 1 failed, 2 usage, 65 bad data, 69 server not reachable, 73 data "
      "directory in use,\n"
      "74 failed write, 75 saturated (try later), 77 not allowed, 78 bad configuration.";
  root->examples = {
      "weir serve --data ./weir-data",
      "weir enqueue emails '{\"to\":\"a@example.org\"}' --kind welcome",
      "weir work --queue emails --exec ./send-email",
      "weir job ls --queue emails --status dead",
  };
  root->add_text("--url", "URL", session.url, "The server").variable = "WEIR_URL";
  root->add_text("--token", "TOKEN", session.token, "API token").variable = "WEIR_TOKEN";
  root->add_text("--ca", "FILE", session.ca,
                 "Certificates to trust for https (default: the system's)")
      .variable = "WEIR_CA";
  root->add_flag("--json", session.json, "Print JSON, as the server gave it");
  Option& format =
      root->add_text("--log-format", "FORMAT", session.log_format, "Form of log lines on stderr");
  format.choices = {"text", "json"};
  format.variable = "WEIR_LOG_FORMAT";
  Option& level =
      root->add_text("--log-level", "LEVEL", session.log_level, "Least level that is logged");
  level.choices = {"debug", "info", "warning", "error"};
  level.variable = "WEIR_LOG_LEVEL";

  add_serve(*root);
  add_enqueue(*root);
  add_work(*root);
  add_job(*root);
  add_queue(*root);
  add_dead(*root);
  add_events(*root);
  add_token(*root);
  add_store(*root);
  add_check(*root);
  add_completion(*root);
  add_version(*root);
  return root;
}

}  // namespace weir::cli
