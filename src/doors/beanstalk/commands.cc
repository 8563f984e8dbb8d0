// SPDX-License-Identifier: Apache-2.0
// What each verb does, but for the reserves.
#include <algorithm>
#include <utility>

#include "doors/beanstalk/map.h"
#include "doors/beanstalk/session.h"

namespace weir::doors::beanstalk {
namespace {

constexpr std::uint32_t kTtrSecondsMin = 1;
constexpr std::string_view kBytesType = "application/octet-stream";

// What the body looks like, for those who see the job through other doors; nobody here reads it.
bool looks_like_json(std::string_view body) {
  return !body.empty() && (body.front() == '{' || body.front() == '[');
}

}  // namespace

void Session::run(const Command& command) {
  if (command.verb == Verb::unknown) return answer_now(Reply::unknown_command);
  if (command.verb == Verb::quit) {
    is_closing_ = true;
    return;
  }
  if (!command.is_well_formed) return answer_now(Reply::bad_format);
  ++door_.verb_counts[static_cast<std::size_t>(command.verb)];
  switch (command.verb) {
    case Verb::reserve:
      return reserve(kForEver);
    case Verb::reserve_with_timeout:
      return reserve(command.number > INT32_MAX
                         ? kForEver
                         : static_cast<std::int64_t>(command.number) * kMsPerSecond);
    case Verb::delete_job:
      return delete_job(command.id);
    case Verb::release:
    case Verb::bury:
    case Verb::touch:
      return with_held(command);
    case Verb::use:
      return use(command.tube);
    case Verb::watch:
      return watch(command.tube);
    case Verb::ignore:
      return ignore(command.tube);
    case Verb::list_tube_used:
      append_name(begin_reply(), Reply::using_tube, used_->name);
      return end_reply();
    case Verb::reserve_job:
      note_worker();
      return submit(Verb::reserve_job,
                    core::Claim{.job = core::JobId{command.id},
                                .worker_id = worker_,
                                .owner = core::OwnerKind::connection,
                                .connection = connection_,
                                .is_by_id = true},
                    command.id);
    case Verb::list_tubes_watched:
      return list_watched();
    case Verb::kick:
      return kick(command.number);
    case Verb::kick_job:
      return kick_job(command.id);
    case Verb::peek:
    case Verb::peek_ready:
    case Verb::peek_delayed:
    case Verb::peek_buried:
    case Verb::stats:
    case Verb::stats_job:
    case Verb::stats_tube:
    case Verb::list_tubes:
    case Verb::pause_tube:
      return look(command);
    case Verb::put:
    case Verb::quit:
    case Verb::unknown:
      break;
  }
}

// ---- to the engine and back ----

void Session::submit(Verb verb, core::Command command, std::uint64_t number, std::size_t bytes) {
  const std::uint64_t sequence = add_slot(verb, number);
  // Two words: the callback fits into std::function without memory of its own.
  const Result<void> taken = door_.engine.submit(
      core::Request{.command = std::move(command), .principal = door_.principal},
      [this, sequence](core::Answer got) { answered(sequence, std::move(got)); });
  if (!taken) return answer(sequence, reply_of(taken.error().code));
  slot(sequence).bytes = static_cast<std::uint32_t>(bytes);
  door_.took(bytes);
}

void Session::resubmit(std::uint64_t sequence, core::Command command) {
  const Result<void> taken = door_.engine.submit(
      core::Request{.command = std::move(command), .principal = door_.principal},
      [this, sequence](core::Answer got) { answered(sequence, std::move(got)); });
  if (!taken) return answer(sequence, reply_of(taken.error().code));
  door_.took(0);
}

void Session::answered(std::uint64_t sequence, core::Answer got) {
  Slot& each = slot(sequence);
  door_.answered(each.bytes);
  each.bytes = 0;
  const Error* error = std::get_if<Error>(&got.outcome);
  if (each.verb == Verb::delete_job && error != nullptr && error->code == ErrorCode::lease_lost) {
    // Its lease has run out: it is a job like any other, which may be deleted while nobody holds
    // it.
    return resubmit(sequence, core::Erase{.job = core::JobId{each.number}, .is_by_client = true});
  }
  if (auto* claimed = std::get_if<core::Claimed>(&got.outcome))
    return claimed_by_id(sequence, *claimed);
  if (each.verb == Verb::reserve_job) each.number = 0;  // carries no job
  if (is_gone_) {
    each.is_answered = true;
    return forget_if_over();
  }
  if (const auto* enqueued = std::get_if<core::Enqueued>(&got.outcome)) {
    append_number(begin_answer(sequence), Reply::inserted, enqueued->ids.front().value);
    return end_answer(sequence);
  }
  if (std::holds_alternative<core::Extended>(got.outcome)) {
    held_.set_deadline(each.number, door_.clock.boot_ms() + each.lease_ms);
  }
  answer(sequence, reply_of(each.verb, got));
}

void Session::put(std::string_view body_and_end) {
  const std::size_t size = pending_put_.body_bytes;
  const std::string_view body = body_and_end.substr(0, size);
  if (body_and_end.substr(size) != "\r\n") return answer_now(Reply::expected_crlf);
  if (door_.is_draining || door_.engine.is_draining()) return answer_now(Reply::draining);
  core::Enqueue enqueue{.queue = used_->name, .door = core::Door::beanstalk};
  core::NewJob& job = enqueue.jobs.emplace_back();
  job.body.payload = body;
  if (!looks_like_json(body)) job.body.set_type(kBytesType);
  const core::Placement place = place_of(pending_put_.priority);
  job.priority = place.priority;
  job.rank = place.rank;
  if (pending_put_.delay_s > 0) job.delay_ms = pending_put_.delay_s * kMsPerSecond;
  const std::int64_t lease_ms = std::max(pending_put_.ttr_s, kTtrSecondsMin) * kMsPerSecond;
  if (lease_ms != tube_lease_ms()) job.options.lease_ms = lease_ms;
  submit(Verb::put, std::move(enqueue), 0, size);
}

// The lease of jobs of the used tube that ask for none; 0 when there is no such queue yet.
std::int64_t Session::tube_lease_ms() {
  if (queues_version_ != door_.engine.queues_version()) {
    queues_version_ = door_.engine.queues_version();
    const core::Queue* queue = door_.engine.find_queue(used_->name);
    tube_lease_ms_ = queue == nullptr ? 0 : queue->settings.lease_ms;
  }
  return tube_lease_ms_;
}

void Session::delete_job(std::uint64_t id) {
  const core::JobId job{id};
  if (const HeldJob* held = held_.find(id)) {
    const core::LeaseToken token = held->token;
    held_.erase(id);
    return submit(Verb::delete_job, core::Ack{.job = job, .token = token}, id);
  }
  submit(Verb::delete_job, core::Erase{.job = job, .is_by_client = true}, id);
}

void Session::with_held(const Command& command) {
  const HeldJob* held = held_.find(command.id);
  if (held == nullptr) return answer_now(Reply::not_found);
  const core::JobId job{command.id};
  const core::LeaseToken token = held->token;
  if (command.verb == Verb::touch) {
    const std::int64_t lease_ms = held->lease_ms;
    submit(Verb::touch, core::Extend{.job = job, .token = token, .lease_ms = std::nullopt},
           command.id);
    slots_.back().lease_ms = lease_ms;
    return;
  }
  held_.erase(command.id);
  const core::Placement placement = place_of(command.priority);
  if (command.verb == Verb::bury) {
    return submit(Verb::bury,
                  core::Fail{.job = job, .token = token, .dead = true, .placement = placement},
                  command.id);
  }
  submit(Verb::release,
         core::Release{.job = job,
                       .token = token,
                       .delay_ms = command.delay_s * kMsPerSecond,
                       .placement = placement},
         command.id);
}

void Session::kick_job(std::uint64_t id) {
  core::Kick one{.jobs = {core::JobId{id}}, .subject = "job " + std::to_string(id)};
  submit(Verb::kick_job, std::move(one), id);
}

void Session::note_producer() {
  if (!std::exchange(is_producer_, true)) ++door_.producers;
}

void Session::note_worker() {
  if (!std::exchange(is_worker_, true)) ++door_.workers;
}

// ---- tubes ----

void Session::use(std::string_view name) {
  Tube& tube = door_.tubes.use(name);
  door_.tubes.stop_using(*used_);
  used_ = &tube;
  queues_version_ = 0;
  append_name(begin_reply(), Reply::using_tube, name);
  end_reply();
}

void Session::watch(std::string_view name) {
  const bool is_watched = std::any_of(watched_.begin(), watched_.end(),
                                      [name](const Tube* tube) { return tube->name == name; });
  if (!is_watched && watched_.size() >= core::kClaimQueuesMax) {
    return answer_now(Reply::out_of_memory);
  }
  if (!is_watched) watched_.push_back(&door_.tubes.watch(name));
  append_number(begin_reply(), Reply::watching, watched_.size());
  end_reply();
}

void Session::ignore(std::string_view name) {
  const auto at = std::find_if(watched_.begin(), watched_.end(),
                               [name](const Tube* tube) { return tube->name == name; });
  if (at != watched_.end()) {
    if (watched_.size() == 1) return answer_now(Reply::not_ignored);
    Tube* tube = *at;
    watched_.erase(at);
    door_.tubes.stop_watching(*tube);
  }
  append_number(begin_reply(), Reply::watching, watched_.size());
  end_reply();
}

void Session::list_watched() {
  std::vector<std::string_view> names;
  for (const Tube* tube : watched_) names.push_back(tube->name);
  append_text(begin_reply(), yaml_list(names));
  end_reply();
}

}  // namespace weir::doors::beanstalk
