// SPDX-License-Identifier: Apache-2.0
#include "store/journal/housekeeping.h"

namespace weir::store::journal {

Result<bool> Housekeeping::work(Now now) {
  WEIR_TRY_ASSIGN(const bool more_spares, store_.log_->prepare_spares());
  WEIR_TRY(seal(now));
  return more_spares;
}

// An idle log ends with an empty commit that says how far it is durable: recovery then tells damage
// from a torn tail.
Result<bool> Housekeeping::seal(Now now) {
  constexpr std::int64_t kIdleMs = 500;
  const std::uint64_t last = store_.log_->last_seq();
  if (last == sealed_seq_) return false;
  if (last != idle_seq_) {
    idle_seq_ = last;
    idle_since_ = now.store;
    return false;
  }
  if (now.store.since(idle_since_) < kIdleMs) return false;
  WEIR_TRY(store_.sync());
  auto sealed = store_.append(SegmentKind::hot, Reserve::workers, {}, now);
  if (!sealed && sealed.error().code != ErrorCode::store_full)
    return failure(std::move(sealed).error());
  WEIR_TRY(store_.sync());
  sealed_seq_ = store_.log_->last_seq();
  idle_seq_ = sealed_seq_;
  return true;
}

}  // namespace weir::store::journal
