// SPDX-License-Identifier: Apache-2.0
// One commit on its way: guards of each ChangeSet against the index and against the ChangeSets
// staged before it, records into one body, and, when the body is in the log, the same changes into
// the index.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/change.h"
#include "store/journal/index.h"
#include "store/journal/record.h"

namespace weir::store::journal {

// One thread; kept between commits for its memory.
class CommitStage {
 public:
  explicit CommitStage(Index& index) : index_(index), writer_(body_) {}

  void clear();
  // Do the guards of `change_set` hold, seen after everything staged?
  bool guards_hold(const core::ChangeSet& change_set) const;
  // Appends the records of `change_set` to the body. It must outlive apply(). cut_texts: the store
  // is full.
  void stage(const core::ChangeSet& change_set, bool cut_texts);
  bool is_empty() const { return staged_.empty(); }
  bool has_bodies() const { return has_bodies_; }
  const std::string& body() const { return body_; }
  // Puts the staged changes into the index. `at`: where the body lies in the log.
  void apply(const Location& at);

 private:
  struct StagedJob {
    std::uint32_t offset = 0;
    std::uint32_t length = 0;
  };
  // What earlier ChangeSets of this commit made of an entity.
  class JobOverlay {
   public:
    void clear();
    const JobFacts* find(std::uint64_t id) const;
    void put(std::uint64_t id, const JobFacts& facts);

   private:
    struct Entry {
      std::uint64_t id = 0;
      std::uint32_t stamp = 0;
      JobFacts facts;
    };
    static std::size_t home(std::uint64_t id, std::size_t mask) {
      return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15ULL) >> 32) & mask;
    }
    std::vector<Entry> entries_ = std::vector<Entry>(64);
    std::uint32_t stamp_ = 1;
    std::size_t used_ = 0;
  };
  using TextInQueue = std::pair<std::uint32_t, std::string>;
  struct QueueFacts {
    std::uint64_t version = 0;  // 0: absent
  };

  bool holds(const core::JobChange& change) const;
  bool holds(const core::UniqueKeyChange& change) const;
  bool holds(const core::GroupLockChange& change) const;
  bool holds(const core::QueueChange& change) const;
  bool holds(const core::IdempotencyChange& change) const;
  void overlay(const core::ChangeSet& change_set);
  void write_jobs(const core::ChangeSet& change_set, bool cut_texts);
  void write_keys(const core::ChangeSet& change_set);
  void apply_jobs(const core::ChangeSet& change_set, const Location& at, std::size_t& staged_job);
  void apply_keys(const core::ChangeSet& change_set);

  Index& index_;
  std::string body_;
  RecordWriter writer_;
  bool has_bodies_ = false;
  std::vector<const core::ChangeSet*> staged_;
  std::vector<StagedJob> jobs_;  // one for each JobChange that is no erase, in order
  std::vector<core::JobId> gone_;
  JobOverlay job_overlay_;
  std::map<TextInQueue, std::uint64_t> unique_overlay_;  // job, 0: absent
  std::map<TextInQueue, std::uint64_t> lock_overlay_;    // holder, 0: free
  std::map<std::uint32_t, QueueFacts> queue_overlay_;
  std::map<std::pair<std::uint32_t, std::string>, bool> queue_name_overlay_;  // is there
  std::map<Hash128, bool> idempotency_overlay_;                               // is there
};

}  // namespace weir::store::journal
