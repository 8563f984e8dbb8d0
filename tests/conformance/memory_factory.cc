// SPDX-License-Identifier: Apache-2.0
// The memory store under the conformance suite.
#include "base/assert.h"
#include "conformance/store_factory.h"
#include "store/memory/memory_store.h"

namespace weir::conformance {

namespace {

using store::memory::MemoryStore;

class MemoryFactory final : public StoreFactory {
 public:
  std::unique_ptr<store::Store> make() override { return std::make_unique<MemoryStore>(); }
  std::unique_ptr<store::Store> reopen(std::unique_ptr<store::Store>, StopKind, Now) override {
    WEIR_ASSERT(false, "the memory store does not survive");
    return nullptr;
  }
  std::string backup_directory() override { return "nowhere"; }
  std::unique_ptr<store::Store> open_backup(const std::string&) override {
    WEIR_ASSERT(false, "the memory store has no backup");
    return nullptr;
  }
  bool set_full(store::Store& store, bool is_full, Now) override {
    // One job is there already in the tests that fill a store.
    static_cast<MemoryStore&>(store).set_capacity(is_full ? 1 : 0);
    return true;
  }
};

}  // namespace

std::unique_ptr<StoreFactory> make_store_factory(StoreSize) {
  return std::make_unique<MemoryFactory>();
}

}  // namespace weir::conformance
