// SPDX-License-Identifier: Apache-2.0
// Where the texts of jobs lie, which bytes of the log that keeps alive, and how ended jobs shrink.
#include <algorithm>

#include "store/journal/index.h"

namespace weir::store::journal {

// ---- places ----

bool Index::refers_to(const HotJob& job, const PackedLocation& at) const {
  if (job.body == at) return true;
  const Extra* extra = extra_of(job);
  if (extra == nullptr) return false;
  if (extra->result == at || extra->last == at || extra->first_attempt == at) return true;
  return extra->more_attempts != nullptr &&
         std::find(extra->more_attempts->rbegin(), extra->more_attempts->rend(), at) !=
             extra->more_attempts->rend();
}

void Index::set_place(HotJob& job, PackedLocation& field, const PackedLocation& at) {
  const PackedLocation old = field;
  if (old == at) return;
  field = PackedLocation{};
  if (old && !refers_to(job, old)) use_.subtract(old);
  if (at && !refers_to(job, at)) use_.add(at);
  field = at;
}

void Index::add_attempts(HotJob& job, PackedLocation at) {
  Extra& extra = need_extra(job);
  if (extra.first_attempt == at || (extra.more_attempts && extra.more_attempts->back() == at))
    return;
  if (!refers_to(job, at)) use_.add(at);
  if (!extra.first_attempt) {
    extra.first_attempt = at;
    return;
  }
  if (!extra.more_attempts) extra.more_attempts = std::make_unique<std::vector<PackedLocation>>();
  extra.more_attempts->push_back(at);
  if (extra.more_attempts->size() % kHistoryFoldAt == 0)
    fold_wanted_.push_back(core::JobId{job.id});
}

void Index::remember_places(std::uint32_t slot, const RecordParts& parts) {
  HotJob& job = hot_[slot];
  const bool is_ended = core::is_ended(job.job_state());
  if (parts.at) {
    if (parts.is_whole) release_places(slot);
    if (parts.has_body) set_place(job, job.body, parts.at);
    if (parts.has_result) set_place(job, need_extra(job).result, parts.at);
    if (parts.has_attempts) add_attempts(job, parts.at);
    if (is_ended) set_place(job, need_extra(job).last, parts.at);
  }
  if (!is_ended) {
    Extra* extra = extra_of(job);
    if (extra != nullptr && extra->last) set_place(job, extra->last, PackedLocation{});
  }
}

void Index::release_places(std::uint32_t slot) {
  HotJob& job = hot_[slot];
  set_place(job, job.body, PackedLocation{});
  Extra* extra = extra_of(job);
  if (extra == nullptr) return;
  set_place(job, extra->result, PackedLocation{});
  set_place(job, extra->last, PackedLocation{});
  if (extra->more_attempts) {
    for (const PackedLocation& at : *extra->more_attempts) {
      if (at != extra->first_attempt) use_.subtract(at);
    }
    extra->more_attempts.reset();
  }
  set_place(job, extra->first_attempt, PackedLocation{});
}

void Index::release_ended_places(std::uint32_t number) {
  JobPlaces places;
  ended_places(number, places);
  for (const PackedLocation& at : distinct(places)) use_.subtract(at);
  ended_more_.erase(number);
}

void Index::set_ended_places(std::uint32_t number, const RecordParts& parts) {
  release_ended_places(number);
  EndedJob& ended = ended_[number];
  ended.body = parts.at;
  ended.last = parts.at;
  ended.has_more = false;
  ended.attempts_in_last = parts.has_attempts;
  ended.result_in_last = parts.has_result;
  use_.add(parts.at);
}

void Index::ended_places(std::uint32_t number, JobPlaces& out) const {
  const EndedJob& ended = ended_[number];
  out.is_shrunk = true;
  out.body = ended.body;
  out.last = ended.last;
  if (ended.has_more) {
    const EndedMore& more = ended_more_.at(number);
    out.result = more.result;
    if (more.first_attempt) out.attempts.push_back(more.first_attempt);
    out.attempts.insert(out.attempts.end(), more.more_attempts.begin(), more.more_attempts.end());
    return;
  }
  if (ended.result_in_last) out.result = ended.last;
  if (ended.attempts_in_last) out.attempts.push_back(ended.last);
}

std::vector<PackedLocation> Index::distinct(const JobPlaces& places) {
  std::vector<PackedLocation> all = places.attempts;
  all.push_back(places.body);
  all.push_back(places.result);
  all.push_back(places.last);
  std::erase_if(all, [](const PackedLocation& at) { return !at; });
  std::sort(all.begin(), all.end(), [](const PackedLocation& a, const PackedLocation& b) {
    return a.segment != b.segment ? a.segment < b.segment : a.bits() < b.bits();
  });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Index::places(core::JobId id, JobPlaces& out) const {
  const std::uint32_t slot = find(id.value);
  if (slot == 0) return false;
  if ((slot & kEndedBit) != 0) {
    ended_places(slot & ~kEndedBit, out);
    return true;
  }
  const HotJob& job = hot_[slot];
  out.body = job.body;
  const Extra* extra = extra_of(job);
  if (extra == nullptr) return true;
  out.result = extra->result;
  out.last = extra->last;
  if (extra->first_attempt) out.attempts.push_back(extra->first_attempt);
  if (extra->more_attempts) {
    out.attempts.insert(out.attempts.end(), extra->more_attempts->begin(),
                        extra->more_attempts->end());
  }
  return true;
}

// ---- shrinking ----

void Index::shrink_oldest() {
  while (recently_ended_.size() > options_.ended_in_full_max) {
    const EndedRef ref = recently_ended_.front();
    recently_ended_.pop_front();
    const std::uint32_t slot = find(ref.id);
    if (slot == 0 || (slot & kEndedBit) != 0 || !core::is_ended(hot_[slot].job_state())) continue;
    const Extra* extra = extra_of(hot_[slot]);
    if (extra != nullptr && extra->ended_at == ref.ended_at && extra->last) shrink(slot);
  }
}

void Index::shrink(std::uint32_t slot) {
  HotJob& job = hot_[slot];
  Extra& extra = *extra_of(job);
  const std::uint32_t number = ended_.take();
  EndedJob& ended = ended_[number];
  ended.id = job.id;
  ended.ended_at = extra.ended_at;
  ended.body = job.body;
  ended.last = extra.last;
  ended.queue = job.queue;
  ended.state = static_cast<std::uint8_t>(job.state);
  ended.attempt = job.attempt;
  ended.version = job.version;
  const bool is_first_in_last = !extra.first_attempt || extra.first_attempt == extra.last;
  const bool is_result_in_last = !extra.result || extra.result == extra.last;
  if (is_first_in_last && is_result_in_last && !extra.more_attempts) {
    ended.attempts_in_last = static_cast<bool>(extra.first_attempt);
    ended.result_in_last = static_cast<bool>(extra.result);
  } else {
    ended.has_more = true;
    EndedMore& more = ended_more_[number];
    more.first_attempt = extra.first_attempt;
    more.result = extra.result;
    if (extra.more_attempts) more.more_attempts = std::move(*extra.more_attempts);
  }
  ids_.replace(job.id, number | kEndedBit, [this](std::uint32_t s) { return id_of(s); });
  release_hot(slot);
}

std::uint32_t Index::grow_back(std::uint32_t number) {
  const EndedJob ended = ended_[number];
  JobPlaces places;
  ended_places(number, places);
  const std::uint32_t slot = hot_.take();
  HotJob& job = hot_[slot];
  job.id = ended.id;
  job.queue = ended.queue;
  job.state = ended.state & 15u;
  job.attempt = ended.attempt;
  job.version = ended.version;
  job.body = ended.body;
  Extra& extra = need_extra(job);
  extra.ended_at = ended.ended_at;
  extra.last = ended.last;
  extra.result = places.result;
  if (!places.attempts.empty()) {
    extra.first_attempt = places.attempts.front();
    if (places.attempts.size() > 1) {
      extra.more_attempts = std::make_unique<std::vector<PackedLocation>>(
          places.attempts.begin() + 1, places.attempts.end());
    }
  }
  ids_.replace(ended.id, slot, [this](std::uint32_t s) { return id_of(s); });
  ended_more_.erase(number);
  ended_.release(number);
  return slot;
}

void Index::release_hot(std::uint32_t slot) {
  HotJob& job = hot_[slot];
  strings_.release(job.kind);
  strings_.release(job.created_by);
  release_extra(job);
  release_lease(job);
  hot_.release(slot);
}

}  // namespace weir::store::journal
