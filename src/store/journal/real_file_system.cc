// SPDX-License-Identifier: Apache-2.0
// The machine's files: pread and pwrite, buffered by one descriptor and past the page cache by a
// second one that is opened when it is first needed. Where a file system refuses O_DIRECT (some
// tmpfs), direct calls are buffered ones.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>

#include "store/journal/file_system.h"

namespace weir::store::journal {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;
constexpr std::size_t kDirectAlignment = 4096;

// The one place where errno becomes a code.
Failure errno_failure(const char* operation, const std::string& path) {
  const int number = errno;
  ErrorCode code = ErrorCode::io_error;
  if (number == ENOSPC || number == EDQUOT) code = ErrorCode::store_full;
  if (number == ENOENT) code = ErrorCode::not_found;
  if (number == EEXIST) code = ErrorCode::conflict;
  if (number == EMFILE || number == ENFILE) code = ErrorCode::unavailable;
  return failure(
      code, fmt::format("{} {}: {}", operation, path, std::generic_category().message(number)));
}

// Owns a descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  bool is_open() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

int open_retrying(const char* path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path, flags | O_CLOEXEC, kFileMode);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

bool is_aligned(const void* memory, std::uint64_t offset, std::size_t size) {
  return reinterpret_cast<std::uintptr_t>(memory) % kDirectAlignment == 0 &&
         offset % kDirectAlignment == 0 && size % kDirectAlignment == 0;
}

class RealFile final : public File {
 public:
  RealFile(std::string path, Descriptor buffered, bool read_only)
      : path_(std::move(path)), buffered_(std::move(buffered)), read_only_(read_only) {}

  Result<std::size_t> read(std::uint64_t offset, char* out, std::size_t size,
                           bool direct) override {
    const int fd = direct && is_aligned(out, offset, size) ? direct_fd() : buffered_.get();
    std::size_t done = 0;
    while (done < size) {
      const ssize_t got = ::pread(fd, out + done, size - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_failure("read", path_);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
      // Past a short direct read the rest is no longer aligned: it can only be the end of the file.
      if (fd != buffered_.get() && done % kDirectAlignment != 0) break;
    }
    return done;
  }

  Result<void> write(std::uint64_t offset, std::string_view data, bool direct) override {
    int fd = direct && is_aligned(data.data(), offset, data.size()) ? direct_fd() : buffered_.get();
    std::size_t done = 0;
    while (done < data.size()) {
      const ssize_t put =
          ::pwrite(fd, data.data() + done, data.size() - done, static_cast<off_t>(offset + done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return errno_failure("write", path_);
      done += static_cast<std::size_t>(put);
      if (done % kDirectAlignment != 0) fd = buffered_.get();
    }
    return {};
  }

  Result<void> sync() override {
    while (::fdatasync(buffered_.get()) != 0) {
      if (errno != EINTR) return io_failure("sync");
    }
    return {};
  }

  Result<std::uint64_t> size() override {
    struct stat info{};
    if (::fstat(buffered_.get(), &info) != 0) return errno_failure("stat", path_);
    return static_cast<std::uint64_t>(info.st_size);
  }

  Result<void> truncate(std::uint64_t size) override {
    if (::ftruncate(buffered_.get(), static_cast<off_t>(size)) != 0) {
      return errno_failure("truncate", path_);
    }
    return {};
  }

 private:
  // A sync that fails has lost data, also when it failed for lack of room.
  Failure io_failure(const char* operation) {
    Failure failed = errno_failure(operation, path_);
    failed.value().code = ErrorCode::io_error;
    return failed;
  }

  int direct_fd() {
    const std::lock_guard guard(mutex_);
    if (!tried_direct_) {
      tried_direct_ = true;
      direct_ =
          Descriptor(open_retrying(path_.c_str(), (read_only_ ? O_RDONLY : O_RDWR) | O_DIRECT));
    }
    return direct_.is_open() ? direct_.get() : buffered_.get();
  }

  const std::string path_;
  const Descriptor buffered_;
  const bool read_only_;
  std::mutex mutex_;  // guards the two below
  bool tried_direct_ = false;
  Descriptor direct_;
};

class RealLock final : public FileSystem::Lock {
 public:
  explicit RealLock(Descriptor fd) : fd_(std::move(fd)) {}

 private:
  Descriptor
      fd_;  // flock ends with it. The file stays: removing it would let two holders hold two files.
};

std::string read_process_id(int fd) {
  char text[32] = {};
  const ssize_t got = ::pread(fd, text, sizeof text - 1, 0);
  if (got <= 0) return {};
  const std::string_view view(text, static_cast<std::size_t>(got));
  return std::string(view.substr(0, view.find_first_not_of("0123456789")));
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    int flags = mode.read_only ? O_RDONLY : O_RDWR;
    if (mode.create) flags |= O_CREAT;
    if (mode.create && mode.exclusive) flags |= O_EXCL;
    Descriptor fd(open_retrying(path.c_str(), flags));
    if (!fd.is_open()) return errno_failure("open", path);
    return std::make_unique<RealFile>(path, std::move(fd), mode.read_only);
  }

  Result<std::vector<std::string>> list(const std::string& directory) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> handle(::opendir(directory.c_str()), &::closedir);
    if (!handle) return errno_failure("list", directory);
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(handle.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
      errno = 0;
    }
    if (errno != 0) return errno_failure("list", directory);
    std::sort(names.begin(), names.end());
    return names;
  }

  Result<void> make_directory(const std::string& path) override {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
      const std::string part = path.substr(0, end);
      if (::mkdir(part.c_str(), kDirectoryMode) == 0) {
        WEIR_TRY(sync_directory(parent_of(part)));
      } else if (errno != EEXIST) {
        return errno_failure("make directory", part);
      }
      if (end == std::string::npos) break;
    }
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return errno_failure("stat", path);
    if (!S_ISDIR(info.st_mode)) {
      return failure(ErrorCode::conflict, fmt::format("{} is not a directory", path));
    }
    return {};
  }

  Result<void> remove(const std::string& path) override {
    if (::unlink(path.c_str()) != 0) return errno_failure("remove", path);
    return {};
  }

  Result<void> rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) return errno_failure("rename", from);
    return {};
  }

  Result<void> sync_directory(const std::string& directory) override {
    const Descriptor fd(open_retrying(directory.c_str(), O_RDONLY | O_DIRECTORY));
    if (!fd.is_open()) return errno_failure("open", directory);
    if (::fsync(fd.get()) != 0) return errno_failure("sync", directory);
    return {};
  }

  bool exists(const std::string& path) override {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0;
  }

  Result<std::unique_ptr<Lock>> lock_directory(const std::string& directory) override {
    const std::string path = directory + "/LOCK";
    Descriptor fd(open_retrying(path.c_str(), O_RDWR | O_CREAT));
    if (!fd.is_open()) return errno_failure("open", path);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return errno_failure("lock", path);
      const std::string holder = read_process_id(fd.get());
      return failure(ErrorCode::conflict,
                     holder.empty() ? fmt::format("{} is in use by another process", directory)
                                    : fmt::format("{} is in use by process {}", directory, holder));
    }
    // The number is for people only: when it can't be written (full disk), the lock holds all the
    // same.
    const std::string text = fmt::format("{}\n", ::getpid());
    if (::ftruncate(fd.get(), 0) != 0 || ::pwrite(fd.get(), text.data(), text.size(), 0) < 0) {
      errno = 0;
    }
    return std::make_unique<RealLock>(std::move(fd));
  }

  Result<std::uint64_t> free_bytes(const std::string& directory) override {
    struct statvfs info{};
    if (::statvfs(directory.c_str(), &info) != 0) return errno_failure("stat", directory);
    return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
  }

 private:
  static std::string parent_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
  }
};

}  // namespace

FileSystem& real_file_system() {
  static RealFileSystem file_system;
  return file_system;
}

}  // namespace weir::store::journal
