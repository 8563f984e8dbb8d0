// SPDX-License-Identifier: Apache-2.0
// Proves that every job of a run was put, claimed and acked exactly once: one byte of marks a job,
// each mark set once and in that order. Also keeps when each put was sent.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weir::bench {

// One thread. Numbers are 0 to size - 1. Each call returns false when the mark may not be set now:
// the number is not of this run, the mark is there already, or the one before it is missing.
class Ledger {
 public:
  // The first `put_before` jobs count as put by an earlier run.
  Ledger(std::uint64_t size, std::uint64_t put_before) : marks_(size, 0), sent_us_(size, 0) {
    for (std::uint64_t i = 0; i < put_before && i < size; ++i) marks_[i] = kSent | kPut;
  }

  bool sent(std::uint64_t number, std::uint32_t at_us) {
    if (!mark(number, 0, kSent)) return false;
    sent_us_[number] = at_us;
    return true;
  }
  bool put(std::uint64_t number) {
    // A consumer may see a job before its producer reads the answer of the put.
    return mark(number, kSent, kPut);
  }
  bool claimed(std::uint64_t number) { return mark(number, kSent, kClaimed); }
  bool acked(std::uint64_t number) { return mark(number, kClaimed, kAcked); }

  std::uint32_t sent_us(std::uint64_t number) const { return sent_us_[number]; }

  // Marks counted anew, not from running totals.
  std::uint64_t count_put() const { return count(kPut); }
  std::uint64_t count_claimed() const { return count(kClaimed); }
  std::uint64_t count_acked() const { return count(kAcked); }

 private:
  static constexpr std::uint8_t kSent = 1;
  static constexpr std::uint8_t kPut = 2;
  static constexpr std::uint8_t kClaimed = 4;
  static constexpr std::uint8_t kAcked = 8;

  bool mark(std::uint64_t number, std::uint8_t needed, std::uint8_t added) {
    if (number >= marks_.size()) return false;
    std::uint8_t& marks = marks_[number];
    if ((marks & needed) != needed || (marks & added) != 0) return false;
    marks = static_cast<std::uint8_t>(marks | added);
    return true;
  }
  std::uint64_t count(std::uint8_t wanted) const {
    std::uint64_t found = 0;
    for (const std::uint8_t marks : marks_) found += (marks & wanted) != 0 ? 1 : 0;
    return found;
  }

  std::vector<std::uint8_t> marks_;
  std::vector<std::uint32_t> sent_us_;
};

}  // namespace weir::bench
