// SPDX-License-Identifier: Apache-2.0
// How the index keeps a job. A plain waiting job is one HotJob of 96 bytes and nothing else; what
// is rare lies in side pools: Extra (keys, tags, options, counters that differ, ends, history),
// LeaseSide (while processing). A job that ended long ago shrinks to EndedJob; its record is then
// read from the log when it is shown.
//
// Strings are interned (StringTable): a field here is the number of the string, 0 = empty.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/job/job.h"
#include "store/journal/log.h"

namespace weir::store::journal {

// A Location in 12 bytes: the segment, and 12 bits of commit block, 24 bits of body offset, 28 bits
// of length.
struct PackedLocation {
  std::uint32_t segment = 0;  // 0 = nowhere
  std::uint32_t high = 0;
  std::uint32_t low = 0;

  static PackedLocation of(const Location& at) {
    const std::uint64_t bits = (static_cast<std::uint64_t>(at.commit_offset / kBlockBytes) << 52) |
                               (static_cast<std::uint64_t>(at.body_offset) << 28) | at.length;
    return {at.segment, static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }
  std::uint64_t bits() const { return (static_cast<std::uint64_t>(high) << 32) | low; }
  std::uint32_t length() const { return low & ((1u << 28) - 1); }
  Location unpack() const {
    return {.segment = segment,
            .commit_offset = static_cast<std::uint32_t>(bits() >> 52) * kBlockBytes,
            .body_offset = static_cast<std::uint32_t>(bits() >> 28) & ((1u << 24) - 1),
            .length = length()};
  }
  explicit operator bool() const { return segment != 0; }
  bool operator==(const PackedLocation&) const = default;
};
static_assert(sizeof(PackedLocation) == 12);
static_assert(kSegmentBytes / kBlockBytes <= (1u << 12) && kSegmentBytes <= (1u << 24));

// Where a living job stands, so that a stale entry of a lane is told from the true one.
enum class LanePlace : std::uint8_t { none = 0, ring = 1, heap = 2 };

// Value; a waiting job without rarities is this and nothing else.
struct HotJob {
  std::uint64_t id;  // 0: a free slot
  std::int64_t rank;
  std::int64_t created_at;
  std::int64_t run_at;
  std::int64_t due_at;
  std::int64_t claimed_at;
  PackedLocation body;
  std::uint32_t queue;
  std::uint32_t kind;
  std::uint32_t created_by;
  std::uint32_t attempt;
  std::uint32_t version;
  std::int32_t priority;
  std::uint32_t payload_bytes;
  std::uint32_t state : 4;
  std::uint32_t priority_class : 3;
  std::uint32_t last_verb : 5;
  std::uint32_t has_history : 1;
  std::uint32_t has_result : 1;
  std::uint32_t has_lease : 1;  // side is a LeaseSide, which may name an Extra
  std::uint32_t lane_place : 2;
  std::uint32_t spare : 15;
  std::uint32_t side;  // Extra, or LeaseSide when has_lease; 0 = none

  core::JobState job_state() const { return static_cast<core::JobState>(state); }
  LanePlace place() const { return static_cast<LanePlace>(lane_place); }
};
static_assert(sizeof(HotJob) <= 96);

struct LeaseSide {
  std::int64_t started_at = 0;
  std::int64_t deadline_at = 0;
  std::uint64_t connection = 0;
  std::uint64_t boot = 0;
  std::uint32_t worker = 0;
  std::uint32_t message = 0;
  std::uint32_t extra = 0;
  std::uint8_t owner = 0;
  std::uint8_t progress = 0;
};
static_assert(sizeof(LeaseSide) <= 48);

struct Extra {
  std::uint32_t limit_key = 0, group = 0, unique_key = 0, external_id = 0, tags = 0,
                dead_reason = 0;
  std::uint32_t budget_start = 0, excused_count = 0, excused_since = 0;
  core::JobCounters counters;
  std::uint32_t source_queue = 0, encryption_key = 0, version_high = 0;
  std::int64_t expires_at = 0, ttl_ms = 0;
  std::int64_t completed_at = 0, dead_at = 0, ended_at = 0;
  std::int64_t original_enqueued_at = 0, deadline_at = 0;
  // shared_ptr: the rules share options between the jobs of one batch, and so does the index.
  std::shared_ptr<const core::JobOptions> options;
  // Records that hold attempts, oldest first; the first one inline, since most jobs have one.
  PackedLocation first_attempt;
  PackedLocation result;
  PackedLocation last;  // the last full record, kept from the end on
  std::unique_ptr<std::vector<PackedLocation>> more_attempts;
};

// An ended job after it was shrunk: what retention, counts and lists by state need.
struct EndedJob {
  std::uint64_t id = 0;  // 0: a free slot
  std::int64_t ended_at = 0;
  PackedLocation body;
  PackedLocation last;
  std::uint32_t queue = 0;
  std::uint32_t attempt = 0;
  std::uint32_t version = 0;
  std::uint8_t state = 0;
  bool has_more : 1 = false;          // attempts and result lie in the index's side table, else
  bool attempts_in_last : 1 = false;  // `last` holds them
  bool result_in_last : 1 = false;
};
static_assert(sizeof(EndedJob) <= 56);

}  // namespace weir::store::journal
