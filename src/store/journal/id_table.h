// SPDX-License-Identifier: Apache-2.0
// Job id -> slot, and job ids in order.
//
// IdTable: 1,024 partitions (those of the snapshots), each a flat open-addressing table of 8-byte
// entries {check, slot} with linear probing, at most 7/8 full, deletion by shifting back.
// Partitions grow one by one, so that no put ever rehashes more than a thousandth of the jobs.
// IdOrder: one bit a job in words of 64 neighbouring ids, for walks in order of id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace weir::store::journal {

inline constexpr std::uint32_t kPartitionCount = 1024;

// Neighbouring ids share a partition in runs of 16, which keeps an orderly drain near in memory.
constexpr std::uint32_t partition_of(std::uint64_t id) {
  return static_cast<std::uint32_t>(id >> 4) & (kPartitionCount - 1);
}

// The top bit of an entry's slot says that it is the slot of an EndedJob.
inline constexpr std::uint32_t kEndedBit = 1u << 31;

// One thread. `id_of(slot)` passed to the calls tells the id that a slot holds.
class IdTable {
 public:
  // The slot of `id`, 0 when absent.
  template <typename IdOf>
  std::uint32_t find(std::uint64_t id, const IdOf& id_of) const {
    const Partition& part = parts_[partition_of(id)];
    const std::size_t at = locate(part, id, id_of);
    return at == kNowhere ? 0 : part.entries[at].slot;
  }

  // Requires: `id` is absent, slot is not 0.
  void insert(std::uint64_t id, std::uint32_t slot) {
    Partition& part = parts_[partition_of(id)];
    if ((part.used + 1) * 8 > part.entries.size() * 7) grow(part);
    place(part.entries, Entry{check_of(id), slot});
    ++part.used;
  }

  // Changes the slot of an id that is there.
  template <typename IdOf>
  void replace(std::uint64_t id, std::uint32_t slot, const IdOf& id_of) {
    Partition& part = parts_[partition_of(id)];
    const std::size_t at = locate(part, id, id_of);
    if (at != kNowhere) part.entries[at].slot = slot;
  }

  template <typename IdOf>
  void erase(std::uint64_t id, const IdOf& id_of) {
    Partition& part = parts_[partition_of(id)];
    std::size_t hole = locate(part, id, id_of);
    if (hole == kNowhere) return;
    const std::size_t mask = part.entries.size() - 1;
    // Close the hole: an entry moves back when its home does not lie behind the hole.
    for (std::size_t at = (hole + 1) & mask; part.entries[at].slot != 0; at = (at + 1) & mask) {
      const std::size_t home = part.entries[at].check & mask;
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        part.entries[hole] = part.entries[at];
        hole = at;
      }
    }
    part.entries[hole] = Entry{};
    --part.used;
  }

  // Calls with the slot of every job of one partition, in no particular order. The table must not
  // change meanwhile.
  template <typename Fn>
  void for_each(std::uint32_t partition, const Fn& fn) const {
    for (const Entry& entry : parts_[partition].entries) {
      if (entry.slot != 0) fn(entry.slot);
    }
  }
  std::size_t partition_size(std::uint32_t partition) const { return parts_[partition].used; }
  std::size_t memory_bytes() const {
    std::size_t bytes = sizeof *this;
    for (const Partition& part : parts_) bytes += part.entries.capacity() * sizeof(Entry);
    return bytes;
  }

 private:
  struct Entry {
    std::uint32_t check = 0;  // hash of the id; its low bits are the home
    std::uint32_t slot = 0;   // 0: empty
  };
  struct Partition {
    std::vector<Entry> entries;  // none, or a power of two
    std::size_t used = 0;
  };
  static constexpr std::size_t kNowhere = ~std::size_t{0};

  static std::uint32_t check_of(std::uint64_t id) {
    return static_cast<std::uint32_t>((id * 0x9E3779B97F4A7C15ULL) >> 32);
  }
  template <typename IdOf>
  static std::size_t locate(const Partition& part, std::uint64_t id, const IdOf& id_of) {
    if (part.entries.empty()) return kNowhere;
    const std::size_t mask = part.entries.size() - 1;
    const std::uint32_t check = check_of(id);
    for (std::size_t at = check & mask;; at = (at + 1) & mask) {
      const Entry& entry = part.entries[at];
      if (entry.slot == 0) return kNowhere;
      if (entry.check == check && id_of(entry.slot) == id) return at;
    }
  }
  static void place(std::vector<Entry>& entries, Entry entry) {
    const std::size_t mask = entries.size() - 1;
    std::size_t at = entry.check & mask;
    while (entries[at].slot != 0) at = (at + 1) & mask;
    entries[at] = entry;
  }
  static void grow(Partition& part) {
    std::vector<Entry> larger(part.entries.empty() ? 16 : part.entries.size() * 2);
    for (const Entry& entry : part.entries) {
      if (entry.slot != 0) place(larger, entry);
    }
    part.entries = std::move(larger);
  }

  std::array<Partition, kPartitionCount> parts_;
};

// One thread. Changes near the last change cost a comparison, others a tree lookup.
class IdOrder {
 public:
  void insert(std::uint64_t id) {
    auto at = find_word(insert_hint_, id >> 6);
    if (at == words_.end()) at = words_.emplace(id >> 6, 0).first;
    at->second |= bit(id);
    insert_hint_ = at;
  }
  void erase(std::uint64_t id) {
    auto at = find_word(erase_hint_, id >> 6);
    if (at == words_.end()) return;
    at->second &= ~bit(id);
    erase_hint_ = at;
    if (at->second == 0) {
      if (insert_hint_ == at) insert_hint_ = words_.end();
      words_.erase(at);
      erase_hint_ = words_.end();
    }
  }
  // The nearest id greater (smaller) than `id`; 0 when there is none.
  std::uint64_t next_after(std::uint64_t id) const {
    if (id == ~std::uint64_t{0}) return 0;
    const std::uint64_t from = id + 1;
    for (auto at = words_.lower_bound(from >> 6); at != words_.end(); ++at) {
      std::uint64_t word = at->second;
      if (at->first == from >> 6) word &= ~std::uint64_t{0} << (from & 63);
      if (word != 0) return (at->first << 6) | static_cast<std::uint64_t>(__builtin_ctzll(word));
    }
    return 0;
  }
  std::uint64_t next_before(std::uint64_t id) const {
    if (id == 0) return 0;
    const std::uint64_t from = id - 1;
    for (auto at = words_.upper_bound(from >> 6); at != words_.begin();) {
      --at;
      std::uint64_t word = at->second;
      if (at->first == from >> 6) word &= ~std::uint64_t{0} >> (63 - (from & 63));
      if (word != 0)
        return (at->first << 6) | (63u - static_cast<std::uint64_t>(__builtin_clzll(word)));
    }
    return 0;
  }
  std::size_t memory_bytes() const { return words_.size() * 64; }

 private:
  using Words = std::map<std::uint64_t, std::uint64_t>;
  static std::uint64_t bit(std::uint64_t id) { return std::uint64_t{1} << (id & 63); }
  Words::iterator find_word(Words::iterator hint, std::uint64_t word) {
    if (hint != words_.end() && hint->first == word) return hint;
    return words_.find(word);
  }

  Words words_;
  Words::iterator insert_hint_ = words_.end();
  Words::iterator erase_hint_ = words_.end();
};

}  // namespace weir::store::journal
