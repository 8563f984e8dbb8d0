// SPDX-License-Identifier: Apache-2.0
// Keeps the last bytes of a stream.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::worker {

// Value, one thread.
class Tail {
 public:
  explicit Tail(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  void append(std::string_view bytes) {
    kept_.append(bytes);
    // Cut rarely: a cut moves what is kept.
    if (kept_.size() > 2 * bytes_max_) kept_.erase(0, kept_.size() - bytes_max_);
  }

  // The last bytes_max bytes, from a character boundary on.
  std::string text() const {
    std::size_t from = kept_.size() > bytes_max_ ? kept_.size() - bytes_max_ : 0;
    constexpr unsigned kContinuationMask = 0xC0;
    constexpr unsigned kContinuation = 0x80;
    while (from > 0 && from < kept_.size() &&
           (static_cast<unsigned char>(kept_[from]) & kContinuationMask) == kContinuation) {
      ++from;
    }
    return kept_.substr(from);
  }

 private:
  std::size_t bytes_max_;
  std::string kept_;
};

}  // namespace weir::worker
