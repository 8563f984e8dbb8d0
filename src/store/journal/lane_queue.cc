// SPDX-License-Identifier: Apache-2.0
#include "store/journal/lane_queue.h"

#include <algorithm>
#include <functional>

namespace weir::store::journal {
namespace {

bool heap_later(const OrderEntry& a, const OrderEntry& b) { return b < a; }

}  // namespace

// Slots are recycled and jobs come back with another order: the check tells this place of this job
// from all of those.
std::uint32_t LaneQueue::check_of(const HotJob& job) {
  std::uint64_t x = job.id * 0x9E3779B97F4A7C15ULL;
  x ^= (static_cast<std::uint64_t>(job.rank) + static_cast<std::uint64_t>(job.priority)) *
       0xC2B2AE3D27D4EB4FULL;
  x ^= static_cast<std::uint64_t>(job.queue * 8 + job.priority_class) * 0x165667B19E3779F9ULL;
  return static_cast<std::uint32_t>(x >> 32);
}

bool LaneQueue::is_true(const HotJobs& jobs, const RingEntry& entry) const {
  const HotJob& job = jobs[entry.slot];
  return job.place() == LanePlace::ring && check_of(job) == entry.check;
}

bool LaneQueue::is_true(const HotJobs& jobs, const OrderEntry& entry) const {
  const HotJob& job = jobs[entry.slot];
  return job.place() == LanePlace::heap && job.id == entry.id && job.rank == entry.rank &&
         job.priority == entry.priority && job.queue == queue_ && job.priority_class == class_;
}

void LaneQueue::put(HotJobs& jobs, std::uint32_t slot) {
  HotJob& job = jobs[slot];
  const OrderEntry order = order_of(job, slot);
  ++true_count_;
  if (ring_.empty() || ring_last_ < order) {
    ring_.push_back({slot, check_of(job)});
    ring_last_ = order;
    job.lane_place = static_cast<std::uint32_t>(LanePlace::ring);
    return;
  }
  if (ring_last_ == order &&
      ring_.back().slot == slot) {  // came back to where its entry still stands
    job.lane_place = static_cast<std::uint32_t>(LanePlace::ring);
    return;
  }
  job.lane_place = static_cast<std::uint32_t>(LanePlace::heap);
  heap_.push_back(order);
  std::push_heap(heap_.begin(), heap_.end(), heap_later);
  if (ring_.size() + heap_.size() > 2 * true_count_ + 64) sweep(jobs);
}

void LaneQueue::remove(HotJobs& jobs, std::uint32_t slot) {
  jobs[slot].lane_place = static_cast<std::uint32_t>(LanePlace::none);
  --true_count_;
  if (true_count_ == 0) {
    ring_.clear();
    heap_.clear();
    return;
  }
  if (!ring_.empty() && ring_.front().slot == slot) ring_.pop_front();
  if (ring_.size() + heap_.size() > 2 * true_count_ + 64) sweep(jobs);
}

void LaneQueue::drop_stale_fronts(HotJobs& jobs) {
  while (!ring_.empty() && !is_true(jobs, ring_.front())) ring_.pop_front();
  while (!heap_.empty() && !is_true(jobs, heap_.front())) {
    std::pop_heap(heap_.begin(), heap_.end(), heap_later);
    heap_.pop_back();
  }
}

void LaneQueue::sweep(HotJobs& jobs) {
  std::erase_if(ring_, [&](const RingEntry& entry) { return !is_true(jobs, entry); });
  std::erase_if(heap_, [&](const OrderEntry& entry) { return !is_true(jobs, entry); });
  // A job that left and came back with the same order may stand twice.
  std::sort(heap_.begin(), heap_.end());
  heap_.erase(std::unique(heap_.begin(), heap_.end()), heap_.end());
  if (heap_.capacity() > 4 * heap_.size() + 64) heap_.shrink_to_fit();
  if (!ring_.empty()) ring_last_ = order_of(jobs[ring_.back().slot], ring_.back().slot);
}

void LaneQueue::peek(HotJobs& jobs, std::size_t places, std::vector<OrderEntry>& out) {
  drop_stale_fronts(jobs);
  const std::size_t begin = out.size();
  std::size_t ring_at = 0;
  const auto worse = [this](std::size_t a, std::size_t b) { return heap_[b] < heap_[a]; };
  frontier_.clear();
  if (!heap_.empty()) frontier_.push_back(0);
  while (out.size() - begin < places) {
    while (ring_at < ring_.size() && !is_true(jobs, ring_[ring_at])) ++ring_at;
    const bool has_ring = ring_at < ring_.size();
    if (!has_ring && frontier_.empty()) return;
    const OrderEntry of_ring =
        has_ring ? order_of(jobs[ring_[ring_at].slot], ring_[ring_at].slot) : OrderEntry{};
    if (has_ring && (frontier_.empty() || of_ring < heap_[frontier_.front()])) {
      out.push_back(of_ring);
      ++ring_at;
      continue;
    }
    std::pop_heap(frontier_.begin(), frontier_.end(), worse);
    const std::size_t node = frontier_.back();
    frontier_.pop_back();
    const bool is_double = out.size() > begin && out.back() == heap_[node];
    if (!is_double && is_true(jobs, heap_[node])) out.push_back(heap_[node]);
    for (std::size_t child = 2 * node + 1; child <= 2 * node + 2 && child < heap_.size(); ++child) {
      frontier_.push_back(child);
      std::push_heap(frontier_.begin(), frontier_.end(), worse);
    }
  }
}

std::size_t LaneQueue::memory_bytes() const {
  return sizeof *this + ring_.size() * sizeof(RingEntry) + 512 +
         heap_.capacity() * sizeof(OrderEntry);
}

std::uint32_t PendingSince::check_of(const HotJob& job) {
  const std::uint64_t x = job.id * 0x9E3779B97F4A7C15ULL ^
                          static_cast<std::uint64_t>(waiting_since_of(job)) * 0xC2B2AE3D27D4EB4FULL;
  return static_cast<std::uint32_t>(x >> 32);
}

bool PendingSince::is_true(const HotJobs& jobs, const Entry& entry) {
  const HotJob& job = jobs[entry.slot];
  return job.job_state() == core::JobState::pending && check_of(job) == entry.check;
}

void PendingSince::put(HotJobs& jobs, std::uint32_t slot, std::size_t pending_count) {
  const HotJob& job = jobs[slot];
  const Entry entry{slot, check_of(job)};
  const std::int64_t since = waiting_since_of(job);
  if (ring_.empty() || ring_last_ <= since) {
    ring_.push_back(entry);
    ring_last_ = since;
    if (ring_.size() > 2 * pending_count + 1024) {
      std::erase_if(ring_, [&](const Entry& each) { return !is_true(jobs, each); });
    }
    return;
  }
  heap_.put(since, entry);
  heap_.compact(pending_count, [&](const auto& each) { return is_true(jobs, each.key); });
}

std::int64_t PendingSince::oldest(const HotJobs& jobs) {
  while (!ring_.empty() && !is_true(jobs, ring_.front())) ring_.pop_front();
  const auto* top = heap_.top([&](const auto& each) { return is_true(jobs, each.key); });
  const std::int64_t of_ring = ring_.empty() ? 0 : waiting_since_of(jobs[ring_.front().slot]);
  if (top == nullptr) return of_ring;
  return ring_.empty() ? top->at : std::min(of_ring, top->at);
}

std::size_t PendingSince::memory_bytes() const {
  return ring_.size() * sizeof(Entry) + 512 + heap_.memory_bytes();
}

}  // namespace weir::store::journal
