// SPDX-License-Identifier: Apache-2.0
// Every bound of weir in one place, with the relations between them checked by the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace weir::core {

// Sizes.
inline constexpr std::size_t kKiB = 1024;
inline constexpr std::size_t kMiB = 1024 * kKiB;
inline constexpr std::size_t kPayloadBytesMax = 1 * kMiB;
inline constexpr std::size_t kRequestBytesMax =
    8 * kMiB;  // a request body, a claim answer, a batch
inline constexpr std::size_t kResultBytesMax = 256 * kKiB;
inline constexpr std::size_t kErrorMessageBytesMax = 64 * kKiB;
inline constexpr std::size_t kErrorMessageReserveBytesMax = 1 * kKiB;  // while the store is full
inline constexpr std::size_t kHistoryBytesMax =
    256 * kKiB;  // a job's attempts; middle texts are cut first
inline constexpr std::size_t kStoredAnswerBytesMax = 64 * kKiB;
inline constexpr std::size_t kTurnBytesMax = 4 * kMiB;
inline constexpr std::size_t kTurnCommandsMax = 4096;
inline constexpr std::size_t kMailboxCommandsMax = 4 * kTurnCommandsMax;

// Names and lists.
inline constexpr std::size_t kNameBytesMax = 255;  // queue, kind, group, key, worker
inline constexpr std::size_t kUniqueKeyBytesMax = 255;
inline constexpr std::size_t kIdempotencyKeyBytesMax = 255;
inline constexpr std::size_t kTagsMax = 16;
inline constexpr std::size_t kHeadersMax = 32;
inline constexpr std::size_t kHeaderBytesMax = 8 * kKiB;  // all headers of one job together
inline constexpr std::size_t kBatchJobsMax = 1000;
inline constexpr std::size_t kClaimJobsMax = 1000;
inline constexpr std::size_t kClaimQueuesMax = 256;
inline constexpr std::size_t kPageJobsMax = 1000;

// Life of a job.
inline constexpr std::uint32_t kMaxAttemptsMax = 100'000;
inline constexpr std::uint32_t kMaxAttemptsWarn = 10;
inline constexpr std::uint32_t kExcusedMax = 1000;  // excuses beyond this are charged
inline constexpr std::int64_t kLeaseMsDefault = 60 * kMsPerSecond;
inline constexpr std::int64_t kLeaseMsMin = 1 * kMsPerSecond;
inline constexpr std::int64_t kLeaseMsMax = 24 * kMsPerHour;
// A job may ask for a longer lease (beanstalkd's time to run is 32 bits of seconds); only holders
// whose lease also ends with their connection get more than kLeaseMsMax of it.
inline constexpr std::int64_t kJobLeaseMsMax = 4'294'967'295 * kMsPerSecond;
inline constexpr std::int64_t kLeaseGraceMs =
    30 * kMsPerSecond;  // the least a lease has after a start
inline constexpr std::int64_t kTimeoutMsMax = 7 * kMsPerDay;
inline constexpr std::int64_t kRetryDelayMsMax = 24 * kMsPerHour;
inline constexpr std::int64_t kWaitMsMax = 60 * kMsPerSecond;
inline constexpr std::int64_t kIdempotencyMs = 24 * kMsPerHour;
inline constexpr std::int64_t kCompletedRetentionMs = 24 * kMsPerHour;
inline constexpr std::int64_t kDeadRetentionMs = 30 * kMsPerDay;
inline constexpr std::int64_t kRetentionMsMax = 3650 * kMsPerDay;
inline constexpr std::uint64_t kCompletedPerQueueMax = 1000;
inline constexpr std::uint64_t kEndedJobsMax = 1'000'000;
inline constexpr std::uint64_t kMaxDepthMax = 1'000'000'000;

inline constexpr std::uint64_t kIdBlock =
    65'536;  // ids are handed out from durable blocks of this size
inline constexpr std::int32_t kUrgentBelow =
    1024;  // pending jobs of a lower priority number are counted as urgent, as beanstalkd does
inline constexpr std::uint32_t kPicksPerOverdue = 20;  // 1 pick in 20 goes to the most overdue lane

static_assert(kPayloadBytesMax < kTurnBytesMax && kTurnBytesMax < kRequestBytesMax);
static_assert(kErrorMessageBytesMax * 2 < kHistoryBytesMax);
static_assert(kLeaseMsMin < kLeaseMsDefault && kLeaseMsDefault < kLeaseMsMax);
static_assert(kLeaseMsMax < kJobLeaseMsMax);
static_assert(kBatchJobsMax <= kTurnCommandsMax && kClaimJobsMax <= kTurnCommandsMax);

}  // namespace weir::core
