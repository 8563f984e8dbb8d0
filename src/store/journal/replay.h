// SPDX-License-Identifier: Apache-2.0
// Loading: applies the records of recovered commits, in order, to an index that is still loading.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "store/journal/index.h"
#include "store/journal/log.h"
#include "store/journal/record.h"

namespace weir::store::journal {

// What the records say besides the index. Value.
struct Loaded {
  DurableIds ids;
  DurableIdentity identity;
  StoreTime store_time;  // of the last commit
  WallTime wall_time;
};

// Applies one commit. Errors: corruption, unsupported; the detail names the commit.
Result<void> apply_commit(const CommitInfo& info, std::string_view body, Index& index,
                          Loaded& loaded);

// Payloads of snapshot records (snapshot.cc writes them).
void write_partition(const Index& index, std::uint32_t partition, std::string& payload);
void write_meta(const Index& index, const DurableIds& ids, const DurableIdentity& identity,
                std::string& payload);
Result<void> apply_partition(std::string_view payload, Index& index);
Result<void> apply_meta(std::string_view payload, Index& index, Loaded& loaded);

}  // namespace weir::store::journal
