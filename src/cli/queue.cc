// SPDX-License-Identifier: Apache-2.0
// weir queue ls|get|set|pause|resume|purge|rm
#include <fmt/format.h>

#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {

std::string queue_path(const std::string& name) {
  return "/v1/queues/" + client::path_segment(name);
}

int list_queues(Session& session) {
  const auto answer = make_client(session)->request("GET", "/v1/queues");
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
    return kExitOk;
  }
  Table table({"QUEUE", "CLASS", "PENDING", "SCHEDULED", "PROCESSING", "FAILED", "DEAD", "OLDEST",
               "STATE"});
  for (const std::string_view queue :
       client::json_elements(client::json_member(*answer, "queues"))) {
    const bool is_paused = field(queue, "paused") == "true";
    const bool is_draining = field(queue, "draining") == "true";
    table.add({field(queue, "name"), field(queue, "class"), field(queue, "counts.pending"),
               field(queue, "counts.scheduled"), field(queue, "counts.processing"),
               field(queue, "counts.failed"), field(queue, "counts.dead"),
               field(queue, "oldest_age"),
               is_paused     ? "paused"
               : is_draining ? "draining"
                             : "open"});
  }
  session.out << table.text();
  return kExitOk;
}

std::string queue_text(std::string_view json) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const char* name : {"name", "class", "paused", "draining"})
    pairs.emplace_back(name, field(json, name));
  for (const char* state : {"scheduled", "pending", "processing", "failed", "blocked", "completed",
                            "dead", "cancelled", "expired"}) {
    pairs.emplace_back(state, field(json, std::string("counts.") + state));
  }
  const std::string policy = field(json, "retry.name");
  pairs.emplace_back("oldest_age", field(json, "oldest_age"));
  pairs.emplace_back("retry", policy.empty() ? field(json, "retry") : policy);
  for (const char* name : {"max_attempts", "lease", "timeout", "ttl", "max_depth", "payload_max",
                           "durability", "claim", "delivery", "order", "completed_retention",
                           "completed_max", "dead_retention", "dead_letter_queue"}) {
    pairs.emplace_back(name, field(json, name));
  }
  return list_text(pairs);
}

int print_queue(Session& session, const Result<std::string>& answer) {
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
  } else {
    session.out << queue_text(*answer);
    for (const std::string_view warning :
         client::json_elements(client::json_member(*answer, "warnings"))) {
      session.err << "weir: " << printable(plain(warning)) << '\n';
    }
  }
  return kExitOk;
}

// "retry=exp2" to "retry":"exp2"; numbers, true, false, null and JSON objects stay what they are.
Result<std::string> settings_json(const std::vector<std::string>& settings) {
  std::string body = "{";
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure(ErrorCode::invalid_argument,
                     fmt::format("\"{}\" is not NAME=VALUE", cut_utf8(setting, 64)));
    }
    const std::string value = setting.substr(equals + 1);
    if (body.back() != '{') body += ',';
    append_json_string(body, setting.substr(0, equals));
    body += ':';
    body += !value.starts_with('"') && client::is_json(value) ? value : json_string(value);
  }
  return body + '}';
}

struct NameFlags {
  std::string name;
  std::vector<std::string> settings;
  bool force = false;
};

Command& add_named(Command& queue, std::string verb, std::string summary,
                   const std::shared_ptr<NameFlags>& flags, std::vector<std::string> examples) {
  Command& command = queue.add(std::move(verb), std::move(summary));
  command.examples = std::move(examples);
  command.add_text("queue", "QUEUE", flags->name, "The queue").required = true;
  return command;
}

int simple_verb(Session& session, const std::string& method, const std::string& path,
                const client::Query& query, std::string_view done) {
  const auto answer = make_client(session)->request(method, path, query);
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, answer->empty() ? "{}" : *answer);
    return kExitOk;
  }
  // Only a purge says how many it took: a deleted queue goes on losing its jobs behind the answer.
  const std::string count = path.ends_with("/purge") ? field(*answer, "removed") : std::string();
  session.out << done << (count.empty() ? "" : fmt::format(": {} jobs", count)) << '\n';
  return kExitOk;
}

}  // namespace

void add_queue(Command& root) {
  Command& queue = root.add("queue", "Look at queues and set them");
  queue.examples = {"weir queue ls", "weir queue set emails retry=exp2 max_depth=1000"};

  Command& ls = queue.add("ls", "List the queues with their counts");
  ls.examples = {"weir queue ls", "weir queue ls --json"};
  ls.run = list_queues;

  auto flags = std::make_shared<NameFlags>();
  add_named(queue, "get", "Show a queue: settings and counts", flags, {"weir queue get emails"})
      .run = [flags](Session& session) {
    return print_queue(session, make_client(session)->request("GET", queue_path(flags->name)));
  };

  flags = std::make_shared<NameFlags>();
  Command& set = add_named(
      queue, "set", "Change settings of a queue; it is created when it is not there", flags,
      {"weir queue set emails retry=exp2 max_depth=1000", "weir queue set emails class=P1 lease=2m",
       "weir queue set emails 'retry={\"delays\":[\"1s\",\"10s\",\"1m\"]}' max_attempts=4"});
  set.add_list("settings", "NAME=VALUE", flags->settings, "Settings; those not named stay")
      .required = true;
  set.run = [flags](Session& session) {
    const Result<std::string> body = settings_json(flags->settings);
    if (!body) return usage(session, body.error().detail);
    const auto client = make_client(session);
    auto answer = client->request("PATCH", queue_path(flags->name), {}, *body);
    // A queue that is not there is made: whoever sets it means it to be.
    if (!answer && answer.error().code == ErrorCode::not_found) {
      answer = client->request("PUT", queue_path(flags->name), {}, *body);
    }
    return print_queue(session, answer);
  };

  flags = std::make_shared<NameFlags>();
  add_named(queue, "pause", "Give no more jobs of this queue", flags, {"weir queue pause emails"})
      .run = [flags](Session& session) {
    return simple_verb(session, "POST", queue_path(flags->name) + "/pause", {}, "paused");
  };
  flags = std::make_shared<NameFlags>();
  add_named(queue, "resume", "Give jobs of this queue again", flags, {"weir queue resume emails"})
      .run = [flags](Session& session) {
    return simple_verb(session, "POST", queue_path(flags->name) + "/resume", {}, "resumed");
  };
  flags = std::make_shared<NameFlags>();
  add_named(queue, "purge", "Remove all waiting jobs of this queue", flags,
            {"weir queue purge emails"})
      .run = [flags](Session& session) {
    return simple_verb(session, "POST", queue_path(flags->name) + "/purge", {}, "purged");
  };
  flags = std::make_shared<NameFlags>();
  Command& rm = add_named(queue, "rm", "Delete a queue", flags,
                          {"weir queue rm emails", "weir queue rm emails --force"});
  rm.add_flag("--force", flags->force, "Also when it has jobs, which go with it");
  rm.run = [flags](Session& session) {
    return simple_verb(session, "DELETE", queue_path(flags->name),
                       {{"force", flags->force ? "1" : ""}}, "deleted");
  };
}

}  // namespace weir::cli
