// SPDX-License-Identifier: Apache-2.0
// Entities with every field drawn at random, extremes included: for codecs, copies and upgrades.
// They obey no rule of a job's life, only the types.
#pragma once

#include <string>

#include "base/prng.h"
#include "core/change.h"
#include "core/job/job.h"
#include "core/key/key.h"
#include "core/queue/queue.h"

namespace weir::test {

std::string random_text(Prng& prng, std::size_t bytes_max);
core::Job random_job(Prng& prng);
core::JobBody random_body(Prng& prng);
core::AttemptRecord random_attempt(Prng& prng);
core::RetryPolicy random_retry(Prng& prng);
core::Queue random_queue(Prng& prng);
core::UniqueKey random_unique_key(Prng& prng);
core::GroupLock random_group_lock(Prng& prng);
core::IdempotencyEntry random_idempotency(Prng& prng);
core::ApiToken random_token(Prng& prng);
core::AuditRecord random_audit(Prng& prng);

// A job in which no field has its default: what a store drops shows.
core::Job full_job(core::JobId id, core::QueueId queue, core::JobState state);
core::JobBody full_body();
core::Queue full_queue(core::QueueId id, std::string name);

}  // namespace weir::test
