// SPDX-License-Identifier: Apache-2.0
// Ids: handed out in blocks, growing, never twice, whatever ends the server.
#include "conformance/store_test.h"

namespace weir::conformance {
namespace {

class IdsTest : public StoreTest {
 protected:
  // The first id of the next block; checks that it lies behind all others.
  std::uint64_t next_block() {
    const auto range = store().allocate_job_ids();
    EXPECT_TRUE(range.has_value());
    EXPECT_GE(range->first, free_from_);
    EXPECT_GT(range->count, 0U);
    free_from_ = range->first + range->count;
    return range->first;
  }
  void next_queue_id() {
    const auto id = store().allocate_queue_id();
    EXPECT_TRUE(id.has_value());
    EXPECT_GT(id->value, last_queue_id_);
    last_queue_id_ = id->value;
  }

 private:
  std::uint64_t free_from_ = 1;
  std::uint32_t last_queue_id_ = 0;
};

TEST_F(IdsTest, ids_only_grow) {
  for (int i = 0; i < 50; ++i) {
    next_block();
    next_queue_id();
  }
}

TEST_F(IdsTest, ids_are_never_repeated_after_any_end) {
  if (!survives_reopen()) GTEST_SKIP() << "this store does not survive";
  for (const StopKind how : {StopKind::clean, StopKind::killed, StopKind::power_cut,
                             StopKind::killed, StopKind::power_cut, StopKind::clean}) {
    next_block();
    next_queue_id();
    next_queue_id();
    reopen(how);
    next_block();
    next_queue_id();
  }
}

TEST_F(IdsTest, a_new_store_has_an_epoch_and_keys) {
  EXPECT_GE(store().identity().epoch, 1U);
  EXPECT_NE(store().identity().store_key, Hash128{});
  EXPECT_NE(store().identity().lease_secret, Hash128{});
  EXPECT_TRUE(store().identity().store_time.is_set());
  EXPECT_FALSE(store().identity().name.empty());
}

}  // namespace
}  // namespace weir::conformance
