// SPDX-License-Identifier: Apache-2.0
// One connection: its commands in order, its answers in order, the jobs it holds, its reserves.
//
// Everything of a round goes to the engine in one turn: a put does not wait for the one before it,
// and reserves that stand behind one another are one demand with so much credit. What may not
// overtake waits (verbs.h): behind a reserve that has no job yet only further reserves and deletes
// of held jobs go on, since nothing that they do can change what that reserve gets.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/stream.h"
#include "core/answer.h"
#include "doors/beanstalk/door_impl.h"
#include "doors/beanstalk/held_jobs.h"
#include "doors/beanstalk/parser.h"
#include "doors/beanstalk/reply.h"
#include "engine/engine.h"

namespace weir::doors::beanstalk {

inline constexpr std::int64_t kForEver = -1;  // a reserve without a timeout

// One thread. The door must outlive it.
class Session final : public StreamSession, public std::enable_shared_from_this<Session> {
 public:
  Session(BeanstalkDoor::Impl& door, StreamPeer peer, std::uint64_t connection);
  ~Session() override;

  std::size_t feed(std::string_view bytes) override;
  void feed_end() override;
  bool wants_input() const override;
  std::string_view output() const override { return std::string_view(out_).substr(sent_); }
  void sent(std::size_t bytes) override;
  bool should_close() const override { return is_closing_ && slots_.empty(); }
  bool is_idle() const override { return slots_.empty(); }
  void gone() override;

  // There is room in the engine again.
  void resume();
  // The server stops: what it holds goes back.
  std::size_t release_all();
  bool is_gone() const { return is_gone_; }

 private:
  // A command that is not answered yet, or whose answer waits for its turn.
  struct Slot {
    Verb verb = Verb::unknown;
    bool is_answered = false;
    std::uint32_t bytes = 0;    // of a put in hand
    std::uint64_t number = 0;   // the job's id, if it has one
    std::int64_t lease_ms = 0;  // of a touch
    std::string text;           // the whole reply
  };
  struct WaitingReserve {
    std::uint64_t sequence = 0;
    std::int64_t timeout_ms = kForEver;
    std::int64_t until_ms = -1;  // boot time; -1: it is not its turn yet
  };

  // session.cc: bytes in, answers out
  std::size_t take(std::string_view bytes);
  std::size_t take_line(std::string_view bytes);
  std::size_t take_body(std::string_view bytes);
  bool must_wait(const Command& command);
  Slot& slot(std::uint64_t sequence) { return slots_[sequence - first_sequence_]; }
  std::uint64_t add_slot(Verb verb, std::uint64_t number = 0);
  // Where the reply of the next command goes when it is known at once.
  std::string& begin_reply();
  void end_reply();
  std::string& begin_answer(std::uint64_t sequence);
  void end_answer(std::uint64_t sequence);
  void answer_now(Reply reply);
  void answer(std::uint64_t sequence, Reply reply);
  void push_out();
  void announce();
  void forget_if_over();

  // commands.cc: what each verb does
  void run(const Command& command);
  void put(std::string_view body_and_end);
  void submit(Verb verb, core::Command command, std::uint64_t number = 0, std::size_t bytes = 0);
  void resubmit(std::uint64_t sequence, core::Command command);
  void answered(std::uint64_t sequence, core::Answer answer);
  void delete_job(std::uint64_t id);
  void with_held(const Command& command);
  void use(std::string_view name);
  void watch(std::string_view name);
  void ignore(std::string_view name);
  void list_watched();
  void kick_job(std::uint64_t id);
  void note_producer();
  void note_worker();

  // queries.cc: verbs that look, and those for operators
  void look(const Command& command);
  void look_now(std::uint64_t sequence, const Command& command);
  void answer_text(std::uint64_t sequence, const std::string& text);
  void peek(std::uint64_t sequence, core::JobId id);
  void peek_first(std::uint64_t sequence, std::uint32_t states, engine::JobOrder order);
  void kick(std::uint64_t count);
  void kicked(std::uint64_t sequence, const core::Answer& got);
  std::int64_t tube_lease_ms();

  // reserves.cc: demands and deliveries
  void reserve(std::int64_t timeout_ms);
  void place_demand();
  void withdraw_demand();
  void delivered(Result<std::vector<engine::Delivery>> got);
  void deliver(engine::Delivery& delivery);
  void hold(const core::Job& job, const core::LeaseToken& token);
  void claimed_by_id(std::uint64_t sequence, const core::Claimed& claimed);
  void nothing_came();
  void end_reserves(Reply reply);
  void count_waiting();

  BeanstalkDoor::Impl& door_;
  StreamPeer peer_;
  const std::uint64_t connection_;
  const std::string worker_;

  // Input.
  Command pending_put_;          // its body is being read
  std::string body_;             // what has come of it
  std::uint64_t skip_left_ = 0;  // of a body that is too big, or of a line that is too long
  enum class Reading : std::uint8_t { lines, body, skipped_body, skipped_line };
  Reading reading_ = Reading::lines;
  bool ends_in_cr_ = false;  // a skipped line
  Waits blocked_by_ = Waits::nothing;
  bool is_starved_ = false;
  bool has_exclusive_ = false;  // a command in hand that lets no other go on
  bool has_read_end_ = false;
  bool is_closing_ = false;  // quit, or the server stops: nothing more is read
  bool is_gone_ = false;

  // Answers.
  std::deque<Slot> slots_;
  std::uint64_t first_sequence_ = 0;
  std::string out_;
  std::size_t sent_ = 0;        // of out_
  std::uint64_t out_base_ = 0;  // position of out_ in all that was ever sent
  struct Transit {
    std::uint64_t end = 0;  // position behind the reply that carries the job
    std::uint64_t id = 0;
  };
  std::deque<Transit> in_transit_;

  // State of the protocol.
  Tube* used_ = nullptr;
  std::vector<Tube*> watched_;
  HeldJobs held_;
  std::deque<WaitingReserve> waiting_;
  engine::DemandId demand_ = 0;
  bool has_demand_ = false;
  bool is_counted_waiting_ = false;
  bool is_producer_ = false;
  bool is_worker_ = false;
  std::uint64_t queues_version_ = 0;  // of tube_lease_ms_
  std::int64_t tube_lease_ms_ = 0;
};

}  // namespace weir::doors::beanstalk
