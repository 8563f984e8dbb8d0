// SPDX-License-Identifier: Apache-2.0
// The engine: takes commands from a bounded mailbox, works in turns, releases answers when they are
// durable, matches standing demands with claimable jobs, and drives everything that time drives.
// This header is all that doors see.
//
// One turn: read the clock once; decide the commands that have arrived (at most kTurnCommandsMax or
// kTurnBytesMax), each seeing the changes of those before it, in one commit; then what fell due,
// and a slice of each purge; one sync when an answer waits for it; release the answers in order;
// then dispatch: allot claimable (and durable) jobs to demands, commit the claims (they ride the
// next sync unless a queue wants claim = sync or at-most-once), hand out.
//
// Thread: all calls on the engine's thread (the I/O loop) unless said otherwise. Callbacks come on
// the same thread, from inside run_turn() or, for refusals, never from inside submit(): every
// answer is asynchronous.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "core/decide.h"
#include "core/dispatch/lane.h"
#include "store/store.h"

namespace weir::engine {

using AnswerCallback = std::function<void(core::Answer)>;

// A job on its way to a consumer.
struct Delivery {
  core::Job job;
  core::Claimed claimed;
  core::JobBody body;
  WallTime lease_expires_at;
  std::string queue_name;
};

// A standing demand. A long poll asks for up to `credit` jobs once; it is answered as soon as at
// least one job can be given, or with none at `wait_ms`. Demands of one queue are served in the
// order in which they came.
struct Demand {
  std::vector<std::string>
      queues;  // names; 1..kClaimQueuesMax; a queue that does not exist yet may come
  std::vector<core::PriorityClass> classes;
  std::vector<std::string> kinds;
  std::uint32_t credit = 1;
  std::int64_t wait_ms = 0;
  std::optional<std::int64_t> lease_ms;
  std::string worker_id;
  core::OwnerKind owner = core::OwnerKind::worker;
  std::uint64_t connection = 0;
  core::Principal principal;
  std::size_t body_bytes_max =
      core::kRequestBytesMax;  // the answer is cut to this many payload bytes (at least one job)
};
using DemandId = std::uint64_t;
// Called exactly once, unless the demand is withdrawn. Errors: unavailable (draining), not the
// absence of jobs.
using DeliveryCallback = std::function<void(Result<std::vector<Delivery>>)>;

using EventCallback = std::function<void(const core::Event&, std::string_view queue_name)>;

// Counters and gauges that the probe thread reads; thread-safe. The engine publishes them once per
// turn.
struct Published {
  std::atomic<bool> is_ready{false};
  std::atomic<bool> is_draining{false};
  std::atomic<bool> is_stopped{false};  // the store has failed
  // "ready", or why it takes no jobs: "stopped", "draining", "starting".
  std::string_view readiness() const {
    if (is_stopped) return "stopped";
    if (is_draining) return "draining";
    return is_ready ? "ready" : "starting";
  }
  // The text of /metrics, replaced at most once a second by the engine. shared_ptr: a scrape keeps
  // the text it reads.
  std::shared_ptr<const std::string> metrics() const { return std::atomic_load(&metrics_); }
  void set_metrics(std::string text) {
    std::atomic_store(&metrics_, std::make_shared<const std::string>(std::move(text)));
  }

 private:
  std::shared_ptr<const std::string> metrics_ = std::make_shared<const std::string>();
};

struct Options {
  core::Policy policy;
  std::uint64_t prng_seed = 0;  // 0: from the kernel
  std::size_t mailbox_max = core::kMailboxCommandsMax;
};

// What happened in a queue since the server's start. Value.
struct QueueTally {
  std::uint64_t enqueued = 0;
  std::uint64_t deleted = 0;  // acked, or deleted by somebody
  std::uint64_t pauses = 0;   // pause_for()
};

// A pause that ends by itself. Value; zeros: there is none.
struct QueuePause {
  std::int64_t duration_ms = 0;
  std::int64_t left_ms = 0;
};

struct QueueView {
  core::Queue queue;
  store::QueueStats stats;
  QueueTally tally;
  QueuePause pause;
};

// The jobs that stand first in a queue: dead ones by their end, scheduled and failed ones by the
// time that is left. Value.
enum class JobOrder : std::uint8_t { by_end, by_due };
struct FirstJobs {
  std::string queue;
  std::uint32_t namespace_id = 0;
  std::uint32_t states = 0;  // bit (1 << state)
  JobOrder order = JobOrder::by_end;
  std::uint64_t count = 1;
};
using FoundCallback = std::function<void(Result<std::vector<core::JobId>>)>;

// A job for showing, with the times that are kept in store time turned into wall time.
struct JobView {
  core::Job job;
  std::string queue_name;
  std::uint32_t max_attempts = 0;
  WallTime retry_after;       // failed
  WallTime lease_expires_at;  // processing
  std::string last_error;     // message of the last failed attempt, empty if none
};

class Engine {
 public:
  // The store and the clock must outlive the engine.
  Engine(store::Store& store, const Clock& clock, const Options& options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Loads queues and tokens, allocates ids. Errors: those of the store.
  Result<void> start();

  // Puts a command into the mailbox; `answered` is called once, from a later run_turn(), when the
  // answer is durable by the configured rule. Errors: unavailable when the mailbox is full (a
  // quarter of it is kept for the verbs of lease holders: ack, fail, release, snooze, extend,
  // progress), or when the server drains and the command is none of these.
  Result<void> submit(core::Request request, AnswerCallback answered);

  // Places and withdraws demands. A withdrawn demand swallows nothing: its callback is not called,
  // and no job was leased for it.
  DemandId demand(Demand demand, DeliveryCallback delivered);
  void withdraw(DemandId id);
  // A delivery that could not be handed to the kernel: its leases are given back, excused.
  void undelivered(std::span<const Delivery> deliveries);
  // The lease of a job is over, for a reason that is not its holder's word. Nothing is answered; a
  // lease that is over already is passed over. Also while draining.
  enum class LeaseEnd : std::uint8_t {
    connection_ended,  // the connection that it was bound to (Demand.connection)
    undelivered,       // as above, for one delivery
    server_stop,
  };
  void abandon(core::JobId job, const core::LeaseToken& token, const core::Principal& principal,
               LeaseEnd why);

  // Does one turn. True when there is more to do at once. Errors: io_error, corruption: the store
  // is stopped, no answer of the turn was released; the caller leaves the process with 74.
  Result<bool> run_turn();
  // Milliseconds until run_turn() has something to do by time alone; 0: now; at most 1,000 while
  // unsynced claims exist.
  std::int64_t next_turn_in_ms() const;

  // Reads; they see everything committed. Errors: not_found, corruption, io_error.
  Result<JobView> job(core::JobId id);
  Result<core::JobBody> job_body(core::JobId id);
  Result<std::vector<core::AttemptRecord>> job_history(core::JobId id);
  Result<std::string> job_result(core::JobId id);
  struct JobPage {
    std::vector<JobView> jobs;
    std::uint64_t next_after_id = 0;
  };
  Result<JobPage> list_jobs(const store::ScanQuery& query);
  // The queue of that name in the namespace, or nullptr. Lives until the next run_turn().
  const core::Queue* find_queue(std::string_view name, std::uint32_t namespace_id = 0) const;
  // Grows whenever a queue is made, changed or removed: who keeps something of a queue compares.
  std::uint64_t queues_version() const;
  Result<QueueView> queue(std::string_view name, std::uint32_t namespace_id = 0);
  Result<std::vector<QueueView>> queues(std::uint32_t namespace_id = 0);
  std::vector<core::ApiToken> tokens() const;
  // The token with that public id, or nullptr. Lives until the next run_turn().
  const core::ApiToken* find_token(std::string_view id) const;
  bool has_tokens() const;  // any living token: the server is closed

  // Removes the waiting jobs of a queue, in slices over several turns, with one audit entry.
  // `answered` gets Removed or Error.
  void purge(std::string_view queue, core::Principal principal, AnswerCallback answered);
  // Lets up to `count` jobs of a queue be claimed now: the dead ones, the first to die first; when
  // there are none, those that wait for their time, the soonest first. In slices over several
  // turns, with one audit entry. `answered` gets Kicked or Error.
  void kick(std::string_view queue, std::uint64_t count, core::Principal principal,
            AnswerCallback answered);
  // Calls back in the next turn, behind the commands and ends of leases that came before: a look at
  // what they did.
  void look(std::function<void()> look);
  // Looks for jobs over several turns; `found` gets ids in order, none when there is no such queue.
  void find_first(FirstJobs wanted, FoundCallback found);
  // The job of a queue that a claim would get next, whether or not it is paused for a while.
  // Errors: not_found (none is pending).
  Result<core::JobId> next_pending(std::string_view queue, std::uint32_t namespace_id = 0);
  // The queue gives no jobs to demands for so long, also when it has none yet. Not durable: a
  // restart opens it.
  void pause_for(std::string_view queue, std::int64_t duration_ms, std::uint32_t namespace_id = 0);
  QueuePause pause_of(std::string_view queue, std::uint32_t namespace_id = 0) const;
  struct Totals {
    std::uint64_t enqueued = 0, expired_leases = 0;  // since the start
  };
  Totals totals() const;

  // Calls back when the job has ended (or is gone), at most after wait_ms. The id withdraws it.
  std::uint64_t wait_for_end(core::JobId id, std::int64_t wait_ms, std::function<void()> ended);
  void withdraw_wait(std::uint64_t wait_id);

  // Every event after its commit. The id unsubscribes.
  std::uint64_t subscribe(EventCallback callback);
  void unsubscribe(std::uint64_t id);

  Result<void> backup(const std::string& directory);
  // What operators did: the newest `newest` records, in order. Errors: those of the store.
  Result<std::vector<core::AuditRecord>> audit(std::size_t newest);

  // Stops giving: claims and enqueues get unavailable, waiting demands are answered so; acks and
  // extends go on.
  void drain();
  bool is_draining() const;
  std::uint64_t lease_count() const;

  // Makes everything durable and closes the store. No call but the destructor may follow.
  Result<void> stop();

  Now now() const;  // of the last turn
  const store::Store& store() const;
  Published& published();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::engine
