// SPDX-License-Identifier: Apache-2.0
// EntityTable<Key, Value>: the hash table inside a View. A slot says what is known of one entity:
// nothing (not loaded or forgotten), that it is absent, or its value. Addresses of slots stay until
// clear(); clear() costs per slot used and keeps the memory, strings of values included, so that a
// turn allocates next to nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace weir::core {

// Mixes a number into a hash; good enough for keys that nobody outside chooses the hash of.
constexpr std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9E3779B97F4A7C15ULL + (hash << 6) + (hash >> 2);
  hash ^= hash >> 32;
  hash *= 0xD6E8FEB86659FD93ULL;
  return hash ^ (hash >> 32);
}

template <typename Key, typename Value>
class EntityTable {
 public:
  struct Slot {
    Key key{};
    Value value{};
    const Value* over =
        nullptr;                // shown instead of `value`: what a command of this turn made of it
    bool is_known = false;      // false: must be loaded
    bool is_present = false;    // known: there or absent
    bool is_laid_over = false;  // changed by a command of this turn
    std::uint64_t hash = 0;
    std::size_t position = 0;  // in index_
  };

  // The slot whose key `same` admits, or nullptr. `same(key)` lets callers search without making a
  // Key.
  template <typename Same>
  const Slot* find(std::uint64_t hash, const Same& same) const {
    if (index_.empty()) return nullptr;
    const std::size_t mask = index_.size() - 1;
    for (std::size_t i = hash & mask; index_[i] != 0; i = (i + 1) & mask) {
      const Slot& slot = slots_[index_[i] - 1];
      if (slot.hash == hash && same(slot.key)) return &slot;
    }
    return nullptr;
  }

  // The slot of a key, made when there is none. `write(key)` fills the key of a new slot.
  template <typename Same, typename Write>
  Slot& find_or_add(std::uint64_t hash, const Same& same, const Write& write) {
    if (const Slot* found = find(hash, same)) return const_cast<Slot&>(*found);
    if ((used_ + 1) * 2 > index_.size()) grow();
    if (used_ == slots_.size()) slots_.emplace_back();
    Slot& slot = slots_[used_++];
    write(slot.key);
    slot.hash = hash;
    slot.over = nullptr;
    slot.is_known = slot.is_present = slot.is_laid_over = false;
    insert(slot, used_);
    return slot;
  }

  // clear() for values that may be large: their memory is given back.
  void clear_and_free() {
    for (std::size_t i = 0; i < used_; ++i) slots_[i].value = Value{};
    clear();
  }

  void clear() {
    if (used_ > kKeepSlots) {  // one huge turn must not hold its memory for ever
      slots_.clear();
      slots_.shrink_to_fit();
      index_ = {};
    } else {
      for (std::size_t i = 0; i < used_; ++i) index_[slots_[i].position] = 0;
    }
    used_ = 0;
  }

 private:
  static constexpr std::size_t kKeepSlots = 16'384;

  void insert(Slot& slot, std::size_t number) {
    const std::size_t mask = index_.size() - 1;
    std::size_t i = slot.hash & mask;
    while (index_[i] != 0) i = (i + 1) & mask;
    index_[i] = static_cast<std::uint32_t>(number);
    slot.position = i;
  }

  void grow() {
    const std::size_t size = index_.empty() ? 64 : index_.size() * 2;
    index_.assign(size, 0);
    for (std::size_t i = 0; i < used_; ++i) insert(slots_[i], i + 1);
  }

  std::deque<Slot> slots_;  // the first used_ are in use
  std::vector<std::uint32_t>
      index_;  // slot number + 1, 0 = free; linear probing, at most half full
  std::size_t used_ = 0;
};

}  // namespace weir::core
