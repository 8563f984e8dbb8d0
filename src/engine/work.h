// SPDX-License-Identifier: Apache-2.0
// One request on its way through the engine: from the mailbox through its turn to the release of
// its answer. A turn's works travel together in one vector, whose memory is used again: on the hot
// path nothing is moved one by one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/answer.h"
#include "core/change.h"
#include "core/command.h"
#include "engine/engine.h"

namespace weir::engine {

struct Work {
  core::Request request;
  AnswerCallback answered;  // null for the engine's own
  std::size_t bytes = 0;    // about what its changes will weigh in a commit

  core::Answer answer;
  bool has_answer = false;
  bool is_sync = false;       // its answer waits for durability
  bool is_contended = false;  // its guard missed at every try
  std::uint64_t seq = 0;      // of the commit that holds its change; 0: nothing was written
  // If anyone hears them, with the queue's name.
  std::vector<std::pair<core::Event, std::string>> events;
};

}  // namespace weir::engine
