// SPDX-License-Identifier: Apache-2.0
// The order of a turn: input, what fell due, one sync for both, answers, dispatch, housekeeping.
#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "engine/impl.h"
#include "engine/metrics.h"

namespace weir::engine {
namespace {

// The loop comes back after this time even when nothing is due: the store seals, metrics are made.
constexpr std::int64_t kIdleMsMax = 1000;

std::uint64_t seed_of(const Options& options) {
  return options.prng_seed != 0 ? options.prng_seed : secure_random_u64();
}

}  // namespace

Engine::Impl::Impl(store::Store& store, const Clock& clock, const Options& options)
    : state(store, clock, options, seed_of(options)),
      mailbox(state.options.mailbox_max),
      committer(state),
      ticker(state, committer),
      slices(state, committer),
      finder(state),
      kicks(state, committer, finder),
      dispatcher(state, committer, mailbox) {}

Result<void> Engine::Impl::start() {
  state.time.start(state.store.identity().store_time);
  WEIR_TRY_ASSIGN(const std::vector<core::Queue> queues, state.store.read_queues());
  for (const core::Queue& queue : queues) {
    state.registry.put_queue(queue);
    if (queue.is_deleted) state.deleted_queues.insert(queue.id);
    WEIR_TRY_ASSIGN(const store::QueueStats stats, state.store.queue_stats(queue.id));
    state.leases += static_cast<std::int64_t>(stats.counts.of(core::JobState::processing));
  }
  WEIR_TRY_ASSIGN(const std::vector<core::ApiToken> tokens, state.store.read_tokens());
  for (const core::ApiToken& token : tokens) state.registry.put_token(token);
  start_boot_ms = state.time.boot_ms();
  publish(true);
  published.is_ready = true;
  return {};
}

Result<bool> Engine::Impl::turn() {
  state.time.begin_turn();
  ++state.counters.turns;
  WEIR_TRY(decide_input());
  WEIR_TRY_ASSIGN(const bool has_more_due, ticker.run());
  WEIR_TRY(slices.run());
  WEIR_TRY(finder.run());
  WEIR_TRY(kicks.run());
  WEIR_TRY(sync_and_release());
  run_looks();
  if (is_draining) dispatcher.refuse_all();
  WEIR_TRY_ASSIGN(const bool has_more_demand, dispatcher.run());
  // Claims and burials of this dispatch; those that must be durable were synced on the way.
  WEIR_TRY(sync_and_release());
  state.waiters.check_new(state.store);
  state.waiters.expire(state.time.boot_ms());
  WEIR_TRY_ASSIGN(has_more_work, state.store.work(state.time.now()));
  publish(false);
  // After a stall the next round is wanted at once: leases wait for it.
  const bool is_held = !state.time.may_expire_leases();
  return has_more_due || has_more_demand || has_more_work || is_held || next_turn_in_ms() == 0;
}

Result<void> Engine::Impl::decide_input() {
  if (mailbox.is_empty()) return {};
  std::vector<Work> works = state.releases.take_spare();
  mailbox.take(works);
  state.counters.turn_commands += works.size();
  WEIR_TRY(committer.run(works));
  committer.push_releases(works);
  return {};
}

Result<void> Engine::Impl::sync_and_release() {
  if (state.sync.is_due(state.time.boot_ms())) WEIR_TRY(state.sync.sync(state.store));
  state.releases.release(state.store.durable_seq(), state.events, state.waiters);
  return {};
}

// Those that come up meanwhile have their turn. While commands are left over from this one they
// wait too: what they ask about may be among them.
void Engine::Impl::run_looks() {
  if (!mailbox.is_empty()) return;
  for (const std::function<void()>& look : std::exchange(looks, {})) look();
}

std::int64_t Engine::Impl::next_turn_in_ms() const {
  if (!mailbox.is_empty() || state.waiters.has_new() || has_more_work) return 0;
  if (!finder.is_idle() || !kicks.is_idle() || !looks.empty()) return 0;
  const std::int64_t boot_ms = state.clock.boot_ms();
  std::int64_t in_ms = kIdleMsMax;
  in_ms = std::min(in_ms, dispatcher.next_in_ms(boot_ms));
  in_ms = std::min(in_ms, slices.next_in_ms(boot_ms));
  in_ms = std::min(in_ms, saturating_add(state.sync.due_boot_ms(), -boot_ms));
  in_ms = std::min(in_ms, saturating_add(state.waiters.next_deadline_boot_ms(), -boot_ms));
  in_ms = std::min(in_ms, ticker.next_in_ms());
  return std::max<std::int64_t>(0, in_ms);
}

void Engine::Impl::publish(bool at_once) {
  const std::int64_t boot_ms = state.time.boot_ms();
  published.is_draining = is_draining;
  if (!at_once && boot_ms - published_boot_ms < kMetricsEveryMs) return;
  published_boot_ms = boot_ms;
  published.set_metrics(metrics_text(state, MetricGauges{.mailbox = mailbox.size(),
                                                         .demands = dispatcher.waiting(),
                                                         .uptime_ms = boot_ms - start_boot_ms,
                                                         .is_draining = is_draining}));
}

}  // namespace weir::engine
