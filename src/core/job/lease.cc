// SPDX-License-Identifier: Apache-2.0
#include "core/job/lease.h"

#include <array>

#include "base/assert.h"

namespace weir::core {
namespace {

// Set apart from other uses of the store's secret.
constexpr char kTokenPurpose = 'L';

void put_number(char* out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out[i] = static_cast<char>(value >> (8 * i));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// No early exit: the duration must not tell how much of a guess was right.
bool same_proof(const Hash128& a, const Hash128& b) {
  return ((a.high ^ b.high) | (a.low ^ b.low)) == 0;
}

// Verbs of a worker that end an attempt; anything else that ended it is not the worker's to repeat.
bool is_ending_verb(Verb verb) {
  return verb == Verb::ack || verb == Verb::fail || verb == Verb::bury || verb == Verb::release ||
         verb == Verb::snooze;
}

}  // namespace

LeaseToken lease_token(const Hash128& secret, JobId job, std::uint32_t attempt) {
  std::array<char, 13> input{};
  input[0] = kTokenPurpose;
  put_number(&input[1], job.value, 8);
  put_number(&input[9], attempt, 4);
  return LeaseToken{.attempt = attempt,
                    .proof = siphash128(secret, std::string_view(input.data(), input.size()))};
}

std::string to_string(const LeaseToken& token) {
  return std::to_string(token.attempt) + "." + to_hex(token.proof);
}

std::optional<LeaseToken> lease_token_from(std::string_view text) {
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > 10 || text.size() != dot + 33) {
    return std::nullopt;
  }
  if (text[0] == '0' && dot > 1) return std::nullopt;
  std::uint64_t attempt = 0;
  for (const char c : text.substr(0, dot)) {
    if (c < '0' || c > '9') return std::nullopt;
    attempt = attempt * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (attempt > UINT32_MAX) return std::nullopt;
  LeaseToken token{.attempt = static_cast<std::uint32_t>(attempt)};
  for (std::size_t i = 0; i < 32; ++i) {
    const int digit = hex_digit(text[dot + 1 + i]);
    if (digit < 0) return std::nullopt;
    std::uint64_t& half = i < 16 ? token.proof.high : token.proof.low;
    half = (half << 4) | static_cast<std::uint64_t>(digit);
  }
  return token;
}

LeaseCheck check_lease(const Hash128& secret, JobId id, const Job* job, const LeaseToken& token,
                       StoreTime now) {
  const bool is_true = same_proof(lease_token(secret, id, token.attempt).proof, token.proof);
  if (job == nullptr) return is_true ? LeaseCheck::gone : LeaseCheck::not_found;
  if (!is_true || token.attempt != job->attempt) return LeaseCheck::lost;
  if (job->state == JobState::processing) {
    return job->lease && job->lease->deadline_at > now ? LeaseCheck::current : LeaseCheck::lost;
  }
  return is_ending_verb(job->last_verb) ? LeaseCheck::repeated : LeaseCheck::lost;
}

std::uint64_t fence(std::uint32_t epoch, std::uint32_t attempt) {
  WEIR_ASSERT(epoch <= kEpochMax, epoch);
  return (static_cast<std::uint64_t>(epoch) << 32) + attempt;
}

}  // namespace weir::core
