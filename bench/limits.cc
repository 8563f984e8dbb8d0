// SPDX-License-Identifier: Apache-2.0
// What this machine allows without a job server: the round trip of a bare echo over loopback, and
// one sync of 4 KiB into blocks that were written before.
//
//   limits DIRECTORY ROUNDS
//
// Prints one JSON line with p50 and p99 of both in microseconds.
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "driver/histogram.h"
#include "driver/options.h"
#include "driver/wire.h"

namespace weir::bench {
namespace {

constexpr std::size_t kMessageBytes = 130;  // a put of 100 bytes
constexpr std::size_t kBlockBytes = 4096;
constexpr std::size_t kFileBytes = std::size_t{16} << 20;

// Answers whatever comes until the other side closes.
[[noreturn]] void serve_echo(int listener) {
  const int fd = accept(listener, nullptr, nullptr);
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  char buffer[4096];
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0 || send(fd, buffer, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got) _exit(0);
  }
}

Histogram measure_echo(const Clock& clock, int rounds) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    die("can't listen");
  const pid_t child = fork();
  if (child == 0) serve_echo(listener);
  Histogram histogram;
  {
    Wire wire;
    wire.connect_to("127.0.0.1", ntohs(at.sin_port));
    wire.unblock();
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_event event{};
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_ADD, wire.fd(), &event);
    for (int i = 0; i < rounds; ++i) {
      const std::int64_t sent = clock.boot_us();
      wire.out().assign(kMessageBytes, 'x');
      wire.flush();
      while (wire.input().size() < kMessageBytes) {
        epoll_wait(epoll, &event, 1, -1);
        wire.receive();
      }
      wire.consume(kMessageBytes);
      histogram.add(static_cast<std::uint64_t>(clock.boot_us() - sent));
    }
    close(epoll);
  }
  close(listener);
  waitpid(child, nullptr, 0);
  return histogram;
}

Histogram measure_sync(const Clock& clock, const std::string& directory, int rounds) {
  const std::string name = directory + "/limits";
  const int fill = open(name.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC, 0600);
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  void* zeros = std::aligned_alloc(kBlockBytes, kPiece);
  std::memset(zeros, 0, kPiece);
  for (std::size_t at = 0; at < kFileBytes; at += kPiece) {
    if (pwrite(fill, zeros, kPiece, static_cast<off_t>(at)) != static_cast<ssize_t>(kPiece))
      die("can't write in " + directory);
  }
  if (fsync(fill) != 0) die("can't sync in " + directory);
  close(fill);
  const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC);
  Histogram histogram;
  for (int i = 0; i < rounds; ++i) {
    const auto at = static_cast<off_t>(kBlockBytes * static_cast<std::size_t>(i) % kFileBytes);
    const std::int64_t start = clock.boot_us();
    if (pwrite(fd, zeros, kBlockBytes, at) != static_cast<ssize_t>(kBlockBytes) ||
        fdatasync(fd) != 0)
      die("can't sync in " + directory);
    histogram.add(static_cast<std::uint64_t>(clock.boot_us() - start));
  }
  close(fd);
  unlink(name.c_str());
  std::free(zeros);
  return histogram;
}

}  // namespace
}  // namespace weir::bench

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: limits DIRECTORY ROUNDS\n");
    return 2;
  }
  const weir::SystemClock clock;
  const int rounds = std::atoi(arguments[2]);
  const auto echo = weir::bench::measure_echo(clock, rounds);
  const auto sync = weir::bench::measure_sync(clock, arguments[1], rounds);
  const std::string line =
      fmt::format(R"({{"echo_p50_us":{},"echo_p99_us":{},"sync_p50_us":{},"sync_p99_us":{}}})",
                  echo.percentile_us(0.5), echo.percentile_us(0.99), sync.percentile_us(0.5),
                  sync.percentile_us(0.99));
  std::printf("%s\n", line.c_str());
  return 0;
}
