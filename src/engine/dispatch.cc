// SPDX-License-Identifier: Apache-2.0
#include "engine/dispatch.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/log.h"

namespace weir::engine {
namespace {

// Picks of one round, hence of one commit of claims. Lanes show so many places: a bound on what a
// round looks at.
constexpr std::size_t kRoundPicksMax = 256;
constexpr std::size_t kSkippedMax = 1024;
constexpr std::int64_t kBlockedMs = 100;
constexpr DemandId kLastDemand = std::numeric_limits<DemandId>::max();

}  // namespace

DemandId Dispatcher::add(Demand demand, DeliveryCallback delivered) {
  return book_.add(std::move(demand), std::move(delivered), state_.clock.boot_ms());
}

void Dispatcher::withdraw(DemandId id) {
  if (!book_.withdraw(id) && handing_out_.contains(id)) withdrawn_.insert(id);
}

void Dispatcher::undelivered(std::span<const Delivery> deliveries) {
  for (const Delivery& delivery : deliveries) {
    mailbox_.put_own(core::Request{.command = core::Release{.job = delivery.job.id,
                                                            .token = delivery.claimed.token,
                                                            .undelivered = true},
                                   .principal = server_for(delivery.job)});
  }
}

core::Principal Dispatcher::server_for(const core::Job& job) const {
  const core::Queue* queue = state_.registry.queue(job.queue);
  return {.id = "server", .namespace_id = queue == nullptr ? 0 : queue->namespace_id};
}

// A job of an at-most-once queue is over at its claim and has no lease; its worker is told how long
// one would be.
WallTime Dispatcher::lease_end(const core::Job& job) const {
  const Now now = state_.time.now();
  if (job.lease) return to_wall(job.lease->deadline_at, now);
  const core::Queue* queue = state_.registry.queue(job.queue);
  return queue == nullptr ? now.wall : now.wall.plus(core::effective_lease_ms(job, *queue));
}

Result<bool> Dispatcher::run() {
  stir_dirty();
  skipped_.clear();
  const std::int64_t boot_ms = state_.time.boot_ms();
  std::size_t served = 0;
  while (blocked_until_boot_ms_ <= boot_ms && !book_.stirred().empty() &&
         served < core::kTurnCommandsMax) {
    WEIR_TRY(sync_enqueues());
    std::vector<Share> shares = plan();
    for (const Share& share : shares) served += share.jobs.size();
    if (!shares.empty()) WEIR_TRY(claim(shares));
    // Many jobs stand in lanes and cannot be claimed: let the ticker take them away first.
    if (skipped_.size() > kSkippedMax) blocked_until_boot_ms_ = boot_ms + kBlockedMs;
  }
  answer_expired();
  return blocked_until_boot_ms_ <= boot_ms && !book_.stirred().empty();
}

void Dispatcher::stir_dirty() {
  for (const auto& [namespace_id, name] : state_.pauses.take_ended(state_.time.boot_ms())) {
    book_.stir_queue(namespace_id, name);
  }
  for (const core::QueueId id : state_.dirty_queues) {
    if (const core::Queue* queue = state_.registry.queue(id))
      book_.stir_queue(queue->namespace_id, queue->name);
  }
  state_.dirty_queues.clear();
}

Result<void> Dispatcher::sync_enqueues() {
  for (const auto& [serial, line] : book_.stirred()) {
    for (const std::string& name : line->queues) {
      const core::Queue* queue = state_.registry.queue(line->namespace_id, name);
      if (queue != nullptr && state_.sync.has_unsynced_enqueue(queue->id))
        return state_.sync.sync(state_.store);
    }
  }
  return {};
}

std::vector<Dispatcher::Share> Dispatcher::plan() {
  std::vector<Share> shares;
  // Lines by the demand that is next in them: first come first served over all lines.
  std::map<DemandId, OpenLine> order;
  std::uint64_t want = 0;
  std::size_t places = 1;
  for (const auto& [serial, line] : book_.stirred()) {
    const auto& [id, front] = *line->waiting.begin();
    order.emplace(id, OpenLine{.line = line});
    want += line->credit;
    places = std::max<std::size_t>(places, front.demand.credit);
  }
  std::size_t left = static_cast<std::size_t>(std::min<std::uint64_t>(want, kRoundPicksMax));
  places = std::max(places, left);
  picked_.clear();
  while (!order.empty() && left > 0) {
    const DemandId first = order.begin()->first;
    OpenLine open = std::move(order.begin()->second);
    order.erase(order.begin());
    const DemandId end = order.empty() ? kLastDemand : order.begin()->first;
    if (!open.is_fetched) fetch(open, places);
    const std::size_t before = picked_.size();
    const RunEnd run_end = serve_run(open, first, end, left, shares);
    left -= std::min(left, picked_.size() - before);
    if (run_end.is_dry) {
      book_.settle(*open.line);
    } else if (run_end.next != 0) {
      order.emplace(run_end.next, std::move(open));
    }
  }
  return shares;
}

void Dispatcher::fetch(OpenLine& open, std::size_t places) {
  open.is_fetched = true;
  core::LaneFilter filter{.classes = open.line->classes, .kinds = open.line->kinds};
  for (const std::string& name : open.line->queues) {
    const core::Queue* queue = state_.registry.queue(open.line->namespace_id, name);
    if (queue == nullptr || state_.pauses.is_closed(open.line->namespace_id, name)) continue;
    filter.queues.push_back(queue->id);
  }
  if (filter.queues.empty()) return;  // an empty filter would mean every queue
  state_.store.heads(filter, places + skipped_.size(), open.heads);
  if (skipped_.empty()) return;
  for (core::LaneHead& head : open.heads) {
    std::erase_if(head.first,
                  [&](const core::LaneOrder& order) { return skipped_.contains(order.id); });
  }
}

Dispatcher::RunEnd Dispatcher::serve_run(OpenLine& open, DemandId first, DemandId end,
                                         std::size_t left, std::vector<Share>& shares) {
  // What other lines have picked stands at the front of the lanes that both see.
  for (core::LaneHead& head : open.heads) {
    auto keep = head.first.begin();
    while (keep != head.first.end() && picked_.contains(keep->id)) ++keep;
    head.first.erase(head.first.begin(), keep);
  }
  std::erase_if(open.heads, [](const core::LaneHead& head) { return head.first.empty(); });

  std::uint32_t credit = 0;
  auto it = open.line->waiting.find(first);
  auto stop = it;
  for (; stop != open.line->waiting.end() && stop->first < end; ++stop) {
    const std::uint32_t wants = stop->second.demand.credit;
    // The first of a round gets all it asks for; else a demand that does not fit waits for the next
    // round.
    if (credit + wants > left && !(picked_.empty() && credit == 0)) break;
    credit += wants;
  }
  if (credit == 0) return RunEnd{};
  std::vector<core::Pick> picks;
  if (!open.heads.empty()) {
    picks = core::allot(open.heads, credit, state_.time.now(), pick_count_, [&](core::QueueId id) {
      const core::Queue* queue = state_.registry.queue(id);
      return queue == nullptr ? core::QueueOrder::priority : queue->settings.order;
    });
  }
  pick_count_ += picks.size();
  std::size_t next = 0;
  for (; it != stop && next < picks.size(); ++it) {
    Share share{.demand = it->first};
    for (std::uint32_t n = 0; n < it->second.demand.credit && next < picks.size(); ++n, ++next) {
      share.jobs.push_back(picks[next].order.id);
      picked_.insert(picks[next].order.id);
    }
    shares.push_back(std::move(share));
  }
  if (picks.size() < credit) return RunEnd{.is_dry = true};
  return RunEnd{.next = stop == open.line->waiting.end() ? 0 : stop->first};
}

Result<void> Dispatcher::claim(std::vector<Share>& shares) {
  std::vector<Work>& works = claims_;
  works.clear();
  std::vector<std::size_t> share_of;
  for (std::size_t s = 0; s < shares.size(); ++s) {
    const Demand& demand = book_.demand(shares[s].demand);
    shares[s].deliveries.reserve(shares[s].jobs.size());
    for (const core::JobId job : shares[s].jobs) {
      core::Request& request = works.emplace_back().request;
      request.command = core::Claim{.job = job,
                                    .worker_id = demand.worker_id,
                                    .owner = demand.owner,
                                    .connection = demand.connection,
                                    .lease_ms = demand.lease_ms};
      request.principal = demand.principal;
      share_of.push_back(s);
    }
  }
  std::vector<std::size_t> counted(works.size(), 0);
  const auto within_bytes = [&](std::size_t w, core::ChangeSet& change) {
    const auto* claimed = std::get_if<core::Claimed>(&change.answer.outcome);
    if (claimed == nullptr) return true;
    Share& share = shares[share_of[w]];
    share.bytes -= std::exchange(counted[w], 0);
    const std::size_t bytes = change.jobs.front().after.payload_bytes;
    if (share.bytes > 0 && share.bytes + bytes > book_.demand(share.demand).body_bytes_max)
      return false;
    // An empty payload counts too: the answer must not grow without end.
    counted[w] = bytes + 1;
    share.bytes += counted[w];
    return true;
  };
  const auto keep_job = [&](std::size_t w, core::ChangeSet& change) {
    const auto* claimed = std::get_if<core::Claimed>(&change.answer.outcome);
    if (claimed == nullptr) return;
    shares[share_of[w]].deliveries.push_back(
        Delivery{.job = std::move(change.jobs.front().after), .claimed = *claimed});
  };
  WEIR_TRY(committer_.run(works, within_bytes, keep_job));
  const bool needs_sync =
      std::any_of(works.begin(), works.end(), [](const Work& w) { return w.is_sync; });
  if (needs_sync) WEIR_TRY(state_.sync.sync(state_.store));
  look_at_answers(works, share_of, shares);
  committer_.push_releases(works);
  WEIR_TRY(read_bodies(shares));
  hand_out(shares);
  return {};
}

// Why some got nothing: did not fit into the answer, not claimable, no room.
void Dispatcher::look_at_answers(const std::vector<Work>& works,
                                 const std::vector<std::size_t>& share_of,
                                 const std::vector<Share>& shares) {
  for (std::size_t w = 0; w < works.size(); ++w) {
    const Work& work = works[w];
    if (!work.has_answer) {
      // Others may have it at once.
      const Demand& demand = book_.demand(shares[share_of[w]].demand);
      for (const std::string& queue : demand.queues)
        book_.stir_queue(demand.principal.namespace_id, queue);
      continue;
    }
    if (std::holds_alternative<core::Claimed>(work.answer.outcome) && work.seq != 0) continue;
    skipped_.insert(std::get<core::Claim>(work.request.command).job);
    const auto* error = std::get_if<Error>(&work.answer.outcome);
    if (error != nullptr && !work.is_contended &&
        error_info(error->code).retry == RetryAdvice::later) {
      blocked_until_boot_ms_ = state_.time.boot_ms() + 10 * kBlockedMs;
      refused_until_boot_ms_ = blocked_until_boot_ms_;
    }
  }
}

// A job whose body can't be read is not handed out but buried.
Result<void> Dispatcher::read_bodies(std::vector<Share>& shares) {
  for (Share& share : shares) {
    for (std::size_t i = 0; i < share.deliveries.size();) {
      Delivery& delivery = share.deliveries[i];
      Result<core::JobBody> body = state_.store.read_body(delivery.job.id);
      if (!body) {
        if (body.error().code == ErrorCode::io_error) return failure(body.error());
        WEIR_TRY(bury(delivery, body.error()));
        share.deliveries.erase(share.deliveries.begin() + static_cast<std::ptrdiff_t>(i));
        continue;
      }
      delivery.body = *std::move(body);
      delivery.lease_expires_at = lease_end(delivery.job);
      delivery.queue_name = state_.registry.queue_name(delivery.job.queue);
      ++i;
    }
  }
  return {};
}

Result<void> Dispatcher::bury(const Delivery& delivery, const Error& error) {
  log::error("job cannot be read and goes to the dead",
             {log::field("job", delivery.job.id.value), log::field("error", error.detail)});
  Work work;
  work.request = core::Request{
      .command = core::Fail{.job = delivery.job.id,
                            .token = delivery.claimed.token,
                            .error = {.error_class = "corruption", .message = error.detail},
                            .dead = true},
      .principal = server_for(delivery.job)};
  WEIR_TRY(committer_.run(std::span(&work, 1)));
  committer_.push_release(std::move(work));
  return {};
}

void Dispatcher::hand_out(std::vector<Share>& shares) {
  std::vector<std::pair<DeliveryCallback, Share*>> calls;
  for (Share& share : shares) {
    if (share.deliveries.empty()) {
      book_.stir_line_of(share.demand);  // all its picks were lost: look again
      continue;
    }
    calls.emplace_back(book_.take(share.demand).delivered, &share);
    handing_out_.insert(share.demand);
  }
  for (auto& [delivered, share] : calls) {
    handing_out_.erase(share->demand);
    if (withdrawn_.erase(share->demand) > 0) {
      undelivered(share->deliveries);
    } else {
      delivered(std::move(share->deliveries));
    }
  }
}

void Dispatcher::answer_expired() {
  // While the store takes no claims nobody looks at the lines: who has waited long enough gets
  // nothing, instead of no answer.
  const std::int64_t boot_ms = state_.time.boot_ms();
  std::vector<Standing> expired = book_.take_expired(boot_ms, refused_until_boot_ms_ > boot_ms);
  for (Standing& standing : expired) standing.delivered(std::vector<Delivery>{});
}

void Dispatcher::refuse_all() {
  std::vector<Standing> all = book_.take_all();
  for (Standing& standing : all) {
    standing.delivered(failure(Error{.code = ErrorCode::unavailable,
                                     .detail = "the server is stopping",
                                     .retry_after_ms = 1000}));
  }
}

std::int64_t Dispatcher::next_in_ms(std::int64_t boot_ms) const {
  std::int64_t at = book_.next_deadline_boot_ms();
  if (book_.size() > 0) at = std::min(at, state_.pauses.next_boot_ms());
  if (!state_.dirty_queues.empty() && book_.size() > 0) at = boot_ms;
  if (!book_.stirred().empty()) at = std::min(at, std::max(boot_ms, blocked_until_boot_ms_));
  return std::max<std::int64_t>(0, at - boot_ms);
}

}  // namespace weir::engine
