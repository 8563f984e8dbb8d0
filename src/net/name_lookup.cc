// SPDX-License-Identifier: Apache-2.0
#include "net/name_lookup.h"

#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weir::net {
namespace {

// Shared by the caller and the lookup's thread: whoever ends last frees it.
struct Lookup {
  std::mutex mutex;
  std::condition_variable done;
  std::optional<Result<std::vector<std::string>>> result;  // guarded by mutex
};

constexpr std::int64_t kCancelLookMs = 50;

}  // namespace

Result<std::vector<std::string>> resolve_by_system(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (code != 0)
    return failure(ErrorCode::unavailable, "cannot look up " + host + ": " + ::gai_strerror(code));
  std::vector<std::string> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.emplace_back(text.data());
    }
  }
  ::freeaddrinfo(list);
  return addresses;
}

Result<std::vector<std::string>> look_up(const Resolver& resolver, const std::string& host,
                                         std::int64_t wait_ms, const std::atomic<bool>* cancel,
                                         bool* timed_out) {
  const auto lookup = std::make_shared<Lookup>();
  std::thread([lookup, resolver, host] {
    auto result = resolver(host);
    const std::lock_guard lock(lookup->mutex);
    lookup->result = std::move(result);
    lookup->done.notify_one();
  }).detach();
  std::unique_lock lock(lookup->mutex);
  for (std::int64_t waited_ms = 0; waited_ms < wait_ms; waited_ms += kCancelLookMs) {
    const auto slice = std::chrono::milliseconds(std::min(kCancelLookMs, wait_ms - waited_ms));
    if (lookup->done.wait_for(lock, slice, [&lookup] { return lookup->result.has_value(); })) {
      return std::move(*lookup->result);
    }
    if (cancel != nullptr && cancel->load())
      return failure(ErrorCode::unavailable, "the call was cancelled");
  }
  if (timed_out != nullptr) *timed_out = true;
  return failure(ErrorCode::unavailable, "looking up " + host + " took too long");
}

}  // namespace weir::net
