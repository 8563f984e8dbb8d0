// SPDX-License-Identifier: Apache-2.0
// weir job ls|get|cancel|promote|replay|delete
#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/option_values.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {

struct ListFlags {
  std::string queue, status, kind, tag, group, unique_key, limit;
  bool all = false;
};

int list_jobs(Session& session, const ListFlags& flags) {
  const auto limit = count_option("--limit", flags.limit, 1, 1'000'000'000);
  if (!limit) return usage(session, limit.error().detail);
  return print_jobs(session, "/v1/jobs",
                    {{"queue", flags.queue},
                     {"status", flags.status},
                     {"kind", flags.kind},
                     {"tag", flags.tag},
                     {"group", flags.group},
                     {"unique_key", flags.unique_key}},
                    flags.all ? kNoLimit : limit->value_or(kListLimit));
}

void add_ls(Command& job) {
  Command& command = job.add("ls", "List jobs");
  const auto flags = std::make_shared<ListFlags>();
  command.examples = {"weir job ls --queue emails --status failed",
                      "weir job ls --tag nightly --all --json"};
  command.add_text("--queue", "QUEUE", flags->queue, "Of this queue");
  command.add_text("--status", "STATUS", flags->status, "In this state").choices = {
      "scheduled", "pending", "processing", "failed", "blocked",
      "completed", "dead",    "cancelled",  "expired"};
  command.add_text("--kind", "KIND", flags->kind, "Of this kind");
  command.add_text("--tag", "TAG", flags->tag, "With this tag");
  command.add_text("--group", "GROUP", flags->group, "Of this group");
  command.add_text("--unique-key", "KEY", flags->unique_key, "With this unique key");
  command.add_text("--limit", "N", flags->limit,
                   fmt::format("At most so many (default {})", kListLimit));
  command.add_flag("--all", flags->all, "All of them");
  command.run = [flags](Session& session) { return list_jobs(session, *flags); };
}

struct GetFlags {
  std::string id, wait;
  bool history = false;
};

void add_get(Command& job) {
  Command& command = job.add("get", "Show a job");
  const auto flags = std::make_shared<GetFlags>();
  command.details =
      "With --wait it shows the job once it has ended, with its result, or as it is when the time "
      "is over.";
  command.examples = {"weir job get 4242", "weir job get 4242 --history",
                      "weir job get 4242 --wait 30s --json"};
  command.add_text("id", "ID", flags->id, "The job").required = true;
  command.add_flag("--history", flags->history, "With every attempt");
  command.add_text("--wait", "DURATION", flags->wait, "Wait so long for its end (at most 60s)");
  command.run = [flags](Session& session) {
    // The server hangs for less than the client's own patience.
    return print_job(session, flags->id,
                     {{"history", flags->history ? "1" : ""}, {"wait", flags->wait}});
  };
}

struct VerbFlags {
  std::vector<std::string> ids;
  std::string reason;
};

// A verb on one or several jobs, one request each; goes on after a refusal and ends with the first
// one's exit code.
struct Verb {
  std::string method;
  std::string suffix;  // "/cancel"
  bool takes_reason = false;
  std::string done;  // what is printed when the answer says nothing
};

void add_verb(Command& job, const std::string& name, const std::string& summary, const Verb& verb,
              std::vector<std::string> examples) {
  Command& command = job.add(name, summary);
  const auto flags = std::make_shared<VerbFlags>();
  command.examples = std::move(examples);
  command.add_list("id", "ID", flags->ids, "The job, or several").required = true;
  if (verb.takes_reason)
    command.add_text("--reason", "TEXT", flags->reason, "Why, kept with the job");
  command.run = [flags, verb](Session& session) {
    return each_job(session, flags->ids, verb.method, verb.suffix, flags->reason, verb.done);
  };
}

}  // namespace

void add_job(Command& root) {
  Command& job = root.add("job", "Look at jobs and move them");
  job.examples = {"weir job ls --queue emails", "weir job get 4242 --history"};
  add_ls(job);
  add_get(job);
  add_verb(job, "cancel", "Cancel a job that has not ended; a running one is told",
           {.method = "POST", .suffix = "/cancel", .takes_reason = true, .done = "cancelled"},
           {"weir job cancel 4242 --reason 'wrong address'"});
  add_verb(job, "promote", "Make a scheduled or failed job claimable now",
           {.method = "POST", .suffix = "/promote", .done = "pending"}, {"weir job promote 4242"});
  add_verb(job, "replay", "Give a dead, cancelled or expired job its attempts anew",
           {.method = "POST", .suffix = "/replay", .takes_reason = true, .done = "pending"},
           {"weir job replay 4242 --reason 'receiver is back'"});
  add_verb(job, "delete", "Remove a job with its history",
           {.method = "DELETE", .suffix = "", .done = "deleted"}, {"weir job delete 4242"});
}

}  // namespace weir::cli
