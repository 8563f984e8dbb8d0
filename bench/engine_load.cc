// SPDX-License-Identifier: Apache-2.0
// Drives the engine with the journal store in process: no sockets, no JSON. What is left is rules,
// index, log and sync.
//
//   engine_load DIR WAITING JOBS IN_FLIGHT PAYLOAD_BYTES [COMPLETED_MAX]
//
// Fills the queue with WAITING jobs, then runs JOBS whole life cycles (enqueue, claim, ack),
// IN_FLIGHT at a time, with durability sync. Then closes and opens the store again and measures the
// time to the first claim. Prints one JSON line.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "store/journal/journal_store.h"

namespace weir::bench {
namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "engine_load: %s\n", why.c_str());
  std::exit(1);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double rss_mib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  long resident = 0;
  const int read = std::fscanf(file, "%ld %ld", &pages, &resident);
  std::fclose(file);
  return read == 2 ? static_cast<double>(resident) * 4096 / (1 << 20) : 0;
}

struct Options {
  std::string directory;
  std::uint64_t waiting = 0;
  std::uint64_t jobs = 0;
  std::uint32_t in_flight = 1;
  std::size_t payload_bytes = 100;
  std::uint64_t completed_max = core::kCompletedPerQueueMax;
};

// The server's inside: a store and an engine over it.
struct Server {
  explicit Server(const Options& options, const Clock& clock) {
    const Now now{.wall = clock.wall_now(), .store = StoreTime::none()};
    auto opened = store::journal::JournalStore::open(store::journal::real_file_system(),
                                                     options.directory, {}, now, &clock);
    if (!opened) die(opened.error().detail);
    store = std::move(*opened);
    engine = std::make_unique<engine::Engine>(*store, clock, engine::Options{});
    if (auto started = engine->start(); !started) die(started.error().detail);
  }
  void turn() {
    if (auto done = engine->run_turn(); !done) die(done.error().detail);
  }
  std::unique_ptr<store::journal::JournalStore> store;
  std::unique_ptr<engine::Engine> engine;
};

class Load {
 public:
  Load(Options options, const Clock& clock)
      : options_(std::move(options)), clock_(clock), server_(options_, clock) {
    job_.body.payload = '"' + std::string(options_.payload_bytes - 2, 'x') + '"';
  }

  void set_up() {
    core::PutQueue put{.queue = "bench", .patch = {}, .replace = false};
    put.patch.completed_max = options_.completed_max;
    submit(std::move(put), [](const core::Answer&) {});
    server_.turn();
  }

  void fill() {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    while (answered < options_.waiting) {
      // No more in hand than a turn takes: the mailbox is bounded by bytes too.
      while (sent < options_.waiting && sent - answered < 4000) {
        core::Enqueue enqueue{.queue = "bench", .jobs = {}, .is_batch = true};
        const std::uint64_t count = std::min<std::uint64_t>(1000, options_.waiting - sent);
        enqueue.jobs.assign(count, job_);
        sent += count;
        submit(std::move(enqueue), [&answered, count](const core::Answer& answer) {
          if (!std::holds_alternative<core::Enqueued>(answer.outcome)) die("a fill was refused");
          answered += count;
        });
      }
      server_.turn();
    }
  }

  std::string run();

 private:
  template <typename C>
  void submit(C command, engine::AnswerCallback answered) {
    core::Request request{
        .command = std::move(command), .principal = {.id = "bench"}, .idempotency = std::nullopt};
    if (auto taken = server_.engine->submit(std::move(request), std::move(answered)); !taken)
      die(taken.error().detail);
  }
  void start_one();
  void take_deliveries(std::vector<engine::Delivery> deliveries);

  Options options_;
  const Clock& clock_;
  Server server_;
  core::NewJob job_;
  std::uint64_t started_ = 0;
  std::uint64_t completed_ = 0;
  std::uint32_t in_hand_ = 0;
  bool has_demand_ = false;
  std::vector<std::int64_t> put_us_;
};

void Load::start_one() {
  ++started_;
  ++in_hand_;
  const std::int64_t at = clock_.boot_us();
  submit(core::Enqueue{.queue = "bench", .jobs = {job_}, .is_batch = false},
         [this, at](const core::Answer& answer) {
           if (!std::holds_alternative<core::Enqueued>(answer.outcome))
             die("an enqueue was refused");
           put_us_.push_back(clock_.boot_us() - at);
         });
}

void Load::take_deliveries(std::vector<engine::Delivery> deliveries) {
  has_demand_ = false;
  for (const engine::Delivery& delivery : deliveries) {
    core::Ack ack{.job = delivery.job.id, .token = delivery.claimed.token, .result = std::nullopt};
    submit(std::move(ack), [this](const core::Answer& answer) {
      const auto* moved = std::get_if<core::Moved>(&answer.outcome);
      if (moved == nullptr || moved->state != core::JobState::completed) die("an ack was refused");
      ++completed_;
      --in_hand_;
    });
  }
}

std::string Load::run() {
  const double rss_empty = rss_mib();
  set_up();
  fill();
  const double rss_full = rss_mib();
  const std::uint64_t bytes_before = server_.store->stats().bytes_written;
  const double cpu_before = cpu_seconds();
  const std::int64_t start = clock_.boot_us();
  while (completed_ < options_.jobs) {
    while (in_hand_ < options_.in_flight && started_ < options_.jobs) start_one();
    if (!has_demand_) {
      has_demand_ = true;
      engine::Demand demand;
      demand.queues = {"bench"};
      demand.credit = options_.in_flight;
      demand.wait_ms = 60'000;
      server_.engine->demand(std::move(demand), [this](Result<std::vector<engine::Delivery>> got) {
        if (!got) die(got.error().detail);
        take_deliveries(std::move(*got));
      });
    }
    server_.turn();
  }
  const double seconds = static_cast<double>(clock_.boot_us() - start) / 1e6;
  const double cpu = cpu_seconds() - cpu_before;
  const auto bytes = static_cast<double>(server_.store->stats().bytes_written - bytes_before);
  const std::uint64_t index_bytes = server_.store->stats().memory_bytes;
  std::sort(put_us_.begin(), put_us_.end());
  if (auto stopped = server_.engine->stop(); !stopped) die(stopped.error().detail);
  server_.engine.reset();
  server_.store.reset();

  const std::int64_t reopen = clock_.boot_us();
  Server again(options_, clock_);
  bool is_claimed = options_.waiting == 0;
  engine::Demand demand;
  demand.queues = {"bench"};
  demand.wait_ms = 60'000;
  if (!is_claimed) {
    again.engine->demand(std::move(demand),
                         [&is_claimed](Result<std::vector<engine::Delivery>> got) {
                           is_claimed = got && !got->empty();
                         });
  }
  while (!is_claimed) again.turn();
  const double restart = static_cast<double>(clock_.boot_us() - reopen) / 1e6;
  const auto per_job = static_cast<double>(options_.jobs);
  return fmt::format(
      R"({{"waiting":{},"jobs":{},"in_flight":{},"payload_bytes":{},"jobs_per_s":{:.0f},"cpu_us_per_job":{:.2f},)"
      R"("put_p50_us":{},"put_p99_us":{},"bytes_per_job":{:.0f},"rss_mib":{:.0f},"rss_bytes_per_waiting":{:.0f},)"
      R"("index_and_cache_bytes":{},"first_claim_after_restart_s":{:.3f}}})",
      options_.waiting, options_.jobs, options_.in_flight, options_.payload_bytes,
      per_job / seconds, cpu * 1e6 / per_job, put_us_[put_us_.size() / 2],
      put_us_[put_us_.size() * 99 / 100], bytes / per_job, rss_full,
      options_.waiting == 0
          ? 0.0
          : (rss_full - rss_empty) * (1 << 20) / static_cast<double>(options_.waiting),
      index_bytes, restart);
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  if (count != 6 && count != 7) {
    std::fprintf(stderr,
                 "usage: engine_load DIR WAITING JOBS IN_FLIGHT PAYLOAD_BYTES [COMPLETED_MAX]\n");
    return 2;
  }
  weir::bench::Options options;
  options.directory = arguments[1];
  options.waiting = std::strtoull(arguments[2], nullptr, 10);
  options.jobs = std::strtoull(arguments[3], nullptr, 10);
  options.in_flight = static_cast<std::uint32_t>(std::strtoul(arguments[4], nullptr, 10));
  options.payload_bytes = std::max<std::size_t>(2, std::strtoul(arguments[5], nullptr, 10));
  if (count == 7) options.completed_max = std::strtoull(arguments[6], nullptr, 10);
  const weir::SystemClock clock;
  std::printf("%s\n", weir::bench::Load(options, clock).run().c_str());
  return 0;
}
