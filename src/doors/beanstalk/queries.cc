// SPDX-License-Identifier: Apache-2.0
// The verbs that look, and those for operators: they come after everything that the connection has
// sent before.
#include <utility>

#include "doors/beanstalk/map.h"
#include "doors/beanstalk/session.h"
#include "doors/beanstalk/stats.h"

namespace weir::doors::beanstalk {
namespace {

constexpr std::uint32_t bit(core::JobState state) { return 1U << static_cast<unsigned>(state); }

}  // namespace

// In the engine's next turn, behind all that came before from any connection: who has seen another
// connection end must find the jobs of that one free.
void Session::look(const Command& command) {
  has_exclusive_ = true;
  const std::uint64_t sequence = add_slot(command.verb);
  door_.engine.look([self = shared_from_this(), sequence, wanted = command,
                     tube = std::string(command.tube)]() mutable {
    wanted.tube = tube;
    self->has_exclusive_ = false;
    if (!self->is_gone_) self->look_now(sequence, wanted);
  });
}

void Session::look_now(std::uint64_t sequence, const Command& command) {
  switch (command.verb) {
    case Verb::peek:
      return peek(sequence, core::JobId{command.id});
    case Verb::peek_ready: {
      const Result<core::JobId> next = door_.engine.next_pending(used_->name);
      return next ? peek(sequence, *next) : answer(sequence, Reply::not_found);
    }
    case Verb::peek_delayed:
      return peek_first(sequence, bit(core::JobState::scheduled) | bit(core::JobState::failed),
                        engine::JobOrder::by_due);
    case Verb::peek_buried:
      return peek_first(sequence, bit(core::JobState::dead), engine::JobOrder::by_end);
    case Verb::pause_tube:
      if (!has_tube(door_, command.tube)) return answer(sequence, Reply::not_found);
      door_.engine.pause_for(command.tube, command.delay_s * kMsPerSecond);
      return answer(sequence, Reply::paused);
    case Verb::stats:
      return answer_text(sequence, server_stats(door_));
    case Verb::stats_tube:
      if (!has_tube(door_, command.tube)) return answer(sequence, Reply::not_found);
      return answer_text(sequence, tube_stats(door_, command.tube));
    case Verb::stats_job: {
      const Result<engine::JobView> job = find_job(door_, command.id);
      if (!job) return answer(sequence, reply_of(job.error().code));
      return answer_text(sequence, job_stats(door_, *job));
    }
    case Verb::list_tubes: {
      const std::vector<std::string> names = tube_names(door_);
      return answer_text(sequence, yaml_list({names.begin(), names.end()}));
    }
    default:
      return answer(sequence, Reply::internal_error);
  }
}

void Session::answer_text(std::uint64_t sequence, const std::string& text) {
  append_text(begin_answer(sequence), text);
  end_answer(sequence);
}

void Session::peek(std::uint64_t sequence, core::JobId id) {
  const Result<engine::JobView> job = find_job(door_, id.value);
  if (!job) return answer(sequence, reply_of(job.error().code));
  const Result<core::JobBody> body = door_.engine.job_body(id);
  if (!body) return answer(sequence, reply_of(body.error().code));
  append_job(begin_answer(sequence), Reply::found, id.value, body->payload);
  end_answer(sequence);
}

// Over several turns; nothing else of this connection goes on meanwhile.
void Session::peek_first(std::uint64_t sequence, std::uint32_t states, engine::JobOrder order) {
  has_exclusive_ = true;
  door_.engine.find_first(
      {.queue = used_->name, .states = states, .order = order},
      [self = shared_from_this(), sequence](const Result<std::vector<core::JobId>>& found) {
        self->has_exclusive_ = false;
        if (self->is_gone_) return;
        if (!found) return self->answer(sequence, reply_of(found.error().code));
        if (found->empty()) return self->answer(sequence, Reply::not_found);
        self->peek(sequence, found->front());
      });
}

void Session::kick(std::uint64_t count) {
  has_exclusive_ = true;
  const std::uint64_t sequence = add_slot(Verb::kick);
  door_.engine.kick(used_->name, count, door_.principal,
                    [self = shared_from_this(), sequence](const core::Answer& got) {
                      self->kicked(sequence, got);
                    });
}

void Session::kicked(std::uint64_t sequence, const core::Answer& got) {
  has_exclusive_ = false;
  if (is_gone_) return;
  if (const auto* kicked = std::get_if<core::Kicked>(&got.outcome)) {
    append_number(begin_answer(sequence), Reply::kicked_count, kicked->count);
    return end_answer(sequence);
  }
  answer(sequence, reply_of(Verb::kick, got));
}

}  // namespace weir::doors::beanstalk
