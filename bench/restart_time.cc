// SPDX-License-Identifier: Apache-2.0
// Measures restarts of a store with many waiting jobs, in process.
//
//   restart_time DIR WAITING PAYLOAD_BYTES REPEATS
//
// Fills DIR with WAITING jobs when it is not there yet (it stays for the next run). Then opens the
// store and claims one job, REPEATS times, each time without a clean stop before it. Prints one
// JSON line: medians in seconds of the opening, and of the whole way to the first claim.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "store/journal/journal_store.h"

namespace weir::bench {
namespace {

[[noreturn]] void die(const std::string& why) {
  std::fprintf(stderr, "restart_time: %s\n", why.c_str());
  std::exit(1);
}

// The server's inside: a store and an engine over it.
class Server {
 public:
  Server(const std::string& directory, const Clock& clock) {
    const std::int64_t start_us = clock.boot_us();
    auto opened = store::journal::JournalStore::open(
        store::journal::real_file_system(), directory, {},
        {.wall = clock.wall_now(), .store = StoreTime::none()}, &clock);
    if (!opened) die(opened.error().detail);
    open_us_ = clock.boot_us() - start_us;
    store_ = std::move(*opened);
    engine_ = std::make_unique<engine::Engine>(*store_, clock, engine::Options{});
    if (auto started = engine_->start(); !started) die(started.error().detail);
  }

  void fill(std::uint64_t count, std::size_t payload_bytes) {
    core::NewJob job;
    job.body.payload = '"' + std::string(payload_bytes - 2, 'x') + '"';
    for (std::uint64_t done = 0; done < count;) {
      const std::uint64_t part = std::min<std::uint64_t>(1000, count - done);
      core::Enqueue enqueue{.queue = "bench", .jobs = {}, .is_batch = true};
      enqueue.jobs.assign(part, job);
      bool is_answered = false;
      core::Request request{
          .command = std::move(enqueue), .principal = {.id = "bench"}, .idempotency = std::nullopt};
      auto taken = engine_->submit(std::move(request), [&](const core::Answer& answer) {
        if (!std::holds_alternative<core::Enqueued>(answer.outcome)) die("a fill was refused");
        is_answered = true;
      });
      if (!taken) die(taken.error().detail);
      while (!is_answered) turn();
      done += part;
    }
  }

  void claim() {
    bool is_claimed = false;
    engine::Demand demand;
    demand.queues = {"bench"};
    demand.wait_ms = 60'000;
    engine_->demand(std::move(demand), [&](Result<std::vector<engine::Delivery>> got) {
      if (!got || got->empty()) die("nothing was claimed");
      is_claimed = true;
    });
    while (!is_claimed) turn();
  }

  void turn() {
    if (auto done = engine_->run_turn(); !done) die(done.error().detail);
  }

  std::int64_t open_us() const { return open_us_; }
  const store::journal::RecoveryReport& recovery() const { return store_->recovery(); }

 private:
  std::int64_t open_us_ = 0;
  std::unique_ptr<store::journal::JournalStore> store_;
  std::unique_ptr<engine::Engine> engine_;
};

double median_seconds(std::vector<std::int64_t> us) {
  std::sort(us.begin(), us.end());
  return static_cast<double>(us[us.size() / 2]) / 1e6;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  if (count != 5) {
    std::fprintf(stderr, "usage: restart_time DIR WAITING PAYLOAD_BYTES REPEATS\n");
    return 2;
  }
  const std::string directory = arguments[1];
  const std::uint64_t waiting = std::strtoull(arguments[2], nullptr, 10);
  const std::size_t payload = std::max<std::size_t>(2, std::strtoul(arguments[3], nullptr, 10));
  const std::uint64_t repeats =
      std::max<std::uint64_t>(1, std::strtoull(arguments[4], nullptr, 10));
  const weir::SystemClock clock;
  if (!weir::store::journal::real_file_system().exists(directory)) {
    weir::bench::Server(directory, clock).fill(waiting, payload);
  }
  std::vector<std::int64_t> open_us, claim_us;
  std::uint64_t bytes = 0;
  for (std::uint64_t i = 0; i < repeats; ++i) {
    const std::int64_t start_us = clock.boot_us();
    weir::bench::Server server(directory, clock);
    server.claim();
    claim_us.push_back(clock.boot_us() - start_us);
    open_us.push_back(server.open_us());
    bytes = server.recovery().bytes;
  }
  std::printf("%s\n",
              fmt::format(R"({{"waiting":{},"payload_bytes":{},"log_bytes":{},"open_s":{:.3f},)"
                          R"("first_claim_s":{:.3f}}})",
                          waiting, payload, bytes, weir::bench::median_seconds(open_us),
                          weir::bench::median_seconds(claim_us))
                  .c_str());
  return 0;
}
