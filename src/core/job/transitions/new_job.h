// SPDX-License-Identifier: Apache-2.0
// Checks of what a client wrote into a job, shared by enqueue and edit. Internal to core.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "core/command.h"
#include "core/queue/queue.h"

namespace weir::core {

// Errors: too_large, saying what to do instead.
Result<void> check_payload_bytes(std::size_t bytes, const QueueSettings& settings);
// Errors: invalid_argument, naming the field and what would be right.
Result<void> check_content_type(std::string_view content_type);
Result<void> check_tags(const std::vector<std::string>& tags);
// Everything of a new job that needs no queue.
Result<void> check_new_job(const NewJob& job, Door door);

}  // namespace weir::core
