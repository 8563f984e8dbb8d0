// SPDX-License-Identifier: Apache-2.0
// The rules: reads(request) -> ReadSet, decide(view, request, context) -> ChangeSet. Pure: no I/O,
// clock, thread or log.
#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.h"
#include "base/prng.h"
#include "base/time.h"
#include "core/change.h"
#include "core/command.h"
#include "core/job/error_rule.h"
#include "core/view.h"

namespace weir::core {

// Hands out ids; the engine feeds it from the store's durable blocks. One thread.
class IdSource {
 public:
  virtual ~IdSource() = default;
  virtual JobId next_job_id() = 0;
  virtual QueueId next_queue_id() = 0;
};

// What the server's configuration says to the rules. Value.
struct Policy {
  QueueSettings queue_defaults;  // for queues that an enqueue creates
  bool auto_create = true;       // may an enqueue create its queue?
  std::vector<ErrorRule> rules;  // before the built-in ones
};

struct Context {
  Now now;
  Prng& prng;
  IdSource& ids;
  const Policy& policy;
  Hash128 lease_secret;
  std::uint32_t epoch = 1;
  // The instant by which the verbs of workers are judged (check_lease, and the guard's
  // deadline_after). After a stall of the server it lies before `now`, so that a lease whose
  // heartbeat had arrived is not lost; what is granted starts at `now`.
  StoreTime judged_at;  // none: now.store
  StoreTime judge_time() const { return judged_at.is_set() ? judged_at : now.store; }
};

// Adds to `out` what deciding `request` needs to see. Some needs show only when the queue or the
// job is known: a store's prefetch follows them (queue of a job, group lock and unique key of a
// job, counts of a queue that has max_depth).
void reads(const Request& request, ReadSet& out);

// Decides. Requires: everything of reads(request) was loaded into `view`. Never fails: refusals are
// in the answer. The idempotency entry of the request, if it has a key, is part of the ChangeSet; a
// repeat gets the stored answer (decode by the codec given in `decode_answer`), another body
// idempotency_mismatch, one still in this turn conflict. `out` may be an old one: it is cleared
// and its memory used again.
void decide(const View& view, const Request& request, Context& context, ChangeSet& out);
ChangeSet decide(const View& view, const Request& request, Context& context);

// Binary form of an answer for idempotency entries. Implemented in core/key/answer_codec.cc
// (versioned; see there).
std::string encode_answer(const Answer& answer);
Result<Answer> decode_answer(std::string_view bytes);

// What a job runs with: its own option, else its queue's.
std::uint32_t effective_max_attempts(const Job& job, const Queue& queue);
const RetryPolicy& effective_retry(const Job& job, const Queue& queue);
std::int64_t effective_lease_ms(const Job& job, const Queue& queue);
std::int64_t effective_timeout_ms(const Job& job, const Queue& queue);  // 0: none

}  // namespace weir::core
