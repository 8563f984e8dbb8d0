// SPDX-License-Identifier: Apache-2.0
// The journal store under the conformance suite, on files in memory that know what a power cut
// leaves and can be full.
#include <algorithm>
#include <string>
#include <vector>

#include "base/assert.h"
#include "conformance/store_factory.h"
#include "store/journal/faulty_file_system.h"
#include "store/journal/journal_store.h"
#include "store/journal/memory_file_system.h"

namespace weir::conformance {

namespace {

using store::journal::CrashKind;
using store::journal::FaultyFileSystem;
using store::journal::JournalOptions;
using store::journal::JournalStore;
using store::journal::MemoryFileSystem;

constexpr const char* kDirectory = "/data";

struct Disk {
  explicit Disk(std::unique_ptr<MemoryFileSystem> made)
      : files(std::move(made)), device(std::make_unique<FaultyFileSystem>(*files)) {}
  std::unique_ptr<MemoryFileSystem> files;
  std::unique_ptr<FaultyFileSystem> device;
};

class JournalFactory final : public StoreFactory {
 public:
  explicit JournalFactory(StoreSize size) : size_(size) {
    disks_.emplace_back(std::make_unique<MemoryFileSystem>());
  }

  std::unique_ptr<store::Store> make() override { return open(kDirectory, start_); }

  std::unique_ptr<store::Store> reopen(std::unique_ptr<store::Store> old, StopKind how,
                                       Now now) override {
    if (how == StopKind::clean) {
      const auto closed = old->close(now);
      WEIR_ASSERT(closed.has_value(), closed ? "" : closed.error().detail);
    } else {
      // The image is taken while the store lives: nothing that its end does may help.
      const CrashKind kind =
          how == StopKind::killed ? CrashKind::everything : CrashKind::nothing_unsynced;
      disks_.emplace_back(disks_.back().files->crash_image(kind, disks_.size()));
    }
    old.reset();
    // Only the youngest disk is used from here on.
    disks_.erase(disks_.begin(), disks_.end() - 1);
    return open(kDirectory, now);
  }

  std::string backup_directory() override { return "/backup"; }
  std::unique_ptr<store::Store> open_backup(const std::string& directory) override {
    return open(directory, start_);
  }

  bool set_full(store::Store& store, bool is_full, Now now) override {
    if (!is_full) {
      disks_.back().device->set_quota(0);
      return true;
    }
    disks_.back().device->set_quota(1);
    // Where a large entry has no room any more, small ones still have.
    for (const std::size_t bytes : {std::size_t{60'000}, std::size_t{10}}) {
      while (fill_once(store, bytes, now)) {
      }
    }
    return true;
  }

 private:
  // Entries that no test looks at. False: refused.
  bool fill_once(store::Store& store, std::size_t bytes, Now now) {
    core::ChangeSet filler;
    filler.commit_class = core::CommitClass::sync;
    filler.idempotency.push_back({.after = {.scope = {0xF111, ++fillers_},
                                            .request = {},
                                            .expires_at = now.store.plus(kMsPerDay),
                                            .answer = std::string(bytes, 'f')}});
    std::vector<store::CommitResult> results;
    const auto seq = store.commit({&filler, 1}, now, results);
    WEIR_ASSERT(seq.has_value(), seq ? "" : seq.error().detail);
    WEIR_ASSERT(fillers_ < 10'000, "the disk never fills");
    return results.at(0) == store::CommitResult::applied;
  }

  std::unique_ptr<store::Store> open(const std::string& directory, Now now) {
    JournalOptions options;
    options.segment_bytes = size_ == StoreSize::small ? 256U << 10 : 4U << 20;
    options.prng_seed = ++seed_;
    if (size_ == StoreSize::small) options.ended_in_full_max = 4;
    auto opened = JournalStore::open(*disks_.back().device, directory, options, now);
    WEIR_ASSERT(opened.has_value(), opened ? "" : opened.error().detail);
    return std::move(*opened);
  }

  StoreSize size_;
  std::vector<Disk> disks_;
  Now start_{.wall = WallTime{1'800'000'000'000}, .store = StoreTime{kMsPerHour}};
  std::uint64_t seed_ = 0;
  std::uint64_t fillers_ = 0;
};

}  // namespace

std::unique_ptr<StoreFactory> make_store_factory(StoreSize size) {
  return std::make_unique<JournalFactory>(size);
}

}  // namespace weir::conformance
