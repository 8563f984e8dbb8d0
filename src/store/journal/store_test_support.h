// SPDX-License-Identifier: Apache-2.0
// What the tests of the journal store share: the rules played over a store one command at a time,
// and a description of all that a store shows, to compare it before and after a reopening.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "core/decide.h"
#include "core/job/lease.h"
#include "store/codec.h"
#include "store/journal/faulty_file_system.h"
#include "store/journal/journal_store.h"
#include "store/journal/memory_file_system.h"

namespace weir::store::journal {

inline constexpr Now kTestStart{.wall = WallTime{1'800'000'000'000}, .store = StoreTime{1'000'000}};

inline JournalOptions small_options(std::uint32_t segment_bytes = 64u << 10) {
  JournalOptions options;
  options.segment_bytes = segment_bytes;
  options.prng_seed = 7;
  options.ended_in_full_max = 4;
  return options;
}

// Plays commands against a store: prefetch, decide, commit. One thread.
class StoreDriver final : public core::IdSource {
 public:
  explicit StoreDriver(Store& store, Now start = kTestStart) : now(start), store_(&store) {
    now.store = store.identity().store_time;
  }

  // On another store from now on (after a reopening); ids start a new block.
  void use(Store& store) {
    store_ = &store;
    now.store = std::max(now.store, store.identity().store_time);
    next_job_ = end_job_ = 0;
  }

  core::JobId next_job_id() override {
    if (next_job_ == end_job_) {
      const auto range = store_->allocate_job_ids();
      if (!range) {
        failed = range.error();
        return core::JobId{1};
      }
      next_job_ = range->first;
      end_job_ = range->first + range->count;
    }
    return core::JobId{next_job_++};
  }
  core::QueueId next_queue_id() override {
    const auto id = store_->allocate_queue_id();
    if (!id) failed = id.error();
    return id ? *id : core::QueueId{1};
  }

  // The answer; result and failed tell what the store said.
  core::Answer run(core::Command command) {
    const core::Request request{.command = std::move(command), .principal = {.id = "test"}};
    core::ReadSet wanted;
    core::reads(request, wanted);
    core::View view;
    if (auto loaded = store_->prefetch(wanted, view); !loaded) {
      failed = loaded.error();
      return {};
    }
    core::Context context{.now = now,
                          .prng = prng_,
                          .ids = *this,
                          .policy = policy,
                          .lease_secret = store_->identity().lease_secret,
                          .epoch = store_->identity().epoch};
    std::vector<core::ChangeSet> change_sets;
    change_sets.push_back(core::decide(view, request, context));
    if (failed) return {};
    std::vector<CommitResult> results;
    const auto seq = store_->commit(change_sets, now, results);
    if (!seq) {
      failed = seq.error();
      return {};
    }
    result = results[0];
    return change_sets[0].answer;
  }

  core::JobId enqueue(const std::string& queue, std::string payload, core::NewJob job = {}) {
    job.body.payload = std::move(payload);
    core::Enqueue command{.queue = queue};
    command.jobs.push_back(std::move(job));
    const core::Answer answer = run(std::move(command));
    const auto* enqueued = std::get_if<core::Enqueued>(&answer.outcome);
    return enqueued == nullptr || enqueued->ids.empty() ? core::JobId{} : enqueued->ids[0];
  }

  // Claims the first job of the first lane; none when nothing is claimable.
  std::optional<core::Claimed> claim(std::int64_t lease_ms = 60'000) {
    std::vector<core::LaneHead> heads;
    store_->heads({}, 1, heads);
    if (heads.empty()) return std::nullopt;
    const core::Answer answer =
        run(core::Claim{.job = heads[0].first[0].id, .worker_id = "w", .lease_ms = lease_ms});
    const auto* claimed = std::get_if<core::Claimed>(&answer.outcome);
    if (claimed == nullptr) return std::nullopt;
    return *claimed;
  }

  // Turns everything that is due into its command.
  std::size_t tick() {
    std::vector<Due> dues;
    store_->due(now, 1000, dues);
    for (const Due& due : dues) {
      switch (due.kind) {
        case Due::Kind::run_at:
        case Due::Kind::retry:
          run(core::BecomeDue{due.job});
          break;
        case Due::Kind::lease:
          run(core::ExpireLease{due.job});
          break;
        case Due::Kind::ttl:
          run(core::ExpireTtl{due.job});
          break;
        case Due::Kind::retention:
          run(core::Retain{due.job});
          break;
        case Due::Kind::unique_key:
          run(core::ForgetUnique{due.queue, due.key});
          break;
        case Due::Kind::idempotency:
          run(core::ForgetIdempotency{due.scope});
          break;
      }
    }
    return dues.size();
  }

  void advance(std::int64_t ms) {
    now.wall = now.wall.plus(ms);
    now.store = now.store.plus(ms);
  }

  Now now;
  core::Policy policy;
  CommitResult result = CommitResult::applied;
  std::optional<Error> failed;

 private:
  Store* store_;
  Prng prng_{11};
  std::uint64_t next_job_ = 0, end_job_ = 0;
};

// All that a store shows, as text.
inline std::string describe(Store& store) {
  std::string out;
  const auto queues = store.read_queues();
  for (const core::Queue& queue : *queues) {
    std::string record;
    encode_queue(queue, record);
    const auto stats = store.queue_stats(queue.id);
    out +=
        fmt::format("queue {} {}", queue.id.value,
                    to_hex({reinterpret_cast<const std::uint8_t*>(record.data()), record.size()}));
    for (const std::uint64_t count : stats->counts.by_state) out += fmt::format(" {}", count);
    out += fmt::format(" since {}\n", stats->oldest_pending_since.ms);
  }
  ScanQuery query;
  query.limit = 1000;
  for (;;) {
    const auto page = store.scan_page(query);
    if (!page) return "scan: " + page.error().detail;
    for (const core::Job& job : page->jobs) {
      std::string record;
      encode_job(job, record);
      out += fmt::format("job {} {} {}\n", job.id.value, core::to_string(job.state),
                         to_hex(sha256(record)));
      const auto body = store.read_body(job.id);
      out += body ? fmt::format("  body {}\n", to_hex(sha256(body->payload)))
                  : "  body: " + body.error().detail + "\n";
      const auto history = store.read_history(job.id);
      if (!history) out += "  history: " + history.error().detail + "\n";
      for (std::size_t i = 0; history && i < history->size(); ++i) {
        std::string attempt;
        encode_attempt((*history)[i], attempt);
        out += fmt::format("  attempt {}\n", to_hex(sha256(attempt)));
      }
      const auto result = store.read_result(job.id);
      if (result) out += fmt::format("  result {}\n", *result);
    }
    if (page->next_after_id == 0) break;
    query.after_id = page->next_after_id;
  }
  std::vector<core::LaneHead> heads;
  store.heads({}, 1'000'000, heads);
  for (const core::LaneHead& head : heads) {
    out += fmt::format("lane {} {} {}:", head.key.queue.value,
                       static_cast<int>(head.key.priority_class), head.key.kind);
    for (const core::LaneOrder& place : head.first) out += fmt::format(" {}", place.id.value);
    out += fmt::format(" since {}\n", head.waiting_since.ms);
  }
  std::vector<Due> dues;
  store.due({.wall = WallTime{4'000'000'000'000}, .store = StoreTime{4'000'000'000'000}}, 1'000'000,
            dues);
  for (const Due& due : dues) {
    out += fmt::format("due {} {} {} {} {}\n", static_cast<int>(due.kind), due.job.value,
                       due.queue.value, due.key, due.scope.low);
  }
  return out;
}

// A store in memory that can be reopened from an image of its disk. One thread.
class StoreWorld {
 public:
  explicit StoreWorld(JournalOptions options = small_options()) : options_(options) {
    files_ = std::make_unique<MemoryFileSystem>();
    open(kTestStart);
    driver = std::make_unique<StoreDriver>(*store_);
  }

  JournalStore& store() { return *store_; }
  MemoryFileSystem& files() { return *files_; }

  void close_and_open() {
    ASSERT_TRUE(store_->close(driver->now));
    store_.reset();
    open(driver->now);
    driver->use(*store_);
  }
  void crash_and_open(CrashKind kind, std::uint64_t seed = 1) {
    auto image = files_->crash_image(kind, seed);
    store_.reset();
    files_ = std::move(image);
    open(driver->now);
    driver->use(*store_);
  }
  // Works until there is nothing to do, at most `rounds` slices.
  void work(int rounds = 100'000) {
    for (int i = 0; i < rounds; ++i) {
      const auto more = store_->work(driver->now);
      ASSERT_TRUE(more) << more.error().detail;
      if (!*more) return;
    }
    FAIL() << "housekeeping finds no end";
  }

  std::unique_ptr<StoreDriver> driver;

 private:
  void open(Now now) {
    auto opened = JournalStore::open(*files_, "/data", options_, now);
    ASSERT_TRUE(opened) << opened.error().detail;
    store_ = std::move(*opened);
  }

  JournalOptions options_;
  std::unique_ptr<MemoryFileSystem> files_;
  std::unique_ptr<JournalStore> store_;
};

}  // namespace weir::store::journal
