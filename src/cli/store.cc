// SPDX-License-Identifier: Apache-2.0
// weir store verify|backup|restore
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "server/offline.h"

namespace weir::cli {
namespace {

struct Flags {
  std::string directory, target, data;
};

// The exit code when a directory is another's or no store at all.
constexpr int kExitNotOurs = 73;

int offline_failed(Session& session, const Error& error) {
  const int code = report(session, error);
  return error.code == ErrorCode::conflict || error.code == ErrorCode::not_found ? kExitNotOurs
                                                                                 : code;
}

void print_verified(Session& session, const server::VerifyReport& found) {
  std::vector<std::pair<std::string, std::string>> pairs = {
      {"sound", found.is_sound ? "yes" : "NO"},
      {"commits", fmt::format("{}", found.commits)},
      {"segments", fmt::format("{}", found.segments)},
      {"bytes", format_size(found.bytes)},
  };
  for (const auto& [state, count] : found.jobs_by_state)
    pairs.emplace_back(state, fmt::format("{}", count));
  for (const std::string& note : found.notes) pairs.emplace_back("note", note);
  for (const std::string& problem : found.problems) pairs.emplace_back("DAMAGE", problem);
  session.out << list_text(pairs);
}

void print_verified_json(Session& session, const server::VerifyReport& found) {
  const auto texts = [](const std::vector<std::string>& values) {
    std::string out = "[";
    for (const std::string& value : values)
      out += (out.size() == 1 ? "" : ",") + json_string(value);
    return out + "]";
  };
  std::string jobs = "{";
  for (const auto& [state, count] : found.jobs_by_state) {
    jobs += fmt::format("{}{}:{}", jobs.size() == 1 ? "" : ",", json_string(state), count);
  }
  session.out << fmt::format(
      "{{\"sound\":{},\"commits\":{},\"segments\":{},\"bytes\":{},\"jobs\":{}}},\"notes\":{},"
      "\"problems\":{}}}\n",
      found.is_sound, found.commits, found.segments, found.bytes, jobs, texts(found.notes),
      texts(found.problems));
}

int verify(Session& session, const Flags& flags) {
  const auto found = server::verify_store(flags.directory);
  if (!found) return offline_failed(session, found.error());
  if (session.json) {
    print_verified_json(session, *found);
  } else {
    print_verified(session, *found);
  }
  return found->is_sound ? kExitOk : kExitFailed;
}

int done(Session& session, std::string_view text) {
  session.out << (session.json ? "{\"status\":\"ok\"}" : text) << '\n';
  return kExitOk;
}

int backup(Session& session, const Flags& flags) {
  if (!flags.data.empty()) {
    const auto copied = server::backup_store(flags.data, flags.target);
    if (!copied) return offline_failed(session, copied.error());
    return done(session, "backed up");
  }
  // The server writes it, so the path is the server's: a relative one is meant from here.
  const std::string target = std::filesystem::absolute(flags.target).lexically_normal().string();
  const auto answer = make_client(session)->request("POST", "/v1/store/backup", {},
                                                    "{\"to\":" + json_string(target) + "}");
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
    return kExitOk;
  }
  return done(session, "backed up to " + target);
}

}  // namespace

void add_store(Command& root) {
  Command& store = root.add("store", "Verify, back up and restore a store");
  store.examples = {"weir store verify ./weir-data", "weir store backup /backup/weir-monday"};

  auto flags = std::make_shared<Flags>();
  Command& verify_command =
      store.add("verify", "Read a stopped store and say whether it is sound; changes nothing");
  verify_command.examples = {"weir store verify ./weir-data",
                             "weir store verify /backup/weir-monday --json"};
  verify_command.add_text("directory", "DIR", flags->directory, "Data directory or backup")
      .required = true;
  verify_command.run = [flags](Session& session) { return verify(session, *flags); };

  flags = std::make_shared<Flags>();
  Command& backup_command = store.add("backup", "Write one consistent copy of a store");
  backup_command.details =
      "Asks the running server, which goes on serving; with --data it copies a stopped store "
      "itself.";
  backup_command.examples = {"weir store backup /backup/weir-monday",
                             "weir store backup /backup/weir-monday --data ./weir-data"};
  backup_command.add_text("target", "TARGET", flags->target, "Empty or absent directory").required =
      true;
  backup_command.add_text("--data", "DIR", flags->data, "Copy this stopped store");
  backup_command.run = [flags](Session& session) { return backup(session, *flags); };

  flags = std::make_shared<Flags>();
  Command& restore = store.add("restore", "Make a store of a backup");
  restore.details = "Fences and ids move on, so that leases from before the backup are refused.";
  restore.examples = {"weir store restore /backup/weir-monday ./weir-data"};
  restore.add_text("backup", "BACKUP", flags->directory, "The backup").required = true;
  restore.add_text("directory", "DIR", flags->target, "Empty or absent data directory").required =
      true;
  restore.run = [flags](Session& session) {
    const auto restored = server::restore_store(flags->directory, flags->target);
    if (!restored) return offline_failed(session, restored.error());
    return done(session, "restored");
  };
}

}  // namespace weir::cli
