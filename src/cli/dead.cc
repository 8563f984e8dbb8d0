// SPDX-License-Identifier: Apache-2.0
// weir dead ls|show|replay: the dead letters.
#include <fmt/format.h>

#include <memory>

#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/option_values.h"

namespace weir::cli {
namespace {

struct Flags {
  std::string queue, limit, reason, id;
  std::vector<std::string> ids;
  bool all = false;
};

}  // namespace

void add_dead(Command& root) {
  Command& dead = root.add("dead", "Look at dead letters and replay them");
  dead.examples = {"weir dead ls emails", "weir dead show 4242",
                   "weir dead replay 4242 --reason 'fixed'"};

  auto flags = std::make_shared<Flags>();
  Command& ls = dead.add("ls", "List dead jobs with their reasons");
  ls.examples = {"weir dead ls", "weir dead ls emails --all --json"};
  ls.add_text("queue", "QUEUE", flags->queue, "Of this queue only");
  ls.add_text("--limit", "N", flags->limit,
              fmt::format("At most so many (default {})", kListLimit));
  ls.add_flag("--all", flags->all, "All of them");
  ls.run = [flags](Session& session) {
    const auto limit = count_option("--limit", flags->limit, 1, 1'000'000'000);
    if (!limit) return usage(session, limit.error().detail);
    const std::uint64_t most = flags->all ? kNoLimit : limit->value_or(kListLimit);
    if (flags->queue.empty()) return print_jobs(session, "/v1/jobs", {{"status", "dead"}}, most);
    return print_jobs(session, "/v1/queues/" + client::path_segment(flags->queue) + "/dead", {},
                      most);
  };

  flags = std::make_shared<Flags>();
  Command& show = dead.add("show", "Show a dead job with its payload and every attempt");
  show.examples = {"weir dead show 4242"};
  show.add_text("id", "ID", flags->id, "The job").required = true;
  show.run = [flags](Session& session) {
    return print_job(session, flags->id, {{"history", "1"}});
  };

  flags = std::make_shared<Flags>();
  Command& replay = dead.add("replay", "Give dead jobs their attempts anew");
  replay.examples = {"weir dead replay 4242 --reason 'receiver is back'",
                     "weir dead replay 4242 4243"};
  replay.add_list("id", "ID", flags->ids, "The job, or several").required = true;
  replay.add_text("--reason", "TEXT", flags->reason, "Why, kept with the job");
  replay.run = [flags](Session& session) {
    return each_job(session, flags->ids, "POST", "/replay", flags->reason, "pending");
  };
}

}  // namespace weir::cli
