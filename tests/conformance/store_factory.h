// SPDX-License-Identifier: Apache-2.0
// What a store supplies to be held to the port: how to make, reopen and restore it, and how to fill
// it up. The suite asks for capabilities, never for names. Each program links one
// make_store_factory().
#pragma once

#include <cstdint>
#include <memory>

#include "store/store.h"

namespace weir::conformance {

enum class StopKind : std::uint8_t {
  clean,      // close(), then open
  killed,     // no close(); everything written is there
  power_cut,  // no close(); only what was durable is there
};

// One test's world: one place for a store. One thread.
class StoreFactory {
 public:
  virtual ~StoreFactory() = default;

  // A fresh, empty store.
  virtual std::unique_ptr<store::Store> make() = 0;
  // Stops `old` and opens the same place again. Requires: survives_reopen.
  virtual std::unique_ptr<store::Store> reopen(std::unique_ptr<store::Store> old, StopKind how,
                                               Now now) = 0;
  // A directory that is not there yet, and a store opened from such a backup. Requires: has_backup.
  virtual std::string backup_directory() = 0;
  virtual std::unique_ptr<store::Store> open_backup(const std::string& directory) = 0;
  // Makes `store` full, and gives room again; adds no job, queue or key. False: this store can't be
  // made full on purpose.
  virtual bool set_full(store::Store& store, bool is_full, Now now) = 0;
};

// small: everything that a store does in pieces it does in small ones, so that housekeeping comes
// within a short test; no command may be larger than 200 KB then.
enum class StoreSize : std::uint8_t { usual, small };

std::unique_ptr<StoreFactory> make_store_factory(StoreSize size = StoreSize::usual);

}  // namespace weir::conformance
