// SPDX-License-Identifier: Apache-2.0
// The offline verbs on a data directory: `weir store verify|backup|restore`. They take the
// directory's lock.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace weir::server {

// What a check of a data directory found, for people and as JSON. Value.
struct VerifyReport {
  bool is_sound = false;
  std::uint64_t commits = 0;
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
  std::vector<std::pair<std::string, std::uint64_t>> jobs_by_state;
  std::vector<std::string> notes;     // a torn tail that was left out, an unclean stop
  std::vector<std::string> problems;  // damage, with file, offset and job ids
};

// Reads everything and changes nothing. Errors: conflict (a server uses it), not_found, io_error.
Result<VerifyReport> verify_store(const std::string& directory);

// Copies a stopped store. Errors: conflict (in use, or the target is not empty), corruption,
// io_error.
Result<void> backup_store(const std::string& directory, const std::string& target);

// Makes a store of a backup: epoch, ids and lease secret move on, so that leases from before are
// refused. Errors: conflict (the target is not empty), corruption, io_error.
Result<void> restore_store(const std::string& backup, const std::string& target);

}  // namespace weir::server
