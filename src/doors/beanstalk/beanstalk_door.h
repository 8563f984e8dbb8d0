// SPDX-License-Identifier: Apache-2.0
// The beanstalkd door: weir behind the protocol of beanstalkd 1.12, for its existing clients. It
// sees the engine's header and nothing else: no sockets, no stores, no rules. README.md in this
// folder and docs/protocols/beanstalk.md say what a client should know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/stream.h"
#include "engine/engine.h"

namespace weir::doors {

// What `stats` says of the process. Value.
struct ProcessFacts {
  std::int64_t pid = 0;
  std::int64_t user_us = 0;    // processor time
  std::int64_t system_us = 0;  // and that of the kernel
  std::string hostname;
  std::string os;
  std::string platform;
};

// Value. What the wiring tells the door.
struct BeanstalkDoorOptions {
  std::size_t job_bytes_max = 65'535;  // larger ones get JOB_TOO_BIG
  std::uint64_t instance = 0;          // a random number of this start
  std::function<ProcessFacts()> facts;
};

// Thread: I/O. Engine and clock must outlive the door; the door must outlive the engine's last
// run_turn() and every session.
class BeanstalkDoor final : public StreamHandler {
 public:
  BeanstalkDoor(engine::Engine& engine, const Clock& clock, BeanstalkDoorOptions options);
  ~BeanstalkDoor() override;
  BeanstalkDoor(const BeanstalkDoor&) = delete;
  BeanstalkDoor& operator=(const BeanstalkDoor&) = delete;

  std::shared_ptr<StreamSession> open(StreamPeer peer) override;

  // put is answered with DRAINING from now on.
  void drain();
  // The server stops: every job that a connection holds is given back, uncharged, with the engine's
  // next turns. Returns how many.
  std::size_t release_all();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::doors
