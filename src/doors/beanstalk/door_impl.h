// SPDX-License-Identifier: Apache-2.0
// What all sessions of the door share. Internal to the folder.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "doors/beanstalk/beanstalk_door.h"
#include "doors/beanstalk/tubes.h"
#include "doors/beanstalk/verbs.h"

namespace weir::doors {

namespace beanstalk {
class Session;
}

// One thread. Lives as long as the door.
struct BeanstalkDoor::Impl {
  Impl(engine::Engine& engine_, const Clock& clock_, BeanstalkDoorOptions options_)
      : engine(engine_), clock(clock_), options(std::move(options_)), started_ms(clock.boot_ms()) {}

  // Commands that the engine has in hand, over all connections: beyond these nothing more is
  // parsed, so that its mailbox always has room for other doors.
  static constexpr std::size_t kInHandMax = 8192;
  static constexpr std::size_t kInHandBytesMax = 16U << 20;
  bool has_room() const { return in_hand < kInHandMax && in_hand_bytes < kInHandBytesMax; }
  void took(std::size_t bytes) {
    ++in_hand;
    in_hand_bytes += bytes;
  }
  void answered(std::size_t bytes);

  engine::Engine& engine;
  const Clock& clock;
  const BeanstalkDoorOptions options;
  const core::Principal principal{.id = "beanstalk", .namespace_id = 0};

  beanstalk::TubeTable tubes;
  // shared_ptr: a session lives until its connection is gone and its last answer has come.
  std::unordered_map<beanstalk::Session*, std::shared_ptr<beanstalk::Session>> sessions;
  std::vector<std::weak_ptr<beanstalk::Session>> starved;  // wait for room
  std::uint64_t last_connection = 0;
  std::size_t in_hand = 0;
  std::size_t in_hand_bytes = 0;
  bool is_draining = false;
  std::array<std::uint64_t, beanstalk::kVerbCount> verb_counts{};
  std::size_t connections = 0, producers = 0, workers = 0, waiting = 0;  // now
  const std::int64_t started_ms;
};

}  // namespace weir::doors
