// SPDX-License-Identifier: Apache-2.0
// What the tests of the log share: a small store in memory, commits with checkable bodies, and a
// record of what was replayed.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/prng.h"
#include "store/journal/faulty_file_system.h"
#include "store/journal/frame.h"
#include "store/journal/log.h"
#include "store/journal/memory_file_system.h"

namespace weir::store::journal {

inline const std::string kTestDirectory = "/data";
inline constexpr std::uint32_t kTestSegmentBytes = 32u << 10;

// A commit as a test knows it. Value.
struct TestCommit {
  std::uint64_t seq = 0;
  SegmentKind kind = SegmentKind::hot;
  std::string body;
  bool operator==(const TestCommit&) const = default;
};

// A log opened by a test, with what its opening replayed.
struct OpenedLog {
  std::unique_ptr<Log> log;
  std::vector<TestCommit> replayed;
  std::vector<CommitInfo> infos;
  RecoveryReport report;
  Error error;  // when log is none
};

inline LogOptions test_options(std::uint64_t seed = 1) {
  return {.create = true, .segment_bytes = kTestSegmentBytes, .prng_seed = seed};
}

inline OpenedLog open_log(FileSystem& files, const LogOptions& options = test_options(),
                          const std::string& directory = kTestDirectory) {
  OpenedLog opened;
  auto log = Log::open(
      files, directory, options,
      [&opened](const CommitInfo& info, std::string_view body) -> Result<void> {
        opened.replayed.push_back({info.seq, info.kind, std::string(body)});
        opened.infos.push_back(info);
        return {};
      },
      opened.report);
  if (log) {
    opened.log = std::move(*log);
  } else {
    opened.error = log.error();
  }
  return opened;
}

inline Now test_now(std::uint64_t seq = 1) {
  return {.wall = WallTime{1'800'000'000'000 + static_cast<std::int64_t>(seq)},
          .store = StoreTime{1'000 + static_cast<std::int64_t>(seq)}};
}

// A body of `size` bytes that no other commit has.
inline std::string test_body(std::uint64_t tag, std::size_t size) {
  Prng prng(tag);
  std::string body(size, '\0');
  for (char& c : body) c = static_cast<char>(prng.up_to(255));
  return body;
}

// Appends; the answer is the commit as it must come back.
inline TestCommit append_commit(Log& log, const std::string& body,
                                SegmentKind kind = SegmentKind::hot) {
  const auto at = log.append(body, kind, Reserve::none, 1, test_now());
  EXPECT_TRUE(at) << (at ? "" : at.error().detail);
  return {log.last_seq(), kind, body};
}

}  // namespace weir::store::journal
