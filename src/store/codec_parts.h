// SPDX-License-Identifier: Apache-2.0
// What the record codecs share: presence bitmaps, checked enums, instants as differences, and the
// one way to end a decode. Private to store/codec_*.cc.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "core/job/retry.h"

namespace weir::store::codec {

// Reads like ByteReader and remembers the first thing that was odd. One thread.
class RecordReader {
 public:
  RecordReader(std::string_view in, std::string_view record, std::uint8_t newest)
      : reader_(in), record_(record), newest_(newest), version_(reader_.u8()) {}

  ByteReader& raw() { return reader_; }
  std::uint8_t version() const { return version_; }
  bool ok() const { return reader_.ok() && !is_odd_ && has_known_version(); }

  std::string text() { return std::string(reader_.text()); }
  std::uint32_t number32() {
    const std::uint64_t v = reader_.varint();
    check(v <= std::numeric_limits<std::uint32_t>::max());
    return static_cast<std::uint32_t>(v);
  }
  std::int32_t signed32() {
    const std::int64_t v = reader_.svarint();
    check(v >= std::numeric_limits<std::int32_t>::min() &&
          v <= std::numeric_limits<std::int32_t>::max());
    return static_cast<std::int32_t>(v);
  }
  // A number that an enum of `Enum` has: low..high.
  template <typename Enum>
  Enum enumerator(Enum low, Enum high) {
    const std::uint8_t v = reader_.u8();
    check(v >= static_cast<std::uint8_t>(low) && v <= static_cast<std::uint8_t>(high));
    return static_cast<Enum>(v);
  }
  bool flag() {
    const std::uint8_t v = reader_.u8();
    check(v <= 1);
    return v == 1;
  }
  // A count of elements of which each takes at least one byte: never more than there are bytes
  // left.
  std::uint64_t count() {
    const std::uint64_t v = reader_.varint();
    check(v <= reader_.left());
    return ok() ? v : 0;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (std::uint64_t left = count(); left > 0 && ok(); --left) out.push_back(text());
    return out;
  }
  void check(bool is_as_it_must_be) {
    if (!is_as_it_must_be) is_odd_ = true;
  }

  // The record, when all of it was read and nothing was odd.
  template <typename Record>
  Result<Record> finish(Record record) {
    // First of all: a newer record need not look like ours in any byte but the first.
    if (!has_known_version()) return refuse_version();
    if (!ok() || !reader_.at_end()) {
      return failure(ErrorCode::corruption, std::string(record_) + " record is damaged");
    }
    return record;
  }

 private:
  bool has_known_version() const { return version_ >= 1 && version_ <= newest_; }
  Failure refuse_version() const {
    if (version_ == 0) {
      return failure(ErrorCode::corruption, std::string(record_) + " record is damaged");
    }
    return failure(ErrorCode::unsupported,
                   std::string(record_) + " record has version " + std::to_string(version_) +
                       ", this program reads up to version " + std::to_string(newest_));
  }

  ByteReader reader_;
  std::string_view record_;
  std::uint8_t newest_;
  std::uint8_t version_;
  bool is_odd_ = false;
};

// Differences wrap, so that every pair of instants survives, also never() and none().
inline std::int64_t wrapping_minus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
inline std::int64_t wrapping_plus(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

template <typename Writer>
void write_texts(Writer& out, const std::vector<std::string>& texts) {
  out.varint(texts.size());
  for (const std::string& text : texts) out.text(text);
}

// A retry policy inside another record; it has no version of its own.
void write_retry(ByteWriter& out, const core::RetryPolicy& policy);
core::RetryPolicy read_retry(RecordReader& in);

}  // namespace weir::store::codec
