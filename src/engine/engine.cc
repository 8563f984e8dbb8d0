// SPDX-License-Identifier: Apache-2.0
// The public face: checks what must be refused at once, passes the rest to the parts.
#include "engine/engine.h"

#include <utility>

#include "engine/impl.h"
#include "engine/inspect.h"

namespace weir::engine {
namespace {

Error draining_error() {
  return Error{
      .code = ErrorCode::unavailable, .detail = "the server is stopping", .retry_after_ms = 1000};
}

}  // namespace

Engine::Engine(store::Store& store, const Clock& clock, const Options& options)
    : impl_(std::make_unique<Impl>(store, clock, options)) {}
Engine::~Engine() = default;

Result<void> Engine::start() { return impl_->start(); }

Result<void> Engine::submit(core::Request request, AnswerCallback answered) {
  if (impl_->stopped) return failure(*impl_->stopped);
  const bool is_worker = is_worker_verb(request.command);
  Result<void> taken;
  if (impl_->is_draining && !is_worker) {
    taken = failure(draining_error());
  } else {
    taken = impl_->mailbox.put(std::move(request), std::move(answered));
  }
  if (!taken) ++impl_->state.counters.refused[static_cast<std::size_t>(taken.error().code)];
  return taken;
}

DemandId Engine::demand(Demand demand, DeliveryCallback delivered) {
  return impl_->dispatcher.add(std::move(demand), std::move(delivered));
}
void Engine::withdraw(DemandId id) { impl_->dispatcher.withdraw(id); }
void Engine::undelivered(std::span<const Delivery> deliveries) {
  impl_->dispatcher.undelivered(deliveries);
}

void Engine::abandon(core::JobId job, const core::LeaseToken& token,
                     const core::Principal& principal, LeaseEnd why) {
  core::Request request{.principal = principal};
  if (why == LeaseEnd::undelivered) {
    request.command = core::Release{.job = job, .token = token, .undelivered = true};
  } else {
    request.command =
        core::Abandon{.job = job, .token = token, .is_server_stop = why == LeaseEnd::server_stop};
  }
  impl_->mailbox.put_own(std::move(request));
}

Result<bool> Engine::run_turn() {
  if (impl_->stopped) return failure(*impl_->stopped);
  Result<bool> more = impl_->turn();
  if (!more) {
    impl_->stopped = more.error();
    impl_->published.is_stopped = true;
    impl_->published.is_ready = false;
    return more;
  }
  impl_->state.time.end_turn(*more ? 0 : impl_->next_turn_in_ms());
  return more;
}
std::int64_t Engine::next_turn_in_ms() const { return impl_->next_turn_in_ms(); }

Result<JobView> Engine::job(core::JobId id) { return inspect_job(impl_->state, id); }
Result<core::JobBody> Engine::job_body(core::JobId id) { return impl_->state.store.read_body(id); }
Result<std::vector<core::AttemptRecord>> Engine::job_history(core::JobId id) {
  return impl_->state.store.read_history(id);
}
Result<std::string> Engine::job_result(core::JobId id) {
  return impl_->state.store.read_result(id);
}
Result<Engine::JobPage> Engine::list_jobs(const store::ScanQuery& query) {
  return inspect_jobs(impl_->state, query);
}

const core::Queue* Engine::find_queue(std::string_view name, std::uint32_t namespace_id) const {
  return impl_->state.registry.queue(namespace_id, name);
}
std::uint64_t Engine::queues_version() const { return impl_->state.registry.queues_version(); }
Result<QueueView> Engine::queue(std::string_view name, std::uint32_t namespace_id) {
  const core::Queue* found = find_queue(name, namespace_id);
  if (found == nullptr) return failure(ErrorCode::not_found, "no such queue: " + std::string(name));
  return inspect_queue(impl_->state, *found);
}
Result<std::vector<QueueView>> Engine::queues(std::uint32_t namespace_id) {
  return inspect_queues(impl_->state, namespace_id);
}

std::vector<core::ApiToken> Engine::tokens() const {
  std::vector<core::ApiToken> all;
  for (const auto& [id, token] : impl_->state.registry.tokens()) all.push_back(token);
  return all;
}
const core::ApiToken* Engine::find_token(std::string_view id) const {
  return impl_->state.registry.token(id);
}
bool Engine::has_tokens() const {
  return impl_->state.registry.has_living_token(impl_->state.clock.wall_now());
}

void Engine::purge(std::string_view queue, core::Principal principal, AnswerCallback answered) {
  impl_->slices.add_purge(std::string(queue), std::move(principal), std::move(answered));
}

void Engine::kick(std::string_view queue, std::uint64_t count, core::Principal principal,
                  AnswerCallback answered) {
  impl_->kicks.add(std::string(queue), count, std::move(principal), std::move(answered));
}
void Engine::look(std::function<void()> look) { impl_->looks.push_back(std::move(look)); }
void Engine::find_first(FirstJobs wanted, FoundCallback found) {
  impl_->finder.add(std::move(wanted), std::move(found));
}
Result<core::JobId> Engine::next_pending(std::string_view queue, std::uint32_t namespace_id) {
  return inspect_next_pending(impl_->state, queue, namespace_id);
}
void Engine::pause_for(std::string_view queue, std::int64_t duration_ms,
                       std::uint32_t namespace_id) {
  impl_->state.pauses.add(namespace_id, queue, duration_ms, impl_->state.clock.boot_ms());
  if (const core::Queue* found = find_queue(queue, namespace_id)) {
    ++impl_->state.counters.tally(found->id).pauses;
  }
}
QueuePause Engine::pause_of(std::string_view queue, std::uint32_t namespace_id) const {
  return impl_->state.pauses.of(namespace_id, queue, impl_->state.clock.boot_ms());
}
Engine::Totals Engine::totals() const {
  const Counters& counters = impl_->state.counters;
  return {.enqueued = counters.enqueued, .expired_leases = counters.expired_leases};
}

std::uint64_t Engine::wait_for_end(core::JobId id, std::int64_t wait_ms,
                                   std::function<void()> ended) {
  const std::int64_t deadline = saturating_add(impl_->state.clock.boot_ms(), wait_ms);
  return impl_->state.waiters.add(id, deadline, std::move(ended));
}
void Engine::withdraw_wait(std::uint64_t wait_id) { impl_->state.waiters.withdraw(wait_id); }

std::uint64_t Engine::subscribe(EventCallback callback) {
  return impl_->state.events.subscribe(std::move(callback));
}
void Engine::unsubscribe(std::uint64_t id) { impl_->state.events.unsubscribe(id); }

Result<void> Engine::backup(const std::string& directory) {
  return impl_->state.store.backup(directory);
}
Result<std::vector<core::AuditRecord>> Engine::audit(std::size_t newest) {
  return impl_->state.store.read_audit(newest);
}

void Engine::drain() {
  impl_->is_draining = true;
  impl_->published.is_draining = true;
}
bool Engine::is_draining() const { return impl_->is_draining; }
std::uint64_t Engine::lease_count() const {
  return impl_->state.leases > 0 ? static_cast<std::uint64_t>(impl_->state.leases) : 0;
}

Result<void> Engine::stop() {
  impl_->published.is_ready = false;
  if (impl_->stopped) return failure(*impl_->stopped);
  WEIR_TRY(impl_->state.sync.sync(impl_->state.store));
  return impl_->state.store.close(impl_->state.time.now());
}

Now Engine::now() const { return impl_->state.time.now(); }
const store::Store& Engine::store() const { return impl_->state.store; }
Published& Engine::published() { return impl_->published; }

}  // namespace weir::engine
