// SPDX-License-Identifier: Apache-2.0
// weir work: runs jobs by a command or by posting them, until it is told to stop or the queues are
// empty.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>

#include "base/digest.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/work_signals.h"
#include "config/config.h"
#include "worker/exec_handler.h"
#include "worker/post_handler.h"
#include "worker/runtime.h"
#include "worker/webhook_signature.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kConcurrencyMax = 1'000;
constexpr std::int64_t kLeaseMsMin = 1'000;
constexpr std::int64_t kLookMs = 100;  // how often the end of the work is looked for

struct Flags {
  std::vector<std::string> queues, classes, kinds, exec, pass_environment;
  std::string concurrency, lease, timeout, grace, kill_after, post, secret_file, worker_id, pool,
      config;
  bool drain = false, result = false, quiet = false, no_new_privs = false, allow_private = false;
};

// Everything that a run of the worker is made of.
struct Plan {
  worker::Options options;
  std::int64_t kill_after_ms = 5'000;
};

std::string default_worker_id() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) return fmt::format("worker:{}", getpid());
  return fmt::format("{}:{}", host.data(), getpid());
}

// [pools.NAME] of the configuration fills what the command line leaves open.
Result<void> take_pool(Flags& flags) {
  if (flags.pool.empty()) return {};
  const std::string file = flags.config.empty() ? "weir.toml" : flags.config;
  std::ifstream in(file, std::ios::binary);
  if (!in) return failure(ErrorCode::not_found, "cannot read " + file);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const config::Loaded loaded = config::load(file, text, {});
  for (const config::Problem& problem : loaded.problems) {
    if (!problem.is_warning) return failure(ErrorCode::invalid_argument, problem.format());
  }
  for (const config::PoolConfig& pool : loaded.config.pools) {
    if (pool.name != flags.pool) continue;
    if (flags.queues.empty()) flags.queues = pool.queues;
    if (flags.classes.empty()) {
      for (const auto priority_class : pool.classes)
        flags.classes.emplace_back(core::to_string(priority_class));
    }
    if (flags.concurrency.empty()) flags.concurrency = fmt::format("{}", pool.concurrency);
    if (flags.exec.empty() && flags.post.empty()) {
      flags.exec = pool.exec;
      flags.post = pool.post;
    }
    return {};
  }
  return failure(ErrorCode::not_found, fmt::format("{} has no [pools.{}]", file, flags.pool));
}

Result<Plan> plan_of(const Flags& flags) {
  if (flags.queues.empty()) return failure(ErrorCode::invalid_argument, "--queue is needed");
  if (flags.classes.size() > 1) {
    return failure(ErrorCode::invalid_argument,
                   "--class takes one class: slots are never shared between classes. Leave it out "
                   "for a pool of each "
                   "class, or start a worker for each");
  }
  if (flags.exec.empty() == flags.post.empty()) {
    return failure(ErrorCode::invalid_argument, "one of --exec CMD ARG… and --post URL is needed");
  }
  if (flags.exec.empty() &&
      (flags.result || flags.quiet || flags.no_new_privs || !flags.pass_environment.empty())) {
    return failure(ErrorCode::invalid_argument,
                   "--result, --quiet, --env and --no-new-privs go with --exec");
  }
  if (flags.post.empty() && (flags.allow_private || !flags.secret_file.empty())) {
    return failure(ErrorCode::invalid_argument, "--allow-private and --secret-file go with --post");
  }
  Plan plan;
  worker::Options& options = plan.options;
  options.queues = flags.queues;
  options.kinds = flags.kinds;
  if (!flags.classes.empty()) options.pool_classes = flags.classes;
  options.drain = flags.drain;
  options.worker_id = flags.worker_id.empty() ? default_worker_id() : flags.worker_id;
  options.seed = secure_random_u64();
  WEIR_TRY_ASSIGN(const auto concurrency,
                  count_option("--concurrency", flags.concurrency, 1, kConcurrencyMax));
  WEIR_TRY_ASSIGN(const auto lease_ms, duration_option("--lease", flags.lease));
  WEIR_TRY_ASSIGN(const auto timeout_ms, duration_option("--timeout", flags.timeout));
  WEIR_TRY_ASSIGN(const auto grace_ms, duration_option("--grace", flags.grace));
  WEIR_TRY_ASSIGN(const auto kill_after_ms, duration_option("--kill-after", flags.kill_after));
  options.concurrency = concurrency.value_or(options.concurrency);
  options.lease_ms = lease_ms.value_or(options.lease_ms);
  options.timeout_ms = timeout_ms.value_or(0);
  options.grace_ms = grace_ms.value_or(options.grace_ms);
  plan.kill_after_ms = kill_after_ms.value_or(plan.kill_after_ms);
  if (options.lease_ms < kLeaseMsMin)
    return failure(ErrorCode::invalid_argument, "--lease must be at least 1s");
  return plan;
}

// The signing key from --secret-file or WEIR_WEBHOOK_SECRET; empty when there is neither.
Result<std::string> signing_key(Session& session, const Flags& flags) {
  std::string text;
  if (!flags.secret_file.empty()) {
    std::ifstream file(flags.secret_file, std::ios::binary);
    if (!file) return failure(ErrorCode::not_found, "cannot read " + flags.secret_file);
    text.assign(std::istreambuf_iterator<char>(file), {});
  } else if (const auto value = session.environment("WEIR_WEBHOOK_SECRET")) {
    text = *value;
  }
  if (trim(text).empty()) return std::string();
  return worker::parse_webhook_secret(text);
}

// What runs the jobs, with what it needs to live.
struct Tools {
  client::HttpTransport transport;  // of --post
  std::unique_ptr<worker::Handler> handler;
};

Result<void> make_handler(Session& session, const Flags& flags, const Plan& plan, Tools& tools) {
  if (flags.post.empty()) {
    const std::string path = session.environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
    WEIR_TRY(worker::find_program(flags.exec.front(), path));
    worker::ExecOptions options{.argv = flags.exec,
                                .pass_environment = flags.pass_environment,
                                .take_result = flags.result,
                                .discard_output = flags.quiet,
                                .no_new_privileges = flags.no_new_privs,
                                .kill_after_ms = plan.kill_after_ms};
    tools.handler = std::make_unique<worker::ExecHandler>(std::move(options), session.clock);
    return {};
  }
  if (!flags.post.starts_with("http://") && !flags.post.starts_with("https://")) {
    return failure(ErrorCode::invalid_argument, "--post needs an http:// or https:// URL");
  }
  WEIR_TRY_ASSIGN(std::string key, signing_key(session, flags));
  worker::PostOptions options{
      .url = flags.post, .signing_key = std::move(key), .ca_file = session.ca};
  // A post may take as long as its attempt.
  options.timeout_ms = plan.options.timeout_ms > 0 ? plan.options.timeout_ms : options.timeout_ms;
  if (flags.allow_private) options.addresses = net::AddressPolicy::any;
  tools.handler =
      std::make_unique<worker::PostHandler>(std::move(options), tools.transport, session.clock);
  return {};
}

// Runs until the end of the work. The first signal stops gracefully, the second at once.
int run_worker(Session& session, const Plan& plan, worker::Handler& handler, StopSignals& signals) {
  client::Options client_options;
  client_options.urls = split(session.url, ',');
  client_options.token = session.token;
  client_options.ca_file = session.ca;
  // A call that hangs must leave time for another before a lease ends.
  client_options.timeout_ms = std::clamp<std::int64_t>(plan.options.lease_ms / 3, 2'000, 30'000);
  client::Client client(std::move(client_options));
  worker::Runtime runtime(plan.options, client, handler, session.clock);
  log::info("worker started",
            {log::field("worker", plan.options.worker_id),
             log::field("queues", fmt::format("{}", fmt::join(plan.options.queues, ","))),
             log::field("pools", fmt::format("{}", fmt::join(plan.options.pool_classes, ","))),
             log::field("concurrency", std::uint64_t{plan.options.concurrency})});
  runtime.start();
  bool is_stopping = false;
  while (!runtime.wait_ended(0)) {
    const int signal_number = signals.wait(kLookMs);
    if (signal_number == 0) continue;
    if (is_stopping) {
      log::warning("second signal, exiting at once",
                   {log::field("running", std::uint64_t{runtime.running()})});
      runtime.kill();
      log::flush();
      _exit(128 +
            signal_number);  // threads still run: nothing of theirs may be taken down under them
    }
    is_stopping = true;
    runtime.request_stop();
  }
  const Result<void> ended = runtime.join();
  log::flush();
  return ended ? kExitOk : report(session, ended.error());
}

int work(Session& session, Flags flags) {
  if (const Result<void> taken = take_pool(flags); !taken) {
    report(session, taken.error());
    return kExitBadConfiguration;
  }
  const Result<Plan> plan = plan_of(flags);
  if (!plan) return usage(session, plan.error().detail);
  Tools tools;
  if (const Result<void> made = make_handler(session, flags, *plan, tools); !made) {
    report(session, made.error());
    return kExitBadConfiguration;
  }
  StopSignals signals;
  return run_worker(session, *plan, *tools.handler, signals);
}

}  // namespace

void add_work(Command& root) {
  Command& command = root.add("work", "Run jobs by a command or by posting them");
  const auto flags = std::make_shared<Flags>();
  command.details =
      "--exec runs CMD ARG… for each job, without a shell; put it last, everything behind it "
      "belongs to it. The payload\n"
      "comes on stdin, WEIR_JOB_ID, WEIR_QUEUE, WEIR_KIND, WEIR_ATTEMPT, WEIR_MAX_ATTEMPTS, "
      "WEIR_FENCE, WEIR_LEASE_TOKEN\n"
      "and WEIR_DEADLINE in the environment. Exit 0 acks, 75 retries, 65 (bad data) and 78 "
      "(configuration) are dead at\n"
      "once, any other code fails by the retry rules. Seconds written to $WEIR_RETRY_AFTER_FILE "
      "set the next attempt.\n"
      "The last 64 KiB of stderr become the error message.\n\n"
      "--post sends the payload to URL, signed when there is a secret (whsec_…). 2xx acks, 408, "
      "425, 429, 5xx and network\n"
      "errors are retried, other 4xx are dead.\n\n"
      "Without --class there is a pool of --concurrency slots for each class, P0 to P4. TERM and "
      "INT stop gracefully:\n"
      "what runs may finish within --grace, the rest is given back; a second signal ends at once.";
  command.examples = {
      "weir work --queue emails --exec ./send-email --verbose",
      "weir work --queue emails,reports --class P0 --concurrency 20 --exec python3 handler.py",
      "weir work --queue hooks --post https://example.org/hook --secret-file /etc/weir/hook.secret",
      "weir work --queue emails --drain --exec ./send-email",
  };
  Option& queue =
      command.add_list("--queue", "QUEUE[,QUEUE]", flags->queues, "Queues to take jobs from");
  queue.splits = true;
  Option& priority_class =
      command.add_list("--class", "CLASS", flags->classes, "One pool, for this class only");
  priority_class.splits = true;
  priority_class.choices = {"P0", "P1", "P2", "P3", "P4"};
  command.add_list("--kind", "KIND[,KIND]", flags->kinds, "Take these kinds only").splits = true;
  command.add_text("--concurrency", "N", flags->concurrency, "Slots of each pool (default 10)");
  command.add_text("--lease", "DURATION", flags->lease,
                   "Length of a lease; it is extended while a job runs (default 60s)");
  command.add_text("--timeout", "DURATION", flags->timeout,
                   "Longest run of an attempt, besides the job's own");
  command.add_text("--grace", "DURATION", flags->grace,
                   "Time to finish when stopping (default 30s)");
  command.add_flag("--drain", flags->drain,
                   "Exit once the queues are empty, retries and scheduled jobs included");
  command.add_text("--worker-id", "NAME", flags->worker_id,
                   "Name shown with jobs (default HOST:PID)");
  command.add_text("--pool", "NAME", flags->pool,
                   "Take what is not given here from [pools.NAME] of the configuration");
  command
      .add_text("--config", "FILE", flags->config,
                "The configuration of --pool (default weir.toml)")
      .variable = "WEIR_CONFIG";
  command.add_text("--post", "URL", flags->post, "Post each job to this URL");
  command.add_text("--secret-file", "FILE", flags->secret_file,
                   "Secret to sign with (or $WEIR_WEBHOOK_SECRET)");
  command.add_flag("--allow-private", flags->allow_private,
                   "Let --post reach addresses that are not public");
  command.add_flag("--result", flags->result,
                   "Keep what the command prints (JSON) as the job's result");
  command.add_flag("--quiet", flags->quiet, "Show nothing of the command's output");
  command.add_list("--env", "NAME", flags->pass_environment,
                   "Pass this variable on to the command");
  command.add_flag("--no-new-privs", flags->no_new_privs, "Set-user-id programs gain nothing");
  command.add_text("--kill-after", "DURATION", flags->kill_after,
                   "Between TERM and KILL (default 5s)");
  command.options.push_back({.name = "--exec",
                             .value_name = "CMD ARG…",
                             .help = "Run this command for each job; must come last",
                             .kind = OptionKind::rest,
                             .list = &flags->exec});
  command.run = [flags](Session& session) { return work(session, *flags); };
}

}  // namespace weir::cli
