// SPDX-License-Identifier: Apache-2.0
// ByteWriter and ByteReader: little-endian numbers, LEB128 varints and length-prefixed strings for
// records and answers. The reader never reads past its input and never allocates by a declared
// length: after any short or impossible input ok() is false and every later read gives zero or
// empty.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}
  void u8(std::uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void u32(std::uint32_t v) { out_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void u64(std::uint64_t v) { out_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void varint(std::uint64_t v) {
    if (v < 0x80) return u8(static_cast<std::uint8_t>(v));
    char bytes[10];
    std::size_t size = 0;
    for (; v >= 0x80; v >>= 7) bytes[size++] = static_cast<char>(v | 0x80);
    bytes[size++] = static_cast<char>(v);
    out_.append(bytes, size);
  }
  // Zigzag, so that small negative numbers are short too.
  void svarint(std::int64_t v) {
    varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void text(std::string_view v) {
    varint(v.size());
    out_.append(v);
  }

 private:
  std::string& out_;
};

// The same into memory that the caller has made large enough: for records of which many are
// written. A varint has at most 10 bytes, a text at most 10 more than it is long.
class SpanWriter {
 public:
  explicit SpanWriter(char* at) : at_(at) {}
  char* at() const { return at_; }
  void u8(std::uint8_t v) { *at_++ = static_cast<char>(v); }
  void varint(std::uint64_t v) {
    for (; v >= 0x80; v >>= 7) u8(static_cast<std::uint8_t>(v | 0x80));
    u8(static_cast<std::uint8_t>(v));
  }
  void svarint(std::int64_t v) {
    varint((static_cast<std::uint64_t>(v) << 1) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void text(std::string_view v) {
    varint(v.size());
    raw(v);
  }
  void raw(std::string_view v) {
    if (!v.empty()) std::memcpy(at_, v.data(), v.size());
    at_ += v.size();
  }

 private:
  char* at_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}
  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }
  std::size_t left() const { return in_.size(); }

  std::uint8_t u8() {
    if (in_.empty()) return fail();
    const auto v = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }
  std::uint32_t u32() { return fixed<std::uint32_t>(); }
  std::uint64_t u64() { return fixed<std::uint64_t>(); }
  std::uint64_t varint() {
    std::uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t byte = u8();
      if (!ok_) return 0;
      if (shift == 63 && byte > 1) return fail();
      v |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if ((byte & 0x80) == 0) return v;
    }
    return fail();
  }
  std::int64_t svarint() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>((v >> 1) ^ (~(v & 1) + 1));
  }
  // Lives as long as the input does.
  std::string_view text() {
    const std::uint64_t size = varint();
    if (!ok_ || size > in_.size()) {
      fail();
      return {};
    }
    const std::string_view v = in_.substr(0, size);
    in_.remove_prefix(size);
    return v;
  }

 private:
  template <typename T>
  T fixed() {
    if (in_.size() < sizeof(T)) return static_cast<T>(fail());
    T v = 0;
    std::memcpy(&v, in_.data(), sizeof v);
    in_.remove_prefix(sizeof v);
    return v;
  }
  std::uint8_t fail() {
    ok_ = false;
    in_ = {};
    return 0;
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace weir
