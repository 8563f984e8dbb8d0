// SPDX-License-Identifier: Apache-2.0
// Bodies, histories and results: kept byte for byte, and gone with their job.
#include <gmock/gmock.h>

#include "conformance/store_test.h"
#include "core/limits.h"
#include "support/random_entity.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class BodiesTest : public StoreTest {
 protected:
  BodiesTest() : queue_(make_queue("mail")) {}

  core::Job add_with(core::JobBody body) {
    const core::Job job = JobBuilder(queue_.id).build(new_id(), now_);
    apply(test::only(test::enqueue_of(job, std::move(body))));
    return job;
  }
  static core::AttemptRecord attempt(std::uint32_t number, std::string message) {
    core::AttemptRecord record;
    record.attempt = number;
    record.worker_id = "worker-1";
    record.started_at = WallTime{1'800'000'000'000};
    record.ended_at = WallTime{1'800'000'001'000};
    record.error = {
        .error_class = "business", .code = "E1", .http_status = 422, .message = std::move(message)};
    record.reason = "rule";
    return record;
  }
  // One failed attempt with its record.
  core::Job fail_with(const core::Job& job, const core::AttemptRecord& record) {
    const core::Job held = claim(job);
    core::Job back = test::released(held, now_);
    back.has_history = true;
    core::JobChange change = test::change_of(held, back);
    change.attempt = record;
    apply(test::only(std::move(change)));
    return back;
  }
  core::Queue queue_;
};

TEST_F(BodiesTest, bodies_are_kept_byte_for_byte) {
  const core::Job raw = add_with(test::full_body());
  const core::Job json = add_with({.payload = R"({"n": 1.10, "big": 12345678901234567890})"});
  const core::Job empty = add_with({});
  EXPECT_EQ(*store().read_body(raw.id), test::full_body());
  EXPECT_EQ(store().read_body(json.id)->payload, R"({"n": 1.10, "big": 12345678901234567890})");
  EXPECT_EQ(*store().read_body(empty.id), core::JobBody{});
}

TEST_F(BodiesTest, the_largest_payload_survives) {
  std::string payload(core::kPayloadBytesMax, '\0');
  for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<char>(i * 31 + i / 997);
  const core::Job job = add_with({.payload = payload});
  EXPECT_TRUE(store().read_body(job.id)->payload == payload);
}

TEST_F(BodiesTest, a_change_without_a_body_leaves_it) {
  const core::Job job = add_with({.payload = "first"});
  const core::Job held = claim(job);
  EXPECT_EQ(store().read_body(job.id)->payload, "first");
  core::JobChange change = test::change_of(held, test::released(held, now_));
  change.body = core::JobBody{.payload = "second", .content_type = "text/plain"};
  apply(test::only(std::move(change)));
  EXPECT_EQ(*store().read_body(job.id),
            (core::JobBody{.payload = "second", .content_type = "text/plain"}));
}

TEST_F(BodiesTest, attempts_are_appended_in_order) {
  core::Job job = add_with({});
  EXPECT_THAT(*store().read_history(job.id), IsEmpty());
  job = fail_with(job, attempt(1, "first"));
  job = fail_with(job, attempt(2, "second"));
  EXPECT_THAT(*store().read_history(job.id),
              ElementsAre(attempt(1, "first"), attempt(2, "second")));
  EXPECT_TRUE(store().read_job(job.id)->has_history);
}

TEST_F(BodiesTest, a_history_is_bounded_and_keeps_its_ends) {
  core::Job job = add_with({});
  constexpr std::uint32_t kAttempts = 12;
  for (std::uint32_t n = 1; n <= kAttempts; ++n) {
    job = fail_with(job, attempt(n, std::string(core::kErrorMessageBytesMax, 'e')));
  }
  const auto history = store().read_history(job.id);
  ASSERT_TRUE(history.has_value());
  std::size_t bytes = 0;
  for (const core::AttemptRecord& record : *history) bytes += record.error.message.size();
  EXPECT_LE(bytes, core::kHistoryBytesMax);
  EXPECT_EQ(history->front(), attempt(1, std::string(core::kErrorMessageBytesMax, 'e')));
  EXPECT_EQ(history->back(), attempt(kAttempts, std::string(core::kErrorMessageBytesMax, 'e')));
}

TEST_F(BodiesTest, a_result_comes_with_the_end) {
  const core::Job job = add_with({});
  EXPECT_EQ(store().read_result(job.id).error().code, ErrorCode::not_found);
  const core::Job held = claim(job);
  core::Job done = test::ended(held, JobState::completed, now_);
  done.has_result = true;
  core::JobChange change = test::change_of(held, done);
  change.result = R"({"sent": true})";
  change.attempt = attempt(1, "");
  apply(test::only(std::move(change)));
  EXPECT_EQ(*store().read_result(job.id), R"({"sent": true})");
  EXPECT_EQ(store().read_history(job.id)->size(), 1U);
}

TEST_F(BodiesTest, the_largest_result_survives) {
  const core::Job job = add_with({});
  core::Job done = test::ended(job, JobState::completed, now_);
  done.has_result = true;
  core::JobChange change = test::change_of(job, done);
  change.result = std::string(core::kResultBytesMax, 'r');
  apply(test::only(std::move(change)));
  EXPECT_EQ(store().read_result(job.id)->size(), core::kResultBytesMax);
}

TEST_F(BodiesTest, everything_goes_with_the_job) {
  core::Job job = add_with({.payload = "x"});
  job = fail_with(job, attempt(1, "first"));
  remove(job);
  for (const ErrorCode code :
       {store().read_job(job.id).error().code, store().read_body(job.id).error().code,
        store().read_history(job.id).error().code, store().read_result(job.id).error().code}) {
    EXPECT_EQ(code, ErrorCode::not_found);
  }
}

}  // namespace
}  // namespace weir::conformance
