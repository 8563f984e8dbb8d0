// SPDX-License-Identifier: Apache-2.0
// The one implementation of Log. Thread: one, but for read() and copy_to(), which take their own
// file handles and see the table of segments under a mutex; everything else is the owner's thread.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "store/journal/aligned_buffer.h"
#include "store/journal/frame.h"
#include "store/journal/log.h"
#include "store/journal/manifest.h"
#include "store/journal/recovery.h"
#include "store/journal/segment_pool.h"

namespace weir::store::journal {

class JournalLog final : public Log {
 public:
  JournalLog(FileSystem& files, std::string directory, const LogOptions& options);

  // Does what Log::open says.
  Result<void> start(const Replay& replay, RecoveryReport& report);

  Result<Location> append(std::string_view body, SegmentKind kind, Reserve reserve,
                          std::uint32_t epoch, Now now) override;
  std::uint64_t last_seq() const override { return last_seq_; }
  Result<void> sync() override;
  std::uint64_t durable_seq() const override { return durable_seq_; }
  Result<std::string> read(const Location& at, bool check) override;
  std::vector<SegmentInfo> segments() const override;
  Result<void> free_segment(std::uint32_t number) override;
  void pin(std::uint32_t number) override;
  void unpin(std::uint32_t number) override;
  Result<void> replay_segment(std::uint32_t number, const Replay& replay) override;
  Result<bool> prepare_spares() override;
  Result<void> set_cleaner_reserve(std::size_t segments) override;
  bool is_full() const override;
  std::uint64_t disk_bytes() const override { return pool_ ? pool_->disk_bytes() : 0; }
  Result<void> copy_to(FileSystem& files, const std::string& target, std::uint64_t seq) override;
  const Hash128& store_key() const override { return manifest_.store_key; }
  const std::string& manifest_note() const override { return manifest_.note; }
  Result<void> set_manifest_note(std::string note) override;
  Result<void> close(std::uint32_t epoch, Now now) override;

 private:
  struct Segment {
    ManifestEntry entry;           // used_bytes, last_seq: of what is synced
    std::uint32_t used_bytes = 0;  // of what is written
    std::uint64_t first_seq = 0, last_seq = 0;
    bool is_dirty = false;
    bool from_reserve = false;
    bool is_freed = false;  // waits for its last unpin
    std::uint32_t pins = 0;
    std::unique_ptr<File> file;  // while active
  };
  // An open file of a segment for readers. shared_ptr: the cache may let go of it while a reader
  // still reads.
  using OpenFile = std::shared_ptr<File>;

  Result<void> create_store();
  Result<void> load_store(const Replay& replay, RecoveryReport& report);
  Result<void> check_unused(const std::vector<std::string>& names);
  Result<void> make_pool(const std::vector<std::string>& names);
  Result<void> renew_active(ActiveScan& scan);
  void add_recovered(Recovery& recovery);

  Result<void> check_running() const;
  Result<void> stop(Error error);
  Result<Segment*> segment_for(SegmentKind kind, std::uint64_t bytes, Reserve reserve);
  Result<Segment*> take(SegmentKind kind, Reserve reserve);
  Result<Location> append_commit(std::string_view body, SegmentKind kind, Reserve reserve,
                                 std::uint32_t epoch, Now now, bool is_end_mark);
  Result<void> sync_files();
  Result<void> write_manifest();
  Result<void> release_freed();
  Segment*& active(SegmentKind kind) { return kind == SegmentKind::hot ? hot_ : cold_; }

  Result<OpenFile> open_for_reading(std::uint32_t number, std::uint32_t slot);
  void forget_open_file(std::uint32_t number);
  struct CopyPiece {
    ManifestEntry entry;
    std::string path;
  };
  Result<ManifestEntry> copy_segment(FileSystem& files, const std::string& target,
                                     const CopyPiece& piece, std::uint64_t seq);

  FileSystem& files_;
  const std::string directory_;
  const LogOptions options_;
  Prng prng_;
  std::unique_ptr<FileSystem::Lock> lock_;
  ManifestFiles manifest_files_;
  Manifest manifest_;  // entries are made from segments_ when it is written
  std::unique_ptr<SegmentPool> pool_;

  mutable std::mutex mutex_;  // guards the shape of segments_, and pins, used_bytes, is_freed of
                              // each; written by the owner only
  std::map<std::uint32_t, Segment> segments_;                  // by number
  std::deque<std::pair<std::uint32_t, OpenFile>> open_files_;  // guarded by mutex_; newest last
  Segment* hot_ = nullptr;
  Segment* cold_ = nullptr;

  std::uint64_t last_seq_ = 0;
  std::atomic<std::uint64_t> durable_seq_ = 0;  // copy_to() reads it beside the owner
  AlignedBuffer buffer_;
  std::optional<Error> stopped_;
};

}  // namespace weir::store::journal
