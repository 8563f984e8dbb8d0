// SPDX-License-Identifier: Apache-2.0
// Bytes in, answers out: cutting the input into commands, and the order of the answers.
#include "doors/beanstalk/session.h"

#include <algorithm>
#include <utility>

namespace weir::doors::beanstalk {
namespace {

// Commands of one connection that are not answered yet; beyond these nothing more is read.
constexpr std::size_t kPendingMax = 512;
constexpr std::size_t kOutKeptBytes = 256 * core::kKiB;
constexpr std::size_t kCrlfBytes = 2;

}  // namespace

Session::Session(BeanstalkDoor::Impl& door, StreamPeer peer, std::uint64_t connection)
    : door_(door),
      peer_(std::move(peer)),
      connection_(connection),
      worker_("beanstalk-" + std::to_string(connection)) {
  ++door_.connections;
  used_ = &door_.tubes.use(kDefaultTube);
  watched_.push_back(&door_.tubes.watch(kDefaultTube));
}

Session::~Session() = default;

// ---- input ----

bool Session::wants_input() const {
  if (is_closing_ || is_starved_ || has_exclusive_ || slots_.size() >= kPendingMax) return false;
  switch (blocked_by_) {
    case Waits::nothing:
      return true;
    case Waits::reserves:
      return waiting_.empty();
    case Waits::all:
      return slots_.empty();
  }
  return true;
}

std::size_t Session::feed(std::string_view bytes) {
  blocked_by_ = Waits::nothing;
  std::size_t used = 0;
  while (used < bytes.size() && wants_input()) {
    const std::size_t step = take(bytes.substr(used));
    if (step == 0) break;
    used += step;
  }
  place_demand();
  if (!output().empty() || is_closing_) announce();
  return used;
}

void Session::feed_end() {
  has_read_end_ = true;
  // beanstalkd lets nobody wait who cannot be heard any more.
  end_reserves(Reply::timed_out);
  announce();
}

std::size_t Session::take(std::string_view bytes) {
  switch (reading_) {
    case Reading::lines:
      return take_line(bytes);
    case Reading::body:
      return take_body(bytes);
    case Reading::skipped_body: {
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(skip_left_, bytes.size()));
      skip_left_ -= step;
      if (skip_left_ == 0) {
        reading_ = Reading::lines;
        answer_now(Reply::job_too_big);
      }
      return step;
    }
    case Reading::skipped_line:
      break;
  }
  if (ends_in_cr_ && bytes.front() == '\n') {
    reading_ = Reading::lines;
    answer_now(Reply::bad_format);
    return 1;
  }
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) {
    ends_in_cr_ = bytes.back() == '\r';
    return bytes.size();
  }
  reading_ = Reading::lines;
  answer_now(Reply::bad_format);
  return end + kCrlfBytes;
}

std::size_t Session::take_line(std::string_view bytes) {
  const LineEnd end = find_line_end(bytes);
  if (end.is_too_long) {
    reading_ = Reading::skipped_line;
    ends_in_cr_ = bytes[kLineBytesMax - 1] == '\r';
    return kLineBytesMax;
  }
  if (end.bytes == 0) return 0;
  const Command command = parse_command(bytes.substr(0, end.bytes - kCrlfBytes));
  if (must_wait(command)) return 0;
  if (command.verb != Verb::put || !command.is_well_formed) {
    run(command);
    return end.bytes;
  }
  ++door_.verb_counts[static_cast<std::size_t>(Verb::put)];
  note_producer();
  const std::uint64_t size = std::uint64_t{command.body_bytes} + kCrlfBytes;
  if (command.body_bytes > door_.options.job_bytes_max) {
    reading_ = Reading::skipped_body;
    skip_left_ = size;
    return end.bytes;
  }
  if (command.has_more) {
    answer_now(Reply::bad_format);
    return end.bytes;
  }
  pending_put_ = command;
  const std::string_view rest = bytes.substr(end.bytes);
  if (rest.size() < size) {
    reading_ = Reading::body;
    body_.assign(rest);
    return bytes.size();
  }
  put(rest.substr(0, static_cast<std::size_t>(size)));
  return end.bytes + static_cast<std::size_t>(size);
}

std::size_t Session::take_body(std::string_view bytes) {
  const std::size_t size = pending_put_.body_bytes + kCrlfBytes;
  const std::size_t step = std::min(bytes.size(), size - body_.size());
  body_.append(bytes.substr(0, step));
  if (body_.size() < size) return step;
  reading_ = Reading::lines;
  put(body_);
  body_.clear();
  if (body_.capacity() > kOutKeptBytes) body_.shrink_to_fit();
  return step;
}

// True: the command stays in the input until what it waits for has been answered.
bool Session::must_wait(const Command& command) {
  Waits waits = info(command.verb).waits;
  // Ending a job in hand cannot change what a reserve before it gets.
  if (command.verb == Verb::delete_job && held_.find(command.id) != nullptr) waits = Waits::nothing;
  blocked_by_ = waits;
  if (!wants_input()) return true;
  blocked_by_ = Waits::nothing;
  if (!door_.has_room()) {
    is_starved_ = true;
    door_.starved.push_back(weak_from_this());
    return true;
  }
  return false;
}

void Session::resume() {
  is_starved_ = false;
  announce();
}

// ---- answers ----

std::uint64_t Session::add_slot(Verb verb, std::uint64_t number) {
  slots_.push_back(Slot{.verb = verb, .number = number});
  return first_sequence_ + slots_.size() - 1;
}

std::string& Session::begin_answer(std::uint64_t sequence) {
  return sequence == first_sequence_ ? out_ : slot(sequence).text;
}

void Session::end_answer(std::uint64_t sequence) {
  slot(sequence).is_answered = true;
  if (sequence == first_sequence_) push_out();
}

// The first one has its reply in out_ already.
void Session::push_out() {
  bool is_first = true;
  while (!slots_.empty() && slots_.front().is_answered) {
    Slot& front = slots_.front();
    if (!is_first) out_.append(front.text);
    is_first = false;
    const bool carries_job =
        (front.verb == Verb::reserve || front.verb == Verb::reserve_job) && front.number != 0;
    if (carries_job) in_transit_.push_back({.end = out_base_ + out_.size(), .id = front.number});
    slots_.pop_front();
    ++first_sequence_;
  }
  announce();
}

std::string& Session::begin_reply() { return begin_answer(add_slot(Verb::unknown)); }

void Session::end_reply() { end_answer(first_sequence_ + slots_.size() - 1); }

void Session::answer_now(Reply reply) {
  append_word(begin_reply(), reply);
  end_reply();
}

void Session::answer(std::uint64_t sequence, Reply reply) {
  append_word(begin_answer(sequence), reply);
  end_answer(sequence);
}

void Session::announce() {
  if (!is_gone_) peer_.has_output();
}

void Session::sent(std::size_t bytes) {
  sent_ += bytes;
  const std::uint64_t position = out_base_ + sent_;
  while (!in_transit_.empty() && in_transit_.front().end <= position) in_transit_.pop_front();
  if (sent_ == out_.size()) {
    out_base_ = position;
    out_.clear();
    sent_ = 0;
    if (out_.capacity() > kOutKeptBytes) out_.shrink_to_fit();
    place_demand();
  } else if (sent_ > kOutKeptBytes) {
    out_.erase(0, sent_);
    out_base_ = position;
    sent_ = 0;
  }
}

// ---- the end ----

void Session::gone() {
  is_gone_ = true;
  withdraw_demand();
  const auto give_back = [this](std::uint64_t id, engine::Engine::LeaseEnd why) {
    const HeldJob* held = held_.find(id);
    if (held == nullptr) return;
    door_.engine.abandon(core::JobId{id}, held->token, door_.principal, why);
    held_.erase(id);
  };
  for (const Transit& transit : in_transit_) {
    give_back(transit.id, engine::Engine::LeaseEnd::undelivered);
  }
  for (const Slot& each : slots_) {
    const bool carries_job = each.is_answered && each.number != 0 &&
                             (each.verb == Verb::reserve || each.verb == Verb::reserve_job);
    if (carries_job) give_back(each.number, engine::Engine::LeaseEnd::undelivered);
  }
  held_.for_each([this](const HeldJob& job) {
    door_.engine.abandon(core::JobId{job.id}, job.token, door_.principal,
                         engine::Engine::LeaseEnd::connection_ended);
  });
  held_.clear();
  waiting_.clear();
  count_waiting();
  --door_.connections;
  if (is_producer_) --door_.producers;
  if (is_worker_) --door_.workers;
  door_.tubes.stop_using(*used_);
  for (Tube* tube : watched_) door_.tubes.stop_watching(*tube);
  watched_.clear();
  forget_if_over();
}

std::size_t Session::release_all() {
  const std::size_t count = held_.size();
  held_.for_each([this](const HeldJob& job) {
    door_.engine.abandon(core::JobId{job.id}, job.token, door_.principal,
                         engine::Engine::LeaseEnd::server_stop);
  });
  held_.clear();
  is_closing_ = true;
  announce();
  return count;
}

// Answers that are still being made keep the session.
void Session::forget_if_over() {
  const bool has_unanswered = std::any_of(slots_.begin(), slots_.end(), [](const Slot& each) {
    return !each.is_answered && each.verb != Verb::reserve;
  });
  if (is_gone_ && !has_unanswered) door_.sessions.erase(this);
}

}  // namespace weir::doors::beanstalk
