// SPDX-License-Identifier: Apache-2.0
#include "store/history.h"

#include "base/text.h"

namespace weir::store {

namespace {

constexpr std::size_t kFixedBytes = 32;      // numbers and lengths of a record, generously
constexpr std::size_t kCutTextBytes = 1024;  // what stays of a middle text

std::size_t total_bytes(const std::vector<core::AttemptRecord>& history) {
  std::size_t sum = 0;
  for (const core::AttemptRecord& attempt : history) sum += history_bytes(attempt);
  return sum;
}

}  // namespace

std::size_t history_bytes(const core::AttemptRecord& attempt) {
  return kFixedBytes + attempt.worker_id.size() + attempt.error.error_class.size() +
         attempt.error.code.size() + attempt.error.message.size() + attempt.reason.size();
}

void bound_history(std::vector<core::AttemptRecord>& history, std::size_t bytes_max) {
  std::size_t bytes = total_bytes(history);
  // Oldest first among the middle ones: what happened last tells most.
  for (std::size_t i = 1; i + 1 < history.size() && bytes > bytes_max; ++i) {
    bytes -= history_bytes(history[i]);
    std::string& message = history[i].error.message;
    message.resize(cut_utf8(message, kCutTextBytes).size());
    bytes += history_bytes(history[i]);
  }
  std::size_t gone = 0;
  while (history.size() > gone + 2 && bytes > bytes_max) {
    bytes -= history_bytes(history[1 + gone]);
    ++gone;
  }
  if (gone == 0) return;
  history.erase(history.begin() + 1, history.begin() + 1 + static_cast<std::ptrdiff_t>(gone));
}

}  // namespace weir::store
