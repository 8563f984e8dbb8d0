// SPDX-License-Identifier: Apache-2.0
// The binary form of every entity that a store keeps: one encode_ and one decode_ per entity.
//
// A record starts with a version byte of its own, so that each entity can grow alone. Numbers are
// varints, strings carry their length, and fields that mostly have their default stand behind a
// presence bitmap: a fresh job with a kind takes about 30 bytes besides its texts. Wall instants
// of a job are written as differences to its created_at.
//
// decode_ never crashes and never allocates by a declared length. Errors: corruption (short,
// trailing bytes, numbers that no enum has), unsupported (a version newer than this program's; the
// detail names both). A record says nothing of its own type, length or checksum: that is the
// framing's part.
//
// To change a record: a new field at the end of its last version's fields, a higher version
// constant, decode_ reads every older version and gives the new field its default, and a fixture of
// the old bytes goes into codec_test.cc. Presence bits are never reused. Nothing is ever
// renumbered.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/change.h"
#include "core/job/job.h"
#include "core/key/key.h"
#include "core/queue/queue.h"

namespace weir::store {

inline constexpr std::uint8_t kJobRecordVersion = 1;
inline constexpr std::uint8_t kJobBodyRecordVersion = 1;
inline constexpr std::uint8_t kAttemptRecordVersion = 1;
inline constexpr std::uint8_t kQueueRecordVersion = 1;
inline constexpr std::uint8_t kUniqueKeyRecordVersion = 1;
inline constexpr std::uint8_t kGroupLockRecordVersion = 1;
inline constexpr std::uint8_t kIdempotencyRecordVersion = 1;
inline constexpr std::uint8_t kApiTokenRecordVersion = 1;
inline constexpr std::uint8_t kAuditRecordVersion = 1;

// Each appends one record to `out`.
void encode_job(const core::Job& job, std::string& out);
void encode_body(const core::JobBody& body, std::string& out);
void encode_attempt(const core::AttemptRecord& attempt, std::string& out);
void encode_queue(const core::Queue& queue, std::string& out);
void encode_unique_key(const core::UniqueKey& entry, std::string& out);
void encode_group_lock(const core::GroupLock& lock, std::string& out);
void encode_idempotency(const core::IdempotencyEntry& entry, std::string& out);
void encode_token(const core::ApiToken& token, std::string& out);
void encode_audit(const core::AuditRecord& record, std::string& out);

// Each reads exactly one record that fills `in`.
Result<core::Job> decode_job(std::string_view in);
Result<core::JobBody> decode_body(std::string_view in);
Result<core::AttemptRecord> decode_attempt(std::string_view in);
Result<core::Queue> decode_queue(std::string_view in);
Result<core::UniqueKey> decode_unique_key(std::string_view in);
Result<core::GroupLock> decode_group_lock(std::string_view in);
Result<core::IdempotencyEntry> decode_idempotency(std::string_view in);
Result<core::ApiToken> decode_token(std::string_view in);
Result<core::AuditRecord> decode_audit(std::string_view in);

}  // namespace weir::store
