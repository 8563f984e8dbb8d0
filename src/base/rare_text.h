// SPDX-License-Identifier: Apache-2.0
// RareText: a string for fields that are mostly empty. It takes 8 bytes instead of 32, and copying,
// moving or destroying an empty one costs next to nothing; one with text lies in the heap.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weir {

// Value.
class RareText {
 public:
  RareText() = default;
  // Implicit, so that it reads like a string.
  RareText(std::string_view text) { assign(text); }    // NOLINT(google-explicit-constructor)
  RareText(const std::string& text) { assign(text); }  // NOLINT(google-explicit-constructor)
  RareText(const char* text) { assign(text); }         // NOLINT(google-explicit-constructor)
  RareText(const RareText& other) { assign(other); }
  RareText(RareText&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)) {}
  ~RareText() { clear(); }
  RareText& operator=(const RareText& other) {
    if (this != &other && (bytes_ != nullptr || other.bytes_ != nullptr)) {
      clear();
      assign(other);
    }
    return *this;
  }
  RareText& operator=(RareText&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  bool empty() const { return bytes_ == nullptr; }
  std::size_t size() const { return std::string_view(*this).size(); }
  void clear() {
    if (bytes_ == nullptr) return;
    delete[] bytes_;
    bytes_ = nullptr;
  }
  operator std::string_view() const {  // NOLINT(google-explicit-constructor)
    if (bytes_ == nullptr) return {};
    std::size_t size = 0;
    std::memcpy(&size, bytes_, sizeof size);
    return {bytes_ + sizeof size, size};
  }
  std::string str() const { return std::string(std::string_view(*this)); }
  operator std::string() const { return str(); }  // NOLINT(google-explicit-constructor)
  std::size_t find(std::string_view text) const { return std::string_view(*this).find(text); }
  std::string_view substr(std::size_t from, std::size_t count = std::string_view::npos) const {
    return std::string_view(*this).substr(from, count);
  }

  friend bool operator==(const RareText& a, const RareText& b) {
    return std::string_view(a) == std::string_view(b);
  }
  template <typename Text>
    requires std::is_convertible_v<const Text&, std::string_view>
  friend bool operator==(const RareText& a, const Text& b) {
    return std::string_view(a) == std::string_view(b);
  }

 private:
  // Requires: it is empty.
  void assign(std::string_view text) {
    if (text.empty()) return;
    const std::size_t size = text.size();
    bytes_ = new char[sizeof size + size];
    std::memcpy(bytes_, &size, sizeof size);
    std::memcpy(bytes_ + sizeof size, text.data(), size);
  }

  char* bytes_ = nullptr;  // its size, then the text; nullptr when empty
};

}  // namespace weir
