// SPDX-License-Identifier: Apache-2.0
// The loop of every driver.
#include "driver/load.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

namespace weir::bench {
namespace {

constexpr int kPatienceMs = 60'000;

class Loop {
 public:
  explicit Loop(Flow& flow) : flow_(flow), epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

  void add(std::unique_ptr<Session> session) {
    session->open();
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = sessions_.size();
    epoll_ctl(epoll_, EPOLL_CTL_ADD, session->fd(), &event);
    sessions_.push_back({std::move(session), false});
  }

  void run() {
    flow_.start();
    for (std::size_t i = 0; i < sessions_.size(); ++i) send(i);
    std::vector<epoll_event> events(sessions_.size());
    while (!flow_.is_finished()) {
      const int count =
          epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), kPatienceMs);
      if (count == 0) die("no answer for a minute: " + flow_.counts());
      for (int i = 0; i < count; ++i) {
        const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
        if ((events[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) {
          flow_.read_clock();
          sessions_[index].session->receive();
        }
        send(index);
      }
      // Answers of this round may have given work to sessions that had none.
      for (std::size_t i = 0; i < sessions_.size() && flow_.has_work(); ++i) send(i);
    }
    flow_.stop();
    for (const Entry& entry : sessions_) entry.session->settle();
  }

 private:
  struct Entry {
    std::unique_ptr<Session> session;
    bool is_blocked;
  };

  void send(std::size_t index) {
    Entry& entry = sessions_[index];
    entry.session->fill();
    const bool is_blocked = entry.session->flush();
    if (is_blocked == entry.is_blocked) return;
    entry.is_blocked = is_blocked;
    epoll_event event{};
    event.events = is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.u64 = index;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, entry.session->fd(), &event);
  }

  Flow& flow_;
  int epoll_;
  std::vector<Entry> sessions_;
};

// The server is looked at when all connections are open, and again while they still are.
void await_word() {
  std::puts("ready");
  std::fflush(stdout);
  char byte = 0;
  if (read(STDIN_FILENO, &byte, 1) != 1) die("told to hold, but nobody said when to go on");
}
void await_end() {
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
}

void allow_many_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

void WireSession::open() {
  wire_.connect_to(flow_.options().host, flow_.options().port);
  greet();
  wire_.unblock();
}

void WireSession::receive() {
  wire_.receive();
  parse();
}

bool WireSession::flush() {
  wire_.flush();
  return wire_.is_blocked();
}

int run_load(const Options& options, const MakeSession& make_session,
             const MakePoller& make_poller) {
  allow_many_descriptors();
  Flow flow(options);
  std::vector<std::unique_ptr<Wire>> pollers;
  if (options.pollers > 0 && !make_poller) die("this driver has no --pollers");
  for (std::size_t i = 0; i < options.pollers; ++i)
    pollers.push_back(make_poller(options, fmt::format("poll-{}", i % options.poll_queues)));
  Loop loop(flow);
  const auto add = [&](Role role) { loop.add(make_session(flow, role)); };
  for (std::size_t i = 0; i < options.consumers; ++i) add(Role::consumer);
  for (std::size_t i = 0; i < options.producers; ++i) add(Role::producer);
  for (std::size_t i = 0; i < options.both; ++i) add(Role::both);
  if (options.holds) await_word();
  loop.run();
  flow.report();
  if (options.holds) await_end();
  return 0;
}

}  // namespace weir::bench
