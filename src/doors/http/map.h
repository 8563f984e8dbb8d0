// SPDX-License-Identifier: Apache-2.0
// Our outcomes in HTTP's words. Both switches name every case without a default: a new code or
// outcome does not compile until it is given its word here.
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/http_message.h"
#include "core/answer.h"
#include "doors/http/json_writer.h"

namespace weir::doors::http {

int http_status(ErrorCode code);

// What a request already knew and its answer shows.
struct AnswerContext {
  std::string_view queue;  // of an enqueue
  bool is_batch = false;   // the enqueue answers lists
};

// The answer of a command; a stored one is marked as replayed.
HttpResponse to_response(const core::Answer& answer, const AnswerContext& context = {});

// One result of a list: {id, status, …} or {id, error: {…}}.
void write_item(JsonWriter& out, core::JobId id, const core::Answer& answer);

}  // namespace weir::doors::http
