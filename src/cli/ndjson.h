// SPDX-License-Identifier: Apache-2.0
// Reads jobs from NDJSON, one JSON object a line, in batches that the server takes.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"

namespace weir::cli {

struct Batch {
  std::vector<std::string> jobs;     // JSON texts
  std::vector<std::uint64_t> lines;  // where each of them stood, from 1
};

// One thread.
class NdjsonReader {
 public:
  // `in` must outlive the reader.
  explicit NdjsonReader(std::istream& in) : in_(in) {}

  // The next batch: at most 1,000 jobs and as many bytes as one request may have; empty at the end.
  // Blank lines are skipped. Errors: invalid_argument, naming the line that is no JSON object;
  // nothing of its batch is given out.
  Result<Batch> next();

 private:
  std::istream& in_;
  std::uint64_t line_ = 0;
  std::string held_;  // a line that did not fit into the batch before
};

}  // namespace weir::cli
