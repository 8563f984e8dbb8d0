// SPDX-License-Identifier: Apache-2.0
// Pages of jobs: in order of id, filtered, and each job that exists during the whole walk seen
// exactly once.
#include <gmock/gmock.h>

#include <algorithm>

#include "base/prng.h"
#include "conformance/store_test.h"
#include "support/seed.h"

namespace weir::conformance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::uint32_t bit(JobState state) { return 1U << static_cast<unsigned>(state); }

class ScanTest : public StoreTest {
 protected:
  ScanTest() : queue_(make_queue("mail")), other_(make_queue("images")) {}
  std::vector<core::JobId> walk_ids(const store::ScanQuery& query) { return ids_of(walk(query)); }
  core::Queue queue_, other_;
};

TEST_F(ScanTest, an_empty_store_gives_one_empty_page) {
  const auto page = store().scan_page({});
  ASSERT_TRUE(page.has_value());
  EXPECT_THAT(page->jobs, IsEmpty());
  EXPECT_EQ(page->next_after_id, 0U);
}

TEST_F(ScanTest, every_job_is_seen_in_order_of_id_both_ways) {
  std::vector<core::JobId> all;
  for (int i = 0; i < 25; ++i)
    all.push_back(add(JobBuilder(i % 2 == 0 ? queue_.id : other_.id)).id);
  for (const std::size_t limit : {1, 2, 7, 25, 100}) {
    store::ScanQuery query;
    query.limit = limit;
    EXPECT_EQ(walk_ids(query), all) << "pages of " << limit;
    query.newest_first = true;
    EXPECT_EQ(walk_ids(query), std::vector(all.rbegin(), all.rend())) << "pages of " << limit;
  }
}

TEST_F(ScanTest, pages_carry_whole_jobs) {
  const core::Job job = add(JobBuilder(queue_.id).kind("a").tags({"x", "y"}).unique_key("u"));
  const auto found = walk({});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0], job);
}

TEST_F(ScanTest, each_filter_admits_what_it_says) {
  const core::Job kind = add(JobBuilder(queue_.id).kind("a"));
  const core::Job tagged = add(JobBuilder(queue_.id).tags({"x", "y"}));
  const core::Job grouped = add(JobBuilder(queue_.id).group("g"));
  const core::Job unique = add(JobBuilder(queue_.id).unique_key("u"));
  const core::Job elsewhere = add(JobBuilder(other_.id).kind("a"));
  const core::Job held = claim(kind);
  EXPECT_THAT(walk_ids({.kind = "a"}), ElementsAre(kind.id, elsewhere.id));
  EXPECT_THAT(walk_ids({.queue = queue_.id, .kind = "a"}), ElementsAre(kind.id));
  EXPECT_THAT(walk_ids({.tag = "y"}), ElementsAre(tagged.id));
  EXPECT_THAT(walk_ids({.group = "g"}), ElementsAre(grouped.id));
  EXPECT_THAT(walk_ids({.unique_key = "u"}), ElementsAre(unique.id));
  EXPECT_THAT(walk_ids({.states = bit(JobState::processing)}), ElementsAre(held.id));
  EXPECT_THAT(walk_ids({.queue = other_.id, .states = bit(JobState::processing)}), IsEmpty());
  EXPECT_THAT(walk_ids({.states = bit(JobState::processing) | bit(JobState::pending)}),
              ElementsAre(kind.id, tagged.id, grouped.id, unique.id, elsewhere.id));
  EXPECT_THAT(walk_ids({.tag = "z"}), IsEmpty());
  EXPECT_THAT(walk_ids({.kind = ""}), ElementsAre(tagged.id, grouped.id, unique.id));
}

TEST_F(ScanTest, a_rare_job_among_many_is_found) {
  core::JobId wanted;
  for (int i = 0; i < 5000; ++i) {
    core::ChangeSet bulk;
    bulk.commit_class = core::CommitClass::sync;
    for (int n = 0; n < 100; ++n, ++i) {
      const core::JobId id = new_id();
      if (i == 4321) wanted = id;
      bulk.jobs.push_back(test::enqueue_of(
          JobBuilder(queue_.id).kind(i == 4321 ? "rare" : "common").build(id, now_)));
    }
    --i;
    apply(bulk);
  }
  EXPECT_THAT(walk_ids({.kind = "rare"}), ElementsAre(wanted));
  EXPECT_THAT(walk_ids({.kind = "rare", .newest_first = true}), ElementsAre(wanted));
  EXPECT_THAT(walk_ids({.kind = "none"}), IsEmpty());
}

TEST_F(ScanTest, a_cursor_of_a_removed_job_goes_on_behind_it) {
  const core::Job first = add(JobBuilder(queue_.id));
  const core::Job second = add(JobBuilder(queue_.id));
  const core::Job third = add(JobBuilder(queue_.id));
  remove(second);
  EXPECT_THAT(walk_ids({.after_id = second.id.value}), ElementsAre(third.id));
  EXPECT_THAT(walk_ids({.newest_first = true, .after_id = second.id.value}), ElementsAre(first.id));
}

// Jobs come and go between the pages; those that stay are seen exactly once.
TEST_F(ScanTest, a_walk_among_changes_sees_each_staying_job_once) {
  const std::uint64_t seed = test::seed_from_environment();
  Prng prng(seed);
  for (const bool newest_first : {false, true}) {
    std::vector<core::Job> jobs;
    for (int i = 0; i < 200; ++i) jobs.push_back(add(JobBuilder(queue_.id)));
    std::vector<core::JobId> seen;
    store::ScanQuery query{.queue = queue_.id, .newest_first = newest_first, .limit = 7};
    do {
      const auto page = store().scan_page(query);
      ASSERT_TRUE(page.has_value());
      for (const core::Job& job : page->jobs) seen.push_back(job.id);
      query.after_id = page->next_after_id;
      // Less comes and goes than a page holds, so that the walk ends.
      ASSERT_GT(jobs.size(), 20U);
      const std::size_t at = prng.up_to(jobs.size() - 1);
      remove(jobs[at]);
      jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(at));
      add(JobBuilder(queue_.id));
      if (jobs.front().state == JobState::pending) jobs.front() = claim(jobs.front(), kMsPerDay);
      std::rotate(jobs.begin(), jobs.begin() + 1, jobs.end());
    } while (query.after_id != 0);
    for (const core::Job& job : jobs) {
      EXPECT_EQ(std::count(seen.begin(), seen.end(), job.id), 1)
          << "job " << job.id.value << ", newest first " << newest_first << ", WEIR_SEED=" << seed;
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << "WEIR_SEED=" << seed;
  }
}

}  // namespace
}  // namespace weir::conformance
