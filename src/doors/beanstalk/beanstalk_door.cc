// SPDX-License-Identifier: Apache-2.0
#include "doors/beanstalk/beanstalk_door.h"

#include <utility>

#include "doors/beanstalk/door_impl.h"
#include "doors/beanstalk/session.h"

namespace weir::doors {

void BeanstalkDoor::Impl::answered(std::size_t bytes) {
  --in_hand;
  in_hand_bytes -= bytes;
  if (starved.empty() || in_hand > kInHandMax / 2 || in_hand_bytes > kInHandBytesMax / 2) return;
  for (const auto& each : std::exchange(starved, {})) {
    if (const auto session = each.lock()) session->resume();
  }
}

BeanstalkDoor::BeanstalkDoor(engine::Engine& engine, const Clock& clock,
                             BeanstalkDoorOptions options)
    : impl_(std::make_unique<Impl>(engine, clock, std::move(options))) {}
BeanstalkDoor::~BeanstalkDoor() = default;

std::shared_ptr<StreamSession> BeanstalkDoor::open(StreamPeer peer) {
  auto session =
      std::make_shared<beanstalk::Session>(*impl_, std::move(peer), ++impl_->last_connection);
  impl_->sessions.emplace(session.get(), session);
  return session;
}

void BeanstalkDoor::drain() { impl_->is_draining = true; }

std::size_t BeanstalkDoor::release_all() {
  std::size_t count = 0;
  for (const auto& [key, session] : impl_->sessions) count += session->release_all();
  return count;
}

}  // namespace weir::doors
