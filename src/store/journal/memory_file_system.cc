// SPDX-License-Identifier: Apache-2.0
// Files in memory and the disks that crashes leave.
#include "store/journal/memory_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace weir::store::journal {
namespace {

constexpr std::size_t kSectorBytes = 512;
constexpr std::uint64_t kFreeBytes = std::uint64_t{1} << 40;

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Copies one sector of `from` into `to`, as far as both reach.
void copy_sector(const std::string& from, std::string& to, std::size_t sector) {
  const std::size_t begin = sector * kSectorBytes;
  if (begin >= to.size()) return;
  const std::size_t end = std::min(begin + kSectorBytes, to.size());
  const std::size_t have = from.size() > begin ? std::min(from.size(), end) - begin : 0;
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(begin), have,
              to.begin() + static_cast<std::ptrdiff_t>(begin));
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(begin + have),
            to.begin() + static_cast<std::ptrdiff_t>(end), '\0');
}

}  // namespace

struct MemoryFileSystem::Inode {
  std::string written, synced;
  std::set<std::size_t> dirty;  // sectors in which the two may differ

  void write(std::uint64_t offset, std::string_view data) {
    if (data.empty()) return;
    if (written.size() < offset + data.size()) written.resize(offset + data.size());
    data.copy(written.data() + offset, data.size());
    for (std::size_t at = offset / kSectorBytes; at * kSectorBytes < offset + data.size(); ++at) {
      dirty.insert(at);
    }
  }
  void truncate(std::uint64_t size) {
    const std::size_t from = std::min<std::size_t>(written.size(), size);
    const std::size_t to = std::max<std::size_t>(written.size(), size);
    written.resize(size);
    for (std::size_t at = from / kSectorBytes; at * kSectorBytes < to; ++at) dirty.insert(at);
  }
  void sync() {
    synced.resize(written.size());
    for (const std::size_t sector : dirty) copy_sector(written, synced, sector);
    dirty.clear();
  }
};

struct MemoryFileSystem::Shared {
  using Entries = std::map<std::string, std::shared_ptr<Inode>>;  // shared: open files, both states
  // One change of a directory that no sync_directory() has covered yet. Empty `from`: `to` was
  // created as `inode`; empty `to`: `from` was removed; both: renamed, in one step.
  struct Change {
    std::string from, to;
    std::shared_ptr<Inode> inode;
  };
  struct LastWrite {
    std::shared_ptr<Inode> inode;
    std::uint64_t offset = 0;
    std::string before, after;
  };

  mutable std::mutex mutex;  // guards all below
  Entries entries;           // as written
  Entries synced_entries;    // as a crash is sure to leave them
  std::vector<Change> changes;
  std::set<std::string> directories{"/", "."};
  std::set<std::string> locked;
  std::uint64_t write_calls = 0;
  std::optional<LastWrite> last_write;

  static void apply(const Change& change, Entries& to) {
    if (!change.from.empty()) {
      const auto found = to.find(change.from);
      if (found == to.end()) return;
      const auto inode = found->second;
      to.erase(found);
      if (!change.to.empty()) to[change.to] = inode;
    } else {
      to[change.to] = change.inode;
    }
  }
};

class MemoryFileSystem::MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<Shared> shared, std::shared_ptr<Inode> inode,
             bool read_only)
      : path_(std::move(path)),
        shared_(std::move(shared)),
        inode_(std::move(inode)),
        read_only_(read_only) {}

  Result<std::size_t> read(std::uint64_t offset, char* out, std::size_t size, bool) override {
    const std::lock_guard guard(shared_->mutex);
    if (offset >= inode_->written.size()) return std::size_t{0};
    return inode_->written.copy(out, size, offset);
  }

  Result<void> write(std::uint64_t offset, std::string_view data, bool) override {
    WEIR_TRY(check_writable());
    const std::lock_guard guard(shared_->mutex);
    shared_->write_calls += 1;
    const std::uint64_t end = std::min<std::uint64_t>(inode_->written.size(), offset + data.size());
    shared_->last_write = {
        .inode = inode_,
        .offset = offset,
        .before = end > offset ? inode_->written.substr(offset, end - offset) : std::string(),
        .after = std::string(data)};
    inode_->write(offset, data);
    return {};
  }

  Result<void> sync() override {
    const std::lock_guard guard(shared_->mutex);
    shared_->write_calls += 1;
    inode_->sync();
    if (shared_->last_write && shared_->last_write->inode == inode_) shared_->last_write.reset();
    return {};
  }

  Result<std::uint64_t> size() override {
    const std::lock_guard guard(shared_->mutex);
    return inode_->written.size();
  }

  Result<void> truncate(std::uint64_t size) override {
    WEIR_TRY(check_writable());
    const std::lock_guard guard(shared_->mutex);
    shared_->write_calls += 1;
    inode_->truncate(size);
    return {};
  }

 private:
  Result<void> check_writable() const {
    if (!read_only_) return {};
    return failure(ErrorCode::io_error, fmt::format("write {}: opened to read only", path_));
  }

  const std::string path_;
  const std::shared_ptr<Shared> shared_;
  const std::shared_ptr<Inode> inode_;
  const bool read_only_;
};

class MemoryFileSystem::MemoryLock final : public FileSystem::Lock {
 public:
  MemoryLock(std::shared_ptr<Shared> shared, std::string directory)
      : shared_(std::move(shared)), directory_(std::move(directory)) {}
  ~MemoryLock() override {
    const std::lock_guard guard(shared_->mutex);
    shared_->locked.erase(directory_);
  }

 private:
  const std::shared_ptr<Shared> shared_;
  const std::string directory_;
};

MemoryFileSystem::MemoryFileSystem() : shared_(std::make_shared<Shared>()) {}
MemoryFileSystem::~MemoryFileSystem() = default;

Result<std::unique_ptr<File>> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  const std::lock_guard guard(shared_->mutex);
  auto found = shared_->entries.find(path);
  if (found != shared_->entries.end() && mode.create && mode.exclusive) {
    return failure(ErrorCode::conflict, fmt::format("open {}: exists", path));
  }
  if (found == shared_->entries.end()) {
    if (!mode.create || !shared_->directories.contains(directory_of(path))) {
      return failure(ErrorCode::not_found, fmt::format("open {}: no such file", path));
    }
    shared_->write_calls += 1;
    found = shared_->entries.emplace(path, std::make_shared<Inode>()).first;
    shared_->changes.push_back({.from = {}, .to = path, .inode = found->second});
  }
  return std::make_unique<MemoryFile>(path, shared_, found->second, mode.read_only);
}

Result<std::vector<std::string>> MemoryFileSystem::list(const std::string& directory) {
  const std::lock_guard guard(shared_->mutex);
  if (!shared_->directories.contains(directory)) {
    return failure(ErrorCode::not_found, fmt::format("list {}: no such directory", directory));
  }
  std::set<std::string> names;
  const auto add = [&](const std::string& path) {
    if (path != directory && directory_of(path) == directory) {
      names.insert(path.substr(path.rfind('/') + 1));
    }
  };
  for (const auto& [path, inode] : shared_->entries) add(path);
  for (const std::string& path : shared_->directories) add(path);
  names.erase(".");
  names.erase("");
  return std::vector<std::string>(names.begin(), names.end());
}

Result<void> MemoryFileSystem::make_directory(const std::string& path) {
  const std::lock_guard guard(shared_->mutex);
  shared_->write_calls += 1;
  for (std::string part = path; part != "/" && part != "."; part = directory_of(part)) {
    if (shared_->entries.contains(part)) {
      return failure(ErrorCode::conflict, fmt::format("{} is not a directory", part));
    }
    shared_->directories.insert(part);
  }
  return {};
}

Result<void> MemoryFileSystem::remove(const std::string& path) {
  const std::lock_guard guard(shared_->mutex);
  if (shared_->entries.erase(path) == 0) {
    return failure(ErrorCode::not_found, fmt::format("remove {}: no such file", path));
  }
  shared_->write_calls += 1;
  shared_->changes.push_back({.from = path, .to = {}, .inode = nullptr});
  return {};
}

Result<void> MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  const std::lock_guard guard(shared_->mutex);
  if (!shared_->entries.contains(from)) {
    return failure(ErrorCode::not_found, fmt::format("rename {}: no such file", from));
  }
  shared_->write_calls += 1;
  shared_->changes.push_back({.from = from, .to = to, .inode = nullptr});
  Shared::apply(shared_->changes.back(), shared_->entries);
  return {};
}

Result<void> MemoryFileSystem::sync_directory(const std::string& directory) {
  const std::lock_guard guard(shared_->mutex);
  shared_->write_calls += 1;
  std::vector<Shared::Change> others;
  for (Shared::Change& change : shared_->changes) {
    const std::string& path = change.to.empty() ? change.from : change.to;
    if (directory_of(path) == directory) {
      Shared::apply(change, shared_->synced_entries);
    } else {
      others.push_back(std::move(change));
    }
  }
  shared_->changes = std::move(others);
  return {};
}

bool MemoryFileSystem::exists(const std::string& path) {
  const std::lock_guard guard(shared_->mutex);
  return shared_->entries.contains(path) || shared_->directories.contains(path);
}

Result<std::unique_ptr<FileSystem::Lock>> MemoryFileSystem::lock_directory(
    const std::string& directory) {
  const std::lock_guard guard(shared_->mutex);
  if (!shared_->locked.insert(directory).second) {
    return failure(ErrorCode::conflict, fmt::format("{} is in use", directory));
  }
  return std::make_unique<MemoryLock>(shared_, directory);
}

Result<std::uint64_t> MemoryFileSystem::free_bytes(const std::string&) { return kFreeBytes; }

std::unique_ptr<MemoryFileSystem> MemoryFileSystem::crash_image(CrashKind kind,
                                                                std::uint64_t seed) const {
  const std::lock_guard guard(shared_->mutex);
  Prng prng(seed);
  const bool is_random = kind == CrashKind::random_subset;
  const bool has_all = kind == CrashKind::everything || kind == CrashKind::torn_last_write;
  Shared::Entries entries = has_all ? shared_->entries : shared_->synced_entries;
  if (is_random) {
    for (const Shared::Change& change : shared_->changes) {
      if (prng.one_in(2)) Shared::apply(change, entries);
    }
  }
  auto image = std::make_unique<MemoryFileSystem>();
  image->shared_->directories = shared_->directories;
  for (const auto& [path, inode] : entries) {
    auto copy = std::make_shared<Inode>();
    copy->written = has_all ? inode->written : inode->synced;
    if (is_random) {
      if (prng.one_in(2)) copy->written.resize(inode->written.size());
      for (const std::size_t sector : inode->dirty) {
        if (prng.one_in(2)) copy_sector(inode->written, copy->written, sector);
      }
    }
    const auto& last = shared_->last_write;
    if (kind == CrashKind::torn_last_write && last && last->inode == inode) {
      // Sectors are atomic: the tear lies on a sector boundary. Beyond it stands what stood there
      // before.
      const std::uint64_t sectors = (last->after.size() + kSectorBytes - 1) / kSectorBytes;
      const std::size_t kept = prng.up_to(sectors - 1) * kSectorBytes;
      for (std::size_t at = kept; at < last->after.size(); ++at) {
        copy->written[last->offset + at] = at < last->before.size() ? last->before[at] : '\0';
      }
    }
    copy->synced = copy->written;
    image->shared_->entries[path] = copy;
  }
  image->shared_->synced_entries = image->shared_->entries;
  return image;
}

std::uint64_t MemoryFileSystem::write_calls() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->write_calls;
}

std::string MemoryFileSystem::content(const std::string& path) const {
  const std::lock_guard guard(shared_->mutex);
  const auto found = shared_->entries.find(path);
  return found == shared_->entries.end() ? std::string() : found->second->written;
}

void MemoryFileSystem::set_content(const std::string& path, std::string bytes) {
  const std::lock_guard guard(shared_->mutex);
  auto inode = std::make_shared<Inode>();
  inode->written = bytes;
  inode->synced = std::move(bytes);
  shared_->entries[path] = inode;
  shared_->synced_entries[path] = inode;
}

std::vector<std::string> MemoryFileSystem::paths() const {
  const std::lock_guard guard(shared_->mutex);
  std::vector<std::string> all;
  for (const auto& [path, inode] : shared_->entries) all.push_back(path);
  return all;
}

}  // namespace weir::store::journal
