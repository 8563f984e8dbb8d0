// SPDX-License-Identifier: Apache-2.0
// The dispatch over commands, and what is the same for all of them: idempotency, refusals, the
// reserve.
#include "core/decide.h"

#include <utility>

#include "base/assert.h"
#include "core/job/transitions/transition.h"
#include "core/limits.h"

namespace weir::core {
namespace {

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};

void read_queue_name(const Request& request, const std::string& name, ReadSet& out) {
  const std::uint32_t namespace_id = request.principal.namespace_id;
  // Most of a turn is about few queues.
  const QueueName* last = out.queue_names.empty() ? nullptr : &out.queue_names.back();
  if (last != nullptr && last->name == name && last->namespace_id == namespace_id) return;
  out.queue_names.push_back({.namespace_id = namespace_id, .name = name});
}

struct Reader {
  const Request& request;
  ReadSet& out;

  void operator()(const Enqueue& c) const {
    read_queue_name(request, c.queue, out);
    for (const NewJob& job : c.jobs) {
      if (job.unique_key.empty()) continue;
      out.unique_keys.emplace_back(
          QueueName{.namespace_id = request.principal.namespace_id, .name = c.queue},
          job.unique_key);
    }
  }
  void operator()(const PutQueue& c) const { read_queue_name(request, c.queue, out); }
  void operator()(const DeleteQueue& c) const { read_queue_name(request, c.queue, out); }
  void operator()(const Purge& c) const {
    read_queue_name(request, c.queue, out);
    out.jobs.insert(out.jobs.end(), c.slice.begin(), c.slice.end());
  }
  void operator()(const Kick& c) const {
    out.jobs.insert(out.jobs.end(), c.jobs.begin(), c.jobs.end());
  }
  void operator()(const ForgetIdempotency& c) const { out.idempotency.push_back(c.scope); }
  void operator()(const ForgetUnique& c) const {
    out.unique_keys_by_id.emplace_back(c.queue, c.key);
  }
  void operator()(const PutToken& c) const { out.tokens.push_back(c.token.id); }
  void operator()(const RevokeToken& c) const { out.tokens.push_back(c.id); }
  // Every other command is about one job.
  template <typename JobCommand>
  void operator()(const JobCommand& c) const {
    out.jobs.push_back(c.job);
  }
};

Decided dispatch(Deciding& d, const Command& command) {
  return std::visit(Overloaded{
                        [&](const Enqueue& c) { return decide_enqueue(d, c); },
                        [&](const Claim& c) { return decide_claim(d, c); },
                        [&](const Ack& c) { return decide_ack(d, c); },
                        [&](const Fail& c) { return decide_fail(d, c); },
                        [&](const Release& c) { return decide_release(d, c); },
                        [&](const Abandon& c) { return decide_abandon(d, c); },
                        [&](const Snooze& c) { return decide_snooze(d, c); },
                        [&](const Extend& c) { return decide_extend(d, c); },
                        [&](const Progress& c) { return decide_progress(d, c); },
                        [&](const Cancel& c) { return decide_cancel(d, c); },
                        [&](const Promote& c) { return decide_promote(d, c); },
                        [&](const Replay& c) { return decide_replay(d, c); },
                        [&](const Erase& c) { return decide_erase(d, c); },
                        [&](const Kick& c) { return decide_kick(d, c); },
                        [&](const Edit& c) { return decide_edit(d, c); },
                        [&](const BecomeDue& c) { return decide_become_due(d, c); },
                        [&](const ExpireLease& c) { return decide_expire_lease(d, c); },
                        [&](const ExpireTtl& c) { return decide_expire_ttl(d, c); },
                        [&](const Retain& c) { return decide_retain(d, c); },
                        [&](const ForgetIdempotency& c) { return decide_forget_idempotency(d, c); },
                        [&](const ForgetUnique& c) { return decide_forget_unique(d, c); },
                        [&](const PutQueue& c) { return decide_put_queue(d, c); },
                        [&](const DeleteQueue& c) { return decide_delete_queue(d, c); },
                        [&](const Purge& c) { return decide_purge(d, c); },
                        [&](const PutToken& c) { return decide_put_token(d, c); },
                        [&](const RevokeToken& c) { return decide_revoke_token(d, c); },
                    },
                    command);
}

// What goes on while the store is full: all that only drains it, or that a running worker waits
// for.
bool may_use_reserve(const Command& command) {
  return std::visit(Overloaded{
                        [](const Enqueue&) { return false; },
                        [](const Edit&) { return false; },
                        [](const PutQueue&) { return false; },
                        [](const PutToken&) { return false; },
                        [](const Promote&) { return false; },
                        [](const Replay&) { return false; },
                        [](const Kick&) { return false; },
                        [](const auto&) { return true; },
                    },
                    command);
}

// Saturation and faults pass; a repeat must be decided anew.
bool is_kept(const Outcome& outcome) {
  const Error* error = std::get_if<Error>(&outcome);
  if (error == nullptr) return true;
  const int status = error_info(error->code).http_status;
  return status < 500 && status != 429;
}

void decide_fresh(const View& view, const Request& request, Context& context, ChangeSet& out) {
  Deciding d{.view = view, .principal = request.principal, .context = context, .out = out};
  Decided decided = dispatch(d, request.command);
  if (!decided) {
    out.clear();
    out.answer.outcome = std::move(decided).error();
  } else {
    out.answer.outcome = *std::move(decided);
  }
  if (out.is_empty()) {
    out.commit_class = CommitClass::none;
    out.answer.durable = true;
  } else {
    WEIR_ASSERT(out.commit_class != CommitClass::none, request.command.index());
    out.may_use_reserve = may_use_reserve(request.command);
  }
}

void answer_only(Answer answer, ChangeSet& out) {
  out.clear();
  out.answer = std::move(answer);
}

void refuse(ErrorCode code, std::string detail, ChangeSet& out) {
  answer_only({.outcome = Error{.code = code, .detail = std::move(detail)}}, out);
}

void repeat_answer(const View& view, const IdempotencyRef& key, const IdempotencyEntry& entry,
                   ChangeSet& out) {
  if (entry.request != key.request) {
    return refuse(ErrorCode::idempotency_mismatch,
                  "this Idempotency-Key was used with another request", out);
  }
  if (view.is_idempotency_of_turn(key.scope)) {
    return refuse(ErrorCode::conflict, "the first request with this Idempotency-Key still runs",
                  out);
  }
  Result<Answer> stored = decode_answer(entry.answer);
  if (!stored) return answer_only({.outcome = std::move(stored).error()}, out);
  stored->replayed = true;
  answer_only(*std::move(stored), out);
}

void remember_answer(const IdempotencyRef& key, Context& context, const Command& command,
                     ChangeSet& out) {
  std::string answer = encode_answer(out.answer);
  // Not reachable with the bounds on what a request may hold; a store must never get an entry of
  // any size.
  if (answer.size() > kStoredAnswerBytesMax) {
    return refuse(ErrorCode::too_large, "the answer is too large to be kept for its key", out);
  }
  out.idempotency.push_back({.after = {.scope = key.scope,
                                       .request = key.request,
                                       .expires_at = context.now.store.plus(kIdempotencyMs),
                                       .answer = std::move(answer)}});
  if (out.commit_class == CommitClass::none || out.commit_class == CommitClass::ride) {
    out.commit_class = CommitClass::sync;
  }
  out.may_use_reserve = may_use_reserve(command);
}

}  // namespace

void reads(const Request& request, ReadSet& out) {
  std::visit(Reader{request, out}, request.command);
  if (request.idempotency) out.idempotency.push_back(request.idempotency->scope);
}

void decide(const View& view, const Request& request, Context& context, ChangeSet& out) {
  out.clear();
  if (!request.idempotency) return decide_fresh(view, request, context, out);
  // An entry counts until it is forgotten, which is at most a tick after its time: a store refuses
  // to write over one.
  const IdempotencyRef& key = *request.idempotency;
  const IdempotencyEntry* entry = view.idempotency(key.scope);
  if (entry != nullptr) return repeat_answer(view, key, *entry, out);
  decide_fresh(view, request, context, out);
  const bool is_claim = std::holds_alternative<Claim>(request.command);
  if (!is_claim && is_kept(out.answer.outcome)) {
    remember_answer(key, context, request.command, out);
  }
}

ChangeSet decide(const View& view, const Request& request, Context& context) {
  ChangeSet out;
  decide(view, request, context, out);
  return out;
}

std::uint32_t effective_max_attempts(const Job& job, const Queue& queue) {
  if (job.options) {
    if (job.options->max_attempts) return *job.options->max_attempts;
    if (job.options->retry) return job.options->retry->max_attempts;
  }
  return queue.settings.max_attempts;
}

const RetryPolicy& effective_retry(const Job& job, const Queue& queue) {
  return job.options && job.options->retry ? *job.options->retry : queue.settings.retry;
}

std::int64_t effective_lease_ms(const Job& job, const Queue& queue) {
  return job.options && job.options->lease_ms ? *job.options->lease_ms : queue.settings.lease_ms;
}

std::int64_t effective_timeout_ms(const Job& job, const Queue& queue) {
  return job.options && job.options->timeout_ms ? *job.options->timeout_ms
                                                : queue.settings.timeout_ms;
}

}  // namespace weir::core
