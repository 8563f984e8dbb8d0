// SPDX-License-Identifier: Apache-2.0
// Wire transcripts: a conversation as a text file, played to any "bytes in, bytes out" session:
// whole, byte by byte and in seeded random pieces. The same text is an example in the protocol's
// document.
//
//   # remark                       (also empty lines, which end a block)
//   @http                          at the top: blocks are HTTP messages (below); else every line is
//   a line C: text                        the client sends text and CRLF C> text\r\n the client
//   sends exactly this, with the escapes \r \n \t \0 \\ \xHH S: pattern                     the
//   server must have sent this line and CRLF (patterns: pattern.h) S> pattern the server must have
//   sent this next, escapes as above
//   @advance 30s                   the clock moves
//   @close                         the client ends its side
//   @closed                        the server must have closed by now
//
// HTTP blocks: consecutive C: lines are one message: request line, headers, an empty C: line, body.
// Body lines are joined by CRLF, without one at the end. `{len}` in a header is the length of the
// body. Several messages without an S block between them are sent together (pipelining); separate
// them by an empty line. Consecutive S: lines are one answer: the status line, headers that must be
// there (in any order, others may be too; `!Name` must not be there), and after an empty S: line
// the whole body (without that line the body is not looked at).
//
// Outside S blocks the server must not have sent anything that no S block expects.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace weir::wire {

// Gives bytes to the session and returns everything that it sends until it has nothing more to do
// by itself (an engine behind it has had its turns).
using Feed = std::function<std::string(std::string_view)>;

// One connection. Without `advance` or `close` a transcript that uses them fails; `is_closed` may
// be left out too.
struct Session {
  Feed feed;
  std::function<std::string(std::int64_t ms)> advance;
  std::function<std::string()> close;
  std::function<bool()> is_closed;
};

// A fresh session on a fresh server: each way of splitting starts from the beginning.
using SessionFactory = std::function<Session()>;

struct Step {
  enum class Kind : std::uint8_t { send, expect, advance, close, expect_closed };
  Kind kind = Kind::send;
  int line = 0;          // in the file
  bool is_raw = false;   // one exact text in `lines`
  bool is_http = false;  // one HTTP message
  std::vector<std::string> lines;
  std::int64_t advance_ms = 0;
};

struct Transcript {
  std::string name;
  std::vector<Step> steps;
};

// Errors: invalid_argument with the line.
Result<Transcript> parse_transcript(std::string name, std::string_view text);
Result<Transcript> read_transcript(const std::string& path);

enum class Split : std::uint8_t { whole, bytes, random };

// Empty when all went as written, else what differed, with file and line.
std::string play(const Transcript& transcript, const Session& session, Split split,
                 std::uint64_t seed = 0);

// Whole, byte by byte, and `random_count` times in random pieces; says how to repeat a failure.
std::string play_all_ways(const Transcript& transcript, const SessionFactory& factory,
                          std::uint64_t seed, int random_count = 5);

}  // namespace weir::wire
