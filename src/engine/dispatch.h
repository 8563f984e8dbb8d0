// SPDX-License-Identifier: Apache-2.0
// Matches standing demands with claimable jobs: plans who gets which job from the heads of the
// lanes, commits the claims, reads the bodies, hands out. First come first served; nothing is
// scanned; nobody who went away gets a lease that stays.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "core/dispatch/allot.h"
#include "engine/committer.h"
#include "engine/demands.h"
#include "engine/mailbox.h"
#include "engine/state.h"

namespace weir::engine {

// One thread.
class Dispatcher {
 public:
  Dispatcher(State& state, Committer& committer, Mailbox& mailbox)
      : state_(state), committer_(committer), mailbox_(mailbox) {}

  DemandId add(Demand demand, DeliveryCallback delivered);
  // Also while deliveries are being handed out: then what was meant for it is given back.
  void withdraw(DemandId id);
  void undelivered(std::span<const Delivery> deliveries);

  // Serves what can be served, then answers those whose time is over. True when there is more at
  // once. Errors: io_error, corruption (stopped).
  Result<bool> run();
  // Answers everybody with unavailable.
  void refuse_all();

  std::size_t waiting() const { return book_.size(); }
  std::int64_t next_in_ms(std::int64_t boot_ms) const;

 private:
  // What one demand gets in a round.
  struct Share {
    DemandId demand = 0;
    std::vector<core::JobId> jobs;
    std::vector<Delivery> deliveries;
    std::size_t bytes = 0;
  };
  // A line with its lanes in a round.
  struct OpenLine {
    DemandLine* line = nullptr;
    std::vector<core::LaneHead> heads;
    bool is_fetched = false;
  };

  void stir_dirty();
  Result<void> sync_enqueues();
  std::vector<Share> plan();
  void fetch(OpenLine& open, std::size_t places);
  // How a line stands after some of its demands were looked at in a round.
  struct RunEnd {
    bool is_dry = false;  // its lanes have nothing more
    DemandId next = 0;    // who is next in it; 0: nobody, or it must wait for the next round
  };
  // Serves the demands of `open` from `first` up to before `end` as far as `left` picks go.
  RunEnd serve_run(OpenLine& open, DemandId first, DemandId end, std::size_t left,
                   std::vector<Share>& shares);
  Result<void> claim(std::vector<Share>& shares);
  void look_at_answers(const std::vector<Work>& works, const std::vector<std::size_t>& share_of,
                       const std::vector<Share>& shares);
  Result<void> read_bodies(std::vector<Share>& shares);
  Result<void> bury(const Delivery& delivery, const Error& error);
  // The server itself, in the namespace of the job.
  core::Principal server_for(const core::Job& job) const;
  WallTime lease_end(const core::Job& job) const;
  void hand_out(std::vector<Share>& shares);
  void answer_expired();

  State& state_;
  Committer& committer_;
  Mailbox& mailbox_;
  DemandBook book_;
  std::vector<Work> claims_;  // of a round; kept for its memory
  std::uint64_t pick_count_ = 0;
  std::int64_t blocked_until_boot_ms_ = 0;    // no claims are tried just now
  std::int64_t refused_until_boot_ms_ = 0;    // because the store refused some
  std::unordered_set<core::JobId> picked_;    // in this round
  std::unordered_set<core::JobId> skipped_;   // in this turn: not claimable though in a lane
  std::unordered_set<DemandId> handing_out_;  // taken from the book, not called yet
  std::unordered_set<DemandId> withdrawn_;    // of these
};

}  // namespace weir::engine
