// SPDX-License-Identifier: Apache-2.0
#include "server/open_store.h"

#include <cstdint>

#include "base/log.h"
#include "store/journal/journal_store.h"
#include "store/memory/memory_store.h"

namespace weir::server {
namespace {

// What a person at night wants to know of an opening. What was odd, the store has told already.
void log_recovery(const store::journal::RecoveryReport& report) {
  if (report.created) {
    log::info("made a new store");
    return;
  }
  log::info("opened the store",
            {log::field("commits", report.commits), log::field("bytes", report.bytes),
             log::field("segments", report.segments),
             log::field("clean_stop", report.clean_stop ? "yes" : "no")});
}

}  // namespace

Result<std::unique_ptr<store::Store>> open_store(const config::ServerConfig& server,
                                                 const Clock& clock) {
  if (server.store == config::StoreKind::memory) {
    log::warning("the memory store forgets everything when the server stops");
    return std::make_unique<store::memory::MemoryStore>();
  }
  store::journal::JournalOptions options;
  options.disk_bytes_max = server.disk_max_bytes;
  options.cache_bytes = server.cache_bytes;
  const Now now{.wall = clock.wall_now(), .store = StoreTime::none()};
  WEIR_TRY_ASSIGN(auto journal,
                  store::journal::JournalStore::open(store::journal::real_file_system(),
                                                     server.data, options, now, &clock));
  log_recovery(journal->recovery());
  return journal;
}

}  // namespace weir::server
