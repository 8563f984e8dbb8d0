// SPDX-License-Identifier: Apache-2.0
// One round of the loop is one turn of the engine is one commit; see docs/architecture.md.
#include "server/serve.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/clock.h"
#include "base/digest.h"
#include "base/log.h"
#include "doors/auth.h"
#include "doors/beanstalk/beanstalk_door.h"
#include "doors/http/http_door.h"
#include "engine/engine.h"
#include "net/event_loop.h"
#include "net/http_server.h"
#include "net/stream_server.h"
#include "server/listen_rule.h"
#include "server/open_store.h"
#include "server/probes.h"
#include "server/process_facts.h"
#include "server/sd_notify.h"

namespace weir::server {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitLocked = 73;
constexpr int kExitStoreFailed = 74;
constexpr int kExitConfiguration = 78;
constexpr std::int64_t kRoundMsMax =
    10'000;  // the longest that the loop waits: watchdog and metrics go on

int exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::conflict:
      return kExitLocked;
    case ErrorCode::corruption:
    case ErrorCode::io_error:
    case ErrorCode::store_full:
      return kExitStoreFailed;
    case ErrorCode::unsupported:
      return kExitLocked;
    default:
      return kExitFailed;
  }
}

std::string lookup(const config::Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

// The running server: everything that lives from the start to the end of the loop.
class Server {
 public:
  Server(ServeOptions options, config::Config config, std::unique_ptr<store::Store> store)
      : options_(std::move(options)),
        config_(std::move(config)),
        store_(std::move(store)),
        notify_socket_(lookup(options_.environment, "NOTIFY_SOCKET")),
        engine_(*store_, clock_, engine::Options{.policy = config_.policy}),
        probes_(engine_.published()) {}

  int run();

 private:
  Result<void> prepare();
  Result<void> listen();
  Result<std::string> open_beanstalk();
  Result<void> release_connections();
  Result<core::Answer> ask(core::Command command);
  Result<void> put_configured_queues();
  Result<void> ensure_first_token();
  int loop();
  void begin_drain(int signal_number);
  void reload();
  bool is_drained() const;
  std::int64_t wait_ms(bool has_more) const;
  doors::HttpDoorOptions door_options();

  ServeOptions options_;
  config::Config config_;
  SystemClock clock_;
  std::unique_ptr<store::Store> store_;
  std::string notify_socket_;
  net::EventLoop loop_;
  engine::Engine engine_;
  std::unique_ptr<doors::HttpDoor> door_;
  std::unique_ptr<net::HttpServer> http_;
  std::unique_ptr<doors::BeanstalkDoor> beanstalk_door_;
  std::unique_ptr<net::StreamServer> beanstalk_;
  Probes probes_;
  std::int64_t drain_until_ms_ = 0;  // boot time; 0: serving
};

// Puts one command and runs turns until it is answered; only before the listener is open.
Result<core::Answer> Server::ask(core::Command command) {
  std::optional<core::Answer> answer;
  core::Request request{
      .command = std::move(command), .principal = {.id = "server"}, .idempotency = std::nullopt};
  WEIR_TRY(
      engine_.submit(std::move(request), [&answer](core::Answer got) { answer = std::move(got); }));
  while (!answer) WEIR_TRY(engine_.run_turn());
  if (const auto* refusal = std::get_if<Error>(&answer->outcome)) return failure(*refusal);
  return *answer;
}

Result<void> Server::put_configured_queues() {
  for (const config::NamedQueue& queue : config_.queues) {
    WEIR_TRY(ask(core::PutQueue{.queue = queue.name, .patch = queue.patch, .replace = false}));
  }
  return {};
}

Result<void> Server::ensure_first_token() {
  if (config_.server.tokens != config::TokenMode::required || engine_.has_tokens()) return {};
  const doors::TokenWish wish{.name = "first", .scopes = doors::scope_bit(core::Scope::admin)};
  const doors::NewToken made = doors::make_token(wish, clock_.wall_now(), "server");
  WEIR_TRY(ask(core::PutToken{.token = made.token}));
  // Not a log line: logs are kept and shipped, a secret is shown once.
  std::fprintf(stderr, "first admin token (shown only now): %s\n", made.text.c_str());
  return {};
}

Result<void> Server::prepare() {
  // Before anybody is told that the server is ready: whoever is told may send a signal at once.
  loop_.on_signal(SIGTERM, [this] { begin_drain(SIGTERM); });
  loop_.on_signal(SIGINT, [this] { begin_drain(SIGINT); });
  loop_.on_signal(SIGHUP, [this] { reload(); });
  // As beanstalkd: producers go elsewhere, workers empty the tubes.
  loop_.on_signal(SIGUSR1, [this] {
    if (beanstalk_door_) beanstalk_door_->drain();
  });
  WEIR_TRY(engine_.start());
  WEIR_TRY(put_configured_queues());
  WEIR_TRY(ensure_first_token());
  return listen();
}

doors::HttpDoorOptions Server::door_options() {
  doors::HttpDoorOptions door;
  door.allowed_hosts = config_.server.allowed_hosts;
  door.allowed_origins = config_.server.allowed_origins;
  door.is_loopback = is_loopback_address(config_.server.listen);
  door.tokens_required = config_.server.tokens == config::TokenMode::required;
  door.started_at = clock_.wall_now();
  door.clock = &clock_;
  const bool is_sync = config_.policy.queue_defaults.durability == core::Durability::sync;
  door.durability = is_sync ? "sync" : "interval";
  door.retry_policies = config_.retry_policies;
  door.after = [this](std::int64_t delay_ms, std::function<void()> task) {
    loop_.after(delay_ms, std::move(task));
  };
  return door;
}

Result<void> Server::listen() {
  if (const std::string problem = listening_problem(config_.server, engine_.has_tokens());
      !problem.empty()) {
    return failure(ErrorCode::invalid_argument, problem);
  }
  door_ = std::make_unique<doors::HttpDoor>(engine_, door_options());
  http_ = std::make_unique<net::HttpServer>(loop_, *door_);
  const net::TlsFiles tls{.certificate_file = config_.server.tls_cert,
                          .key_file = config_.server.tls_key};
  std::string probe_address;
  if (!config_.server.probe_listen.empty()) {
    WEIR_TRY_ASSIGN(probe_address, probes_.start(config_.server.probe_listen));
  }
  WEIR_TRY_ASSIGN(const std::string address, http_->listen(config_.server.listen, tls));
  WEIR_TRY_ASSIGN(const std::string beanstalk_address, open_beanstalk());
  const store::Identity& identity = store_->identity();
  log::info(
      "listening",
      {log::field("address", address), log::field("probe_address", probe_address),
       log::field("beanstalk_address", beanstalk_address), log::field("store", identity.name),
       log::field("data", config_.server.data), log::field("epoch", std::uint64_t{identity.epoch}),
       log::field("version", WEIR_VERSION)});
  sd_notify(notify_socket_, "READY=1\nSTATUS=serving on " + address);
  if (options_.on_ready) options_.on_ready(address, probe_address);
  return {};
}

Result<std::string> Server::open_beanstalk() {
  const config::DoorsConfig& doors = config_.doors;
  if (doors.beanstalk.empty()) return std::string();
  if (const std::string problem = door_problem("doors.beanstalk", doors.beanstalk);
      !problem.empty()) {
    return failure(ErrorCode::invalid_argument, problem);
  }
  beanstalk_door_ = std::make_unique<doors::BeanstalkDoor>(
      engine_, clock_,
      doors::BeanstalkDoorOptions{
          .job_bytes_max = static_cast<std::size_t>(doors.beanstalk_job_max_bytes),
          .instance = secure_random_u64(),
          .facts = process_facts});
  beanstalk_ = std::make_unique<net::StreamServer>(loop_, *beanstalk_door_);
  return beanstalk_->listen(doors.beanstalk);
}

void Server::begin_drain(int signal_number) {
  if (drain_until_ms_ != 0) {
    // A second signal: at once, as safe as a kill. What was answered is durable.
    log::warning("stopping at once", {log::field("signal", std::int64_t{signal_number})});
    log::flush();
    _exit(128 + signal_number);
  }
  drain_until_ms_ = clock_.boot_ms() + config_.server.shutdown_grace_ms;
  log::info("draining", {log::field("leases", engine_.lease_count()),
                         log::field("grace_ms", config_.server.shutdown_grace_ms)});
  sd_notify(notify_socket_, "STOPPING=1\nSTATUS=draining");
  engine_.drain();
  door_->end_streams();
}

bool Server::is_drained() const {
  return drain_until_ms_ != 0 &&
         (engine_.lease_count() == 0 || clock_.boot_ms() >= drain_until_ms_);
}

// What connections still hold goes back before the store is closed.
Result<void> Server::release_connections() {
  if (!beanstalk_) return {};
  beanstalk_->stop_accepting();
  for (std::size_t left = beanstalk_door_->release_all() / core::kTurnCommandsMax + 1; left > 0;
       --left) {
    WEIR_TRY(engine_.run_turn());
  }
  beanstalk_->flush();
  return {};
}

void Server::reload() {
  const config::Loaded loaded = load_configuration(options_);
  for (const config::Problem& problem : loaded.problems) log::warning(problem.format());
  if (!loaded.is_usable()) {
    log::error("reload refused: the configuration has mistakes; the old one stays in force");
    return;
  }
  if (auto done = http_->reload_tls(); !done)
    log::error("TLS files not read again: " + done.error().detail);
  for (const config::NamedQueue& queue : loaded.config.queues) {
    core::Request request{
        .command = core::PutQueue{.queue = queue.name, .patch = queue.patch, .replace = false},
        .principal = {.id = "server"},
        .idempotency = std::nullopt};
    const auto put = engine_.submit(std::move(request), [name = queue.name](core::Answer answer) {
      if (const auto* refusal = std::get_if<Error>(&answer.outcome)) {
        log::error("queue settings not taken",
                   {log::field("queue", name), log::field("why", refusal->detail)});
      }
    });
    if (!put) log::error("queue settings not taken", {log::field("queue", queue.name)});
  }
  log::info("reloaded", {log::field("queues", std::uint64_t{loaded.config.queues.size()})});
}

std::int64_t Server::wait_ms(bool has_more) const {
  if (has_more) return 0;
  std::int64_t wait = std::min(engine_.next_turn_in_ms(), kRoundMsMax);
  if (drain_until_ms_ != 0)
    wait = std::min(wait, std::max<std::int64_t>(0, drain_until_ms_ - clock_.boot_ms()));
  return std::max<std::int64_t>(0, wait);
}

int Server::loop() {
  const bool has_watchdog = !lookup(options_.environment, "WATCHDOG_USEC").empty();
  bool has_more = false;
  while (!is_drained()) {
    loop_.run_round(wait_ms(has_more));
    const Result<bool> turn = engine_.run_turn();
    if (!turn) {
      // The answers of this turn were not released: nobody was told of what may not be on disk.
      log::error("the store has failed; leaving", {log::field("why", turn.error().detail)});
      return kExitStoreFailed;
    }
    has_more = *turn;
    http_->flush();
    if (beanstalk_) beanstalk_->flush();
    if (has_watchdog) sd_notify(notify_socket_, "WATCHDOG=1");
  }
  if (auto released = release_connections(); !released) {
    log::error("the store has failed; leaving", {log::field("why", released.error().detail)});
    return kExitStoreFailed;
  }
  http_->stop_accepting();
  http_->flush();
  if (auto stopped = engine_.stop(); !stopped) {
    log::error("the store could not be closed", {log::field("why", stopped.error().detail)});
    return kExitStoreFailed;
  }
  log::info("drained, exiting");
  return 0;
}

int Server::run() {
  if (auto ready = prepare(); !ready) {
    log::error("not started", {log::field("why", ready.error().detail)});
    const bool is_configuration = ready.error().code == ErrorCode::invalid_argument;
    return is_configuration ? kExitConfiguration : exit_code_of(ready.error());
  }
  return loop();
}

}  // namespace

config::Loaded load_configuration(const ServeOptions& options) {
  std::string text;
  config::Loaded loaded;
  if (!options.config_file.empty()) {
    std::ifstream file(options.config_file);
    std::ostringstream all;
    if (file) all << file.rdbuf();
    if (!file) {
      loaded.problems.push_back(
          {.file = options.config_file, .line = 0, .key = "file", .text = "can't be read"});
      return loaded;
    }
    text = all.str();
  }
  loaded = config::load(options.config_file, text, options.environment);
  config::ServerConfig& server = loaded.config.server;
  if (options.listen) server.listen = *options.listen;
  if (options.probe_listen) server.probe_listen = *options.probe_listen;
  if (options.insecure_plaintext) server.insecure_plaintext = *options.insecure_plaintext;
  if (options.data) server.data = *options.data;
  if (server.data.empty()) server.data = lookup(options.environment, "STATE_DIRECTORY");
  if (server.data.empty()) server.data = "./weir-data";
  if (options.store) {
    if (*options.store == "memory" || *options.store == "journal") {
      server.store =
          *options.store == "memory" ? config::StoreKind::memory : config::StoreKind::journal;
    } else {
      loaded.problems.push_back(
          {.file = "command line",
           .line = 0,
           .key = "--store",
           .text = fmt::format("\"{}\" must be journal or memory", *options.store)});
    }
  }
  return loaded;
}

int serve(const ServeOptions& options) {
  const config::Loaded loaded = load_configuration(options);
  for (const config::Problem& problem : loaded.problems)
    std::fprintf(stderr, "%s\n", problem.format().c_str());
  if (!loaded.is_usable()) return kExitConfiguration;
  SystemClock clock;
  auto store = open_store(loaded.config.server, clock);
  if (!store) {
    log::error("store not opened", {log::field("data", loaded.config.server.data),
                                    log::field("code", to_string(store.error().code)),
                                    log::field("why", store.error().detail)});
    return exit_code_of(store.error());
  }
  Server server(options, loaded.config, std::move(*store));
  return server.run();
}

}  // namespace weir::server
