// SPDX-License-Identifier: Apache-2.0
// Faults by count, quotas and hooks.
#include "store/journal/faulty_file_system.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::store::journal {

struct FaultyFileSystem::Shared {
  struct Plan {
    std::uint64_t call = 0;
    ErrorCode code = ErrorCode::io_error;
    Repeat repeat = Repeat::once;
    bool matches(std::uint64_t n) const {
      return call != 0 && (n == call || (repeat == Repeat::for_ever && n > call));
    }
  };

  mutable std::mutex mutex;  // guards all below
  Plan write_plan, read_plan;
  std::uint64_t write_calls = 0, read_calls = 0;
  std::uint64_t quota = 0, grown = 0;
  bool has_failed = false;
  Hook hook;

  Result<void> before_write(std::string_view operation, const std::string& path) {
    std::unique_lock guard(mutex);
    const std::uint64_t call = ++write_calls;
    // The hook may block for long, and may use the files itself.
    guard.unlock();
    if (hook) hook(call, operation, path);
    guard.lock();
    if (!write_plan.matches(call)) return {};
    has_failed = true;
    return failure(write_plan.code,
                   fmt::format("{} {}: planted failure of call {}", operation, path, call));
  }

  Result<void> before_read(const std::string& path) {
    const std::lock_guard guard(mutex);
    const std::uint64_t call = ++read_calls;
    if (!read_plan.matches(call)) return {};
    has_failed = true;
    return failure(read_plan.code, fmt::format("read {}: planted failure of call {}", path, call));
  }

  Result<void> grow(const std::string& path, std::uint64_t bytes) {
    const std::lock_guard guard(mutex);
    if (quota != 0 && bytes > 0 && grown + bytes > quota) {
      return failure(ErrorCode::store_full, fmt::format("write {}: no space left", path));
    }
    grown += bytes;
    return {};
  }

  void shrink(std::uint64_t bytes) {
    const std::lock_guard guard(mutex);
    grown -= std::min(grown, bytes);
  }
};

class FaultyFileSystem::FaultyFile final : public File {
 public:
  FaultyFile(std::string path, std::unique_ptr<File> inner, Shared& shared)
      : path_(std::move(path)), inner_(std::move(inner)), shared_(shared) {}

  Result<std::size_t> read(std::uint64_t offset, char* out, std::size_t size,
                           bool direct) override {
    WEIR_TRY(shared_.before_read(path_));
    return inner_->read(offset, out, size, direct);
  }

  Result<void> write(std::uint64_t offset, std::string_view data, bool direct) override {
    const Result<void> allowed = shared_.before_write("write", path_);
    WEIR_TRY_ASSIGN(const std::uint64_t size, inner_->size());
    const std::uint64_t end = offset + data.size();
    if (!allowed) {
      WEIR_TRY(inner_->write(offset, data.substr(0, data.size() / 2), false));
      return allowed;
    }
    WEIR_TRY(shared_.grow(path_, end > size ? end - size : 0));
    return inner_->write(offset, data, direct);
  }

  Result<void> sync() override {
    WEIR_TRY(shared_.before_write("sync", path_));
    return inner_->sync();
  }

  Result<std::uint64_t> size() override { return inner_->size(); }

  Result<void> truncate(std::uint64_t size) override {
    WEIR_TRY(shared_.before_write("truncate", path_));
    WEIR_TRY_ASSIGN(const std::uint64_t before, inner_->size());
    WEIR_TRY(shared_.grow(path_, size > before ? size - before : 0));
    if (size < before) shared_.shrink(before - size);
    return inner_->truncate(size);
  }

 private:
  const std::string path_;
  const std::unique_ptr<File> inner_;
  Shared& shared_;
};

FaultyFileSystem::FaultyFileSystem(FileSystem& inner)
    : inner_(inner), shared_(std::make_unique<Shared>()) {}
FaultyFileSystem::~FaultyFileSystem() = default;

void FaultyFileSystem::fail_write_call(std::uint64_t n, ErrorCode code, Repeat repeat) {
  const std::lock_guard guard(shared_->mutex);
  shared_->write_plan = {n, code, repeat};
}

void FaultyFileSystem::fail_read_call(std::uint64_t n, ErrorCode code, Repeat repeat) {
  const std::lock_guard guard(shared_->mutex);
  shared_->read_plan = {n, code, repeat};
}

void FaultyFileSystem::set_quota(std::uint64_t bytes) {
  const std::lock_guard guard(shared_->mutex);
  shared_->quota = bytes;
}

void FaultyFileSystem::set_hook(Hook hook) {
  const std::lock_guard guard(shared_->mutex);
  shared_->hook = std::move(hook);
}

std::uint64_t FaultyFileSystem::write_calls() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->write_calls;
}

std::uint64_t FaultyFileSystem::read_calls() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->read_calls;
}

bool FaultyFileSystem::has_failed() const {
  const std::lock_guard guard(shared_->mutex);
  return shared_->has_failed;
}

Result<std::unique_ptr<File>> FaultyFileSystem::open(const std::string& path, OpenMode mode) {
  if (mode.create && !inner_.exists(path)) WEIR_TRY(shared_->before_write("create", path));
  WEIR_TRY_ASSIGN(auto inner, inner_.open(path, mode));
  return std::make_unique<FaultyFile>(path, std::move(inner), *shared_);
}

Result<std::vector<std::string>> FaultyFileSystem::list(const std::string& directory) {
  return inner_.list(directory);
}

Result<void> FaultyFileSystem::make_directory(const std::string& path) {
  WEIR_TRY(shared_->before_write("make_directory", path));
  return inner_.make_directory(path);
}

Result<void> FaultyFileSystem::remove(const std::string& path) {
  WEIR_TRY(shared_->before_write("remove", path));
  std::uint64_t size = 0;
  if (auto file = inner_.open(path, {.read_only = true})) {
    WEIR_TRY_ASSIGN(size, (*file)->size());
  }
  WEIR_TRY(inner_.remove(path));
  shared_->shrink(size);
  return {};
}

Result<void> FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  WEIR_TRY(shared_->before_write("rename", from));
  return inner_.rename(from, to);
}

Result<void> FaultyFileSystem::sync_directory(const std::string& directory) {
  WEIR_TRY(shared_->before_write("sync_directory", directory));
  return inner_.sync_directory(directory);
}

bool FaultyFileSystem::exists(const std::string& path) { return inner_.exists(path); }

Result<std::unique_ptr<FileSystem::Lock>> FaultyFileSystem::lock_directory(
    const std::string& directory) {
  return inner_.lock_directory(directory);
}

Result<std::uint64_t> FaultyFileSystem::free_bytes(const std::string& directory) {
  const std::lock_guard guard(shared_->mutex);
  if (shared_->quota != 0) return shared_->quota - std::min(shared_->quota, shared_->grown);
  return inner_.free_bytes(directory);
}

}  // namespace weir::store::journal
