// SPDX-License-Identifier: Apache-2.0
#include "differential/command_maker.h"

#include <array>

namespace weir::differential {

core::Request CommandMaker::next(store::Store& model, Now now) {
  core::Request request;
  request.principal.id = "local";
  switch (prng_.up_to(19)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      request.command = enqueue(now);
      break;
    case 5:
    case 6:
    case 7:
    case 8:
    case 9:
      request.command = claim(model);
      break;
    case 10:
    case 11:
    case 12:
    case 13:
    case 14:
      request.command = worker_verb(now);
      break;
    case 15:
    case 16:
    case 17:
      request.command = operator_verb(model, now);
      break;
    case 18:
      request.command = queue_verb(model);
      break;
    default:
      request.command = now_and_then(3) ? token_verb() : queue_verb(model);
      break;
  }
  // Few keys and few bodies: repeats, mismatches and first uses all happen.
  if (now_and_then(8)) {
    request.idempotency =
        core::IdempotencyRef{.scope = {7, prng_.up_to(30)}, .request = {9, prng_.up_to(1)}};
  }
  ++commands_;
  return request;
}

void CommandMaker::learn(const core::Request&, const core::Answer& answer) {
  if (const auto* enqueued = std::get_if<core::Enqueued>(&answer.outcome)) {
    jobs_.insert(jobs_.end(), enqueued->ids.begin(), enqueued->ids.end());
  } else if (const auto* claimed = std::get_if<core::Claimed>(&answer.outcome)) {
    held_.push_back({claimed->job, claimed->token});
  }
  // The old ones are mostly ended; keep the world small enough for commands to meet.
  if (jobs_.size() > 200) jobs_.erase(jobs_.begin(), jobs_.begin() + 50);
  if (held_.size() > 60) held_.erase(held_.begin(), held_.begin() + 20);
}

std::string CommandMaker::one_of(const char* stem, std::uint64_t count) {
  return stem + std::to_string(prng_.up_to(count - 1));
}

core::JobId CommandMaker::some_job() {
  if (jobs_.empty() || now_and_then(50)) return {prng_.up_to(5000) + 1};
  return jobs_[prng_.up_to(jobs_.size() - 1)];
}

// One that has a time to wait for, if there is one.
core::JobId CommandMaker::some_waiting(store::Store& model) {
  store::ScanQuery query;
  for (const core::JobState state : {core::JobState::scheduled, core::JobState::failed}) {
    query.states |= 1U << static_cast<unsigned>(state);
  }
  query.limit = 1 + prng_.up_to(5);
  const auto page = model.scan_page(query);
  return page && !page->jobs.empty() ? page->jobs.back().id : some_job();
}

core::NewJob CommandMaker::new_job(Now now) {
  core::NewJob job;
  job.body.payload = "{\"n\":" + std::to_string(commands_) + "}";
  if (now_and_then(20)) job.body.payload.append(prng_.up_to(20'000), 'x');
  if (now_and_then(4)) job.body.headers = {{"traceparent", std::to_string(commands_)}};
  if (now_and_then(2)) job.kind = one_of("kind-", 3);
  if (now_and_then(4)) {
    job.priority_class =
        static_cast<core::PriorityClass>(prng_.up_to(core::kPriorityClassCount - 1));
  }
  if (now_and_then(4)) job.priority = static_cast<std::int32_t>(prng_.between(-3, 3));
  if (now_and_then(10)) job.rank = prng_.between(0, 9);
  if (now_and_then(6)) {
    job.delay_ms = prng_.between(0, 20'000);
  } else if (now_and_then(6)) {
    job.run_at = now.wall.plus(prng_.between(-5'000, 30'000));
  }
  if (now_and_then(6)) job.ttl_ms = prng_.between(1, 40'000);
  if (now_and_then(3)) job.group = one_of("group-", 4);
  if (now_and_then(8)) job.limit_key = one_of("tenant-", 3);
  if (now_and_then(4)) {
    job.unique_key = one_of("unique-", 12);
    if (now_and_then(3)) job.unique_window_ms = prng_.between(1, 60'000);
  }
  if (now_and_then(4)) job.tags = {one_of("tag-", 4), one_of("tag-", 4)};
  if (now_and_then(8)) job.external_id = "external-" + std::to_string(commands_);
  if (now_and_then(5)) job.options.max_attempts = static_cast<std::uint32_t>(prng_.between(1, 3));
  if (now_and_then(8)) job.options.retry = core::exp2_policy();
  if (now_and_then(8)) job.options.lease_ms = prng_.between(1'000, 30'000);
  if (now_and_then(8)) job.options.timeout_ms = prng_.between(1'000, 60'000);
  return job;
}

core::Command CommandMaker::enqueue(Now now) {
  core::Enqueue command{.queue = one_of("queue-", 4), .jobs = {}, .is_batch = now_and_then(3)};
  if (now_and_then(5)) {  // into a queue of its own, which no patch bounds
    command.queue = "tube";
    command.door = core::Door::beanstalk;
  }
  const std::uint64_t count = command.is_batch ? 1 + prng_.up_to(7) : 1;
  for (std::uint64_t i = 0; i < count; ++i) command.jobs.push_back(new_job(now));
  return command;
}

core::Command CommandMaker::claim(store::Store& model) {
  std::vector<core::LaneHead> heads;
  model.heads({}, 3, heads);
  core::Claim command{.job = some_job(), .worker_id = one_of("worker-", 3)};
  if (!heads.empty() && !now_and_then(10)) {
    const auto& places = heads[prng_.up_to(heads.size() - 1)].first;
    command.job = places[prng_.up_to(places.size() - 1)].id;
  }
  if (now_and_then(4)) command.lease_ms = prng_.between(1'000, 60'000);
  if (now_and_then(6)) {
    command.is_by_id = now_and_then(2);
    if (command.is_by_id) command.job = some_job();
    command.owner = core::OwnerKind::connection;
    command.connection = prng_.up_to(1000);
  }
  return command;
}

core::Command CommandMaker::worker_verb(Now now) {
  Held held{some_job(), {.attempt = 1, .proof = {1, 2}}};
  if (!held_.empty() && !now_and_then(20)) {
    // Mostly the youngest lease, else an old one.
    const std::size_t last = held_.size() - 1;
    held = held_[now_and_then(3) ? prng_.up_to(last)
                                 : last - prng_.up_to(std::min<std::size_t>(last, 5))];
  }
  switch (prng_.up_to(9)) {
    case 0:
    case 1:
    case 2: {
      core::Ack command{.job = held.job, .token = held.token};
      if (now_and_then(2)) command.result = "{\"at\":" + std::to_string(commands_) + "}";
      return command;
    }
    case 3:
    case 4: {
      core::Fail command{.job = held.job, .token = held.token};
      command.error = {.error_class = now_and_then(4) ? "business" : "connection",
                       .code = one_of("E", 3),
                       .http_status = now_and_then(3) ? 503 : 0,
                       .message = "attempt failed at command " + std::to_string(commands_)};
      if (now_and_then(4)) command.retry_after_ms = prng_.between(0, 30'000);
      command.dead = now_and_then(6);
      if (now_and_then(4)) command.placement = placement();
      return command;
    }
    case 5: {
      if (now_and_then(2)) {
        return core::Abandon{
            .job = held.job, .token = held.token, .is_server_stop = now_and_then(4)};
      }
      core::Release command{.job = held.job, .token = held.token};
      if (now_and_then(3)) command.delay_ms = prng_.between(0, 10'000);
      command.place = static_cast<core::ReleasePlace>(prng_.up_to(2));
      command.undelivered = now_and_then(5);
      if (now_and_then(4)) command.placement = placement();
      return command;
    }
    case 6: {
      core::Snooze command{.job = held.job, .token = held.token};
      if (now_and_then(2)) {
        command.delay_ms = prng_.between(0, 10'000);
      } else {
        command.until = now.wall.plus(prng_.between(-1'000, 20'000));
      }
      return command;
    }
    case 7:
    case 8: {
      core::Extend command{.job = held.job, .token = held.token};
      if (now_and_then(2)) command.lease_ms = prng_.between(1'000, 60'000);
      return command;
    }
    default: {
      core::Progress command{.job = held.job, .token = held.token};
      command.percent = static_cast<std::uint8_t>(prng_.up_to(100));
      if (now_and_then(2)) command.message = one_of("step ", 9);
      return command;
    }
  }
}

core::Placement CommandMaker::placement() {
  core::Placement placement{.priority = static_cast<std::int32_t>(prng_.between(-3, 3))};
  if (now_and_then(3)) placement.rank = prng_.between(0, 9);
  return placement;
}

core::Command CommandMaker::operator_verb(store::Store& model, Now now) {
  const core::JobId job = some_job();
  switch (prng_.up_to(7)) {
    case 0:
    case 1:
      return core::Cancel{.job = job, .reason = "no longer wanted"};
    case 2:
      return core::Promote{now_and_then(2) ? job : some_waiting(model)};
    case 3:
    case 4:
      return core::Replay{.job = job, .reason = "fixed"};
    case 5: {
      if (now_and_then(2)) return core::Erase{.job = job, .is_by_client = now_and_then(2)};
      return core::Kick{.jobs = {job, some_waiting(model), some_job()}, .subject = "some jobs"};
    }
    default: {
      core::Edit command{.job = job};
      if (const auto body = model.read_body(job)) command.stored_body = *body;
      if (now_and_then(3)) command.if_match = 1 + prng_.up_to(3);
      if (command.stored_body && now_and_then(2)) command.payload = "\"edited\"";
      if (now_and_then(3)) {
        command.priority_class =
            static_cast<core::PriorityClass>(prng_.up_to(core::kPriorityClassCount - 1));
      }
      if (now_and_then(3)) command.priority = static_cast<std::int32_t>(prng_.between(-5, 5));
      if (now_and_then(4)) command.run_at = now.wall.plus(prng_.between(-1'000, 20'000));
      if (now_and_then(4)) command.tags = std::vector<std::string>{one_of("tag-", 4)};
      return command;
    }
  }
}

core::QueuePatch CommandMaker::patch() {
  core::QueuePatch patch;
  if (now_and_then(2)) patch.paused = now_and_then(4);
  if (now_and_then(3)) patch.draining = now_and_then(6);
  if (now_and_then(4)) {
    patch.priority_class =
        static_cast<core::PriorityClass>(prng_.up_to(core::kPriorityClassCount - 1));
  }
  if (now_and_then(4)) patch.max_attempts = static_cast<std::uint32_t>(prng_.between(1, 6));
  if (now_and_then(4)) patch.lease_ms = prng_.between(1'000, 60'000);
  if (now_and_then(6)) patch.ttl_ms = prng_.between(0, 60'000);
  if (now_and_then(6)) patch.max_depth = prng_.up_to(60);
  if (now_and_then(4)) patch.completed_retention_ms = prng_.between(1'000, 100'000);
  if (now_and_then(4)) patch.dead_retention_ms = prng_.between(1'000, 200'000);
  if (now_and_then(4)) patch.completed_max = prng_.up_to(10);
  if (now_and_then(8)) patch.order = static_cast<core::QueueOrder>(prng_.up_to(2));
  if (now_and_then(8)) patch.delivery = static_cast<core::DeliveryMode>(prng_.up_to(1));
  if (now_and_then(8)) patch.claim = static_cast<core::ClaimMode>(prng_.up_to(1));
  return patch;
}

core::Command CommandMaker::queue_verb(store::Store& model) {
  const std::string queue = one_of("queue-", 4);
  switch (prng_.up_to(7)) {
    case 0:
      return core::DeleteQueue{.queue = queue, .force = now_and_then(2)};
    case 1: {
      core::Purge command{.queue = queue, .slice = {}};
      store::ScanQuery query;
      query.limit = 1 + prng_.up_to(5);
      if (const auto page = model.scan_page(query)) {
        for (const core::Job& job : page->jobs) command.slice.push_back(job.id);
      }
      return command;
    }
    default:
      return core::PutQueue{.queue = queue, .patch = patch(), .replace = now_and_then(3)};
  }
}

core::Command CommandMaker::token_verb() {
  const std::string id = one_of("wt_00000000000", 3);
  if (now_and_then(3)) return core::RevokeToken{id};
  core::ApiToken token;
  token.id = id;
  token.name = one_of("name-", 5);
  token.secret_sha256.fill(static_cast<std::uint8_t>(prng_.up_to(255)));
  token.scopes = static_cast<std::uint8_t>(1 + prng_.up_to(30));
  return core::PutToken{token};
}

std::string name_of(const core::Command& command) {
  static constexpr std::array kNames = {
      "Enqueue",      "Claim",     "Ack",         "Fail",      "Release",  "Snooze",
      "Extend",       "Progress",  "Cancel",      "Promote",   "Replay",   "Erase",
      "Edit",         "BecomeDue", "ExpireLease", "ExpireTtl", "Retain",   "ForgetIdempotency",
      "ForgetUnique", "PutQueue",  "DeleteQueue", "Purge",     "PutToken", "RevokeToken",
      "Abandon",      "Kick"};
  static_assert(kNames.size() == std::variant_size_v<core::Command>);
  return kNames[command.index()];
}

}  // namespace weir::differential
