// SPDX-License-Identifier: Apache-2.0
// See ndjson.h.
#include "cli/ndjson.h"

#include <fmt/format.h>

#include <istream>
#include <utility>

#include "base/text.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {
constexpr std::size_t kJobsMax = 1'000;
// A request holds 8 MiB; the rest is for the array around the jobs.
constexpr std::size_t kBytesMax = 8 * 1024 * 1024 - 64 * 1024;
}  // namespace

Result<Batch> NdjsonReader::next() {
  Batch batch;
  std::size_t bytes = 0;
  while (batch.jobs.size() < kJobsMax) {
    std::string line = std::exchange(held_, {});
    if (line.empty()) {
      if (!std::getline(in_, line)) break;
      ++line_;
      // A byte order mark, as some editors put in front.
      if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
      const std::string_view text = trim(line);
      if (text.empty()) continue;
      line = std::string(text);
      if (!line.starts_with('{') || !client::is_json(line)) {
        return failure(ErrorCode::invalid_argument,
                       fmt::format("line {} is no JSON object", line_));
      }
    }
    if (!batch.jobs.empty() && bytes + line.size() + 1 > kBytesMax) {
      held_ = std::move(line);
      break;
    }
    bytes += line.size() + 1;
    batch.jobs.push_back(std::move(line));
    batch.lines.push_back(line_);
  }
  return batch;
}

}  // namespace weir::cli
