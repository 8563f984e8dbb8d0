// SPDX-License-Identifier: Apache-2.0
// Every record survives its codec, and no bytes whatever crash a decoder. Seeded random entities
// and damages.
#include "store/codec.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/digest.h"
#include "store/change_bytes.h"
#include "support/random_entity.h"
#include "support/seed.h"

namespace weir::store {
namespace {

constexpr int kRounds = 3000;

// One entity with its codec and a source of random values.
template <typename T>
struct Codec {
  const char* name;
  std::function<T(Prng&)> make;
  void (*encode)(const T&, std::string&);
  Result<T> (*decode)(std::string_view);
};

class CodecTest : public ::testing::Test {
 protected:
  CodecTest() : seed_(test::seed_from_environment()), prng_(seed_) {}
  std::string repeat() const {
    return test::how_to_repeat(seed_, "weir_store_test",
                               std::string("CodecTest.") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }

  // Calls f for the codec of every entity.
  template <typename F>
  void each(F f) {
    f(Codec<core::Job>{"job", test::random_job, encode_job, decode_job});
    f(Codec<core::JobBody>{"body", test::random_body, encode_body, decode_body});
    f(Codec<core::AttemptRecord>{"attempt", test::random_attempt, encode_attempt, decode_attempt});
    f(Codec<core::Queue>{"queue", test::random_queue, encode_queue, decode_queue});
    f(Codec<core::UniqueKey>{"unique key", test::random_unique_key, encode_unique_key,
                             decode_unique_key});
    f(Codec<core::GroupLock>{"group lock", test::random_group_lock, encode_group_lock,
                             decode_group_lock});
    f(Codec<core::IdempotencyEntry>{"idempotency", test::random_idempotency, encode_idempotency,
                                    decode_idempotency});
    f(Codec<core::ApiToken>{"token", test::random_token, encode_token, decode_token});
    f(Codec<core::AuditRecord>{"audit", test::random_audit, encode_audit, decode_audit});
  }

  std::uint64_t seed_;
  Prng prng_;
};

TEST_F(CodecTest, every_record_survives) {
  each([this](const auto& codec) {
    for (int round = 0; round < kRounds; ++round) {
      const auto entity = codec.make(prng_);
      std::string bytes = "before";
      codec.encode(entity, bytes);
      const auto back = codec.decode(std::string_view(bytes).substr(6));
      ASSERT_TRUE(back.has_value())
          << codec.name << ": " << back.error().detail << ", " << repeat();
      ASSERT_TRUE(*back == entity) << codec.name << ", " << repeat();
      std::string again;
      codec.encode(*back, again);
      ASSERT_EQ("before" + again, bytes) << codec.name << ", " << repeat();
    }
  });
}

TEST_F(CodecTest, a_change_weighs_at_least_what_its_records_take) {
  for (int round = 0; round < kRounds; ++round) {
    core::ChangeSet change;
    core::JobChange& job = change.jobs.emplace_back();
    job.after = test::random_job(prng_);
    job.body = test::random_body(prng_);
    job.attempt = test::random_attempt(prng_);
    change.queues.push_back({.after = test::random_queue(prng_)});
    change.unique_keys.push_back({.after = test::random_unique_key(prng_)});
    change.group_locks.push_back({.after = test::random_group_lock(prng_)});
    change.idempotency.push_back({.after = test::random_idempotency(prng_)});
    change.tokens.push_back({.after = test::random_token(prng_)});
    change.audit.push_back(test::random_audit(prng_));
    std::string bytes;
    encode_job(job.after, bytes);
    encode_body(*job.body, bytes);
    encode_attempt(*job.attempt, bytes);
    encode_queue(change.queues[0].after, bytes);
    encode_unique_key(change.unique_keys[0].after, bytes);
    encode_group_lock(change.group_locks[0].after, bytes);
    encode_idempotency(change.idempotency[0].after, bytes);
    encode_token(change.tokens[0].after, bytes);
    encode_audit(change.audit[0], bytes);
    ASSERT_GE(change_bytes(change), bytes.size()) << repeat();
  }
}

TEST_F(CodecTest, every_cut_and_every_trailing_byte_is_corruption) {
  each([this](const auto& codec) {
    for (int round = 0; round < 50; ++round) {
      std::string bytes;
      codec.encode(codec.make(prng_), bytes);
      for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto back = codec.decode(std::string_view(bytes).substr(0, size));
        ASSERT_FALSE(back.has_value()) << codec.name << " cut at " << size << ", " << repeat();
        ASSERT_EQ(back.error().code, ErrorCode::corruption) << codec.name << ", " << repeat();
      }
      const auto back = codec.decode(bytes + '\0');
      ASSERT_FALSE(back.has_value()) << codec.name << ", " << repeat();
      ASSERT_EQ(back.error().code, ErrorCode::corruption) << codec.name << ", " << repeat();
    }
  });
}

// A damaged record is refused, or it is another value that survives in its turn: never a crash.
TEST_F(CodecTest, damaged_records_never_crash) {
  each([this](const auto& codec) {
    for (int round = 0; round < kRounds; ++round) {
      std::string bytes;
      codec.encode(codec.make(prng_), bytes);
      for (std::uint64_t left = prng_.up_to(3); left > 0; --left) {
        bytes[prng_.up_to(bytes.size() - 1)] = static_cast<char>(prng_.up_to(255));
      }
      const auto back = codec.decode(bytes);
      if (!back) continue;
      std::string again;
      codec.encode(*back, again);
      const auto twice = codec.decode(again);
      ASSERT_TRUE(twice.has_value()) << codec.name << ", " << repeat();
      ASSERT_TRUE(*twice == *back) << codec.name << ", " << repeat();
    }
  });
}

TEST_F(CodecTest, noise_never_crashes) {
  each([this](const auto& codec) {
    for (int round = 0; round < kRounds; ++round) {
      std::string bytes = "\x01" + test::random_text(prng_, 60);
      static_cast<void>(codec.decode(bytes));
    }
  });
}

TEST_F(CodecTest, newer_versions_are_refused_with_both_numbers) {
  each([this](const auto& codec) {
    std::string bytes;
    codec.encode(codec.make(prng_), bytes);
    bytes[0] = 9;
    const auto back = codec.decode(bytes);
    ASSERT_FALSE(back.has_value()) << codec.name;
    EXPECT_EQ(back.error().code, ErrorCode::unsupported) << codec.name;
    EXPECT_NE(back.error().detail.find("version 9"), std::string::npos) << back.error().detail;
    EXPECT_NE(back.error().detail.find("up to version 1"), std::string::npos)
        << back.error().detail;
  });
}

// A newer record need not look like ours in any byte but the first.
TEST_F(CodecTest, newer_versions_are_told_apart_from_damage) {
  const auto back = decode_queue("\x02\x01");
  ASSERT_FALSE(back.has_value());
  EXPECT_EQ(back.error().code, ErrorCode::unsupported);
}

TEST_F(CodecTest, numbers_that_no_enum_has_are_corruption) {
  core::Job job;
  std::string bytes;
  encode_job(job, bytes);
  // version, bitmap, id, queue, state and class, verb
  for (const std::size_t at : {std::size_t{4}, std::size_t{5}}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(0xFF);
    const auto back = decode_job(damaged);
    ASSERT_FALSE(back.has_value()) << at;
    EXPECT_EQ(back.error().code, ErrorCode::corruption) << at;
  }
}

// The journal's figures stand on this: bytes written per job.
TEST_F(CodecTest, usual_jobs_are_small) {
  core::Job job;
  job.id.value = 70'000;
  job.rank = 70'000;
  job.queue.value = 3;
  job.kind = "email";
  job.version = 1;
  job.created_at = WallTime{1'800'000'000'000};
  job.run_at = job.created_at;
  job.payload_bytes = 100;
  job.created_by = "local";
  const auto size_of = [](const core::Job& j) {
    std::string bytes;
    encode_job(j, bytes);
    return bytes.size();
  };
  EXPECT_LE(size_of(job), 34U);
  job.state = core::JobState::processing;
  job.attempt = 1;
  job.claimed_at = job.created_at.plus(300);
  job.lease = core::Lease{.started_at = StoreTime{1'800'000'000'000},
                          .deadline_at = StoreTime{1'800'000'060'000},
                          .worker_id = "worker-1",
                          .owner = core::OwnerKind::worker};
  EXPECT_LE(size_of(job), 60U);
  job.state = core::JobState::completed;
  job.lease.reset();
  job.has_history = true;
  job.completed_at = job.claimed_at.plus(1000);
  job.ended_at = StoreTime{1'800'000'001'000};
  EXPECT_LE(size_of(job), 50U);
}

// Bytes as format 1 wrote them: a change of layout without a new version fails here. The digest
// covers records without a default field.
TEST_F(CodecTest, format_1_bytes_stay) {
  const core::Job job = test::full_job({42}, {7}, core::JobState::dead);
  std::string job_bytes;
  encode_job(job, job_bytes);
  encode_body(test::full_body(), job_bytes);
  encode_queue(test::full_queue({7}, "images"), job_bytes);
  EXPECT_EQ(to_hex(sha256(job_bytes)),
            "120c8d4a0c2338098b3b1aebc5ade1bf1c8792ee153e8ed897d6b91e6266138f");
}

}  // namespace
}  // namespace weir::store
