// SPDX-License-Identifier: Apache-2.0
// Plays every transcript of this folder to the HTTP door: whole, byte by byte and in random pieces.
// Each way begins with a fresh server: connection, door, engine and memory store, with a manual
// clock.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "doors/http/http_door.h"
#include "net/http_connection.h"
#include "store/memory/memory_store.h"
#include "wire/transcript.h"

namespace weir::wire {
namespace {

struct Server {
  Server()
      : memory({.seed = 7}),
        engine(memory, clock, {.prng_seed = 11}),
        connection({door_of(), limits, clock, date}, "127.0.0.1", false) {}

  HttpHandler& door_of() {
    EXPECT_TRUE(engine.start());
    doors::HttpDoorOptions options;
    options.version = "0.0.0";
    options.clock = &clock;
    options.backup = [](const std::string& directory) -> Result<void> {
      if (directory != "/full") return {};
      return failure(ErrorCode::conflict, "the directory is not empty");
    };
    door = std::make_unique<doors::HttpDoor>(engine, std::move(options));
    return *door;
  }

  // Turns until nothing is left to do, and what the connection has to send then.
  std::string settle() {
    for (int turns = 0; turns < 1000; ++turns) {
      const Result<bool> more = engine.run_turn();
      EXPECT_TRUE(more);
      if (!more || (!*more && !connection.resume())) break;
    }
    const std::string out(connection.output());
    connection.sent(out.size());
    return out;
  }

  std::string advance(std::int64_t duration_ms) {
    std::string out = settle();
    while (duration_ms > 0) {
      const std::int64_t step =
          std::min(duration_ms, std::max<std::int64_t>(1, engine.next_turn_in_ms()));
      clock.advance(step);
      duration_ms -= step;
      connection.check_deadline();
      out += settle();
    }
    return out;
  }

  net::HttpLimits limits;
  ManualClock clock;
  net::HttpDateCache date{clock};
  store::memory::MemoryStore memory;
  engine::Engine engine;
  std::unique_ptr<doors::HttpDoor> door;
  net::HttpConnection connection;
};

Session make_session() {
  const auto server = std::make_shared<Server>();
  return Session{.feed =
                     [server](std::string_view bytes) {
                       server->connection.feed(bytes);
                       return server->settle();
                     },
                 .advance = [server](std::int64_t ms) { return server->advance(ms); },
                 .close =
                     [server] {
                       server->connection.feed_end();
                       return server->settle();
                     },
                 .is_closed = [server] { return server->connection.should_close(); }};
}

std::vector<std::string> transcripts() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(WEIR_TRANSCRIPTS)) {
    if (entry.path().extension() == ".txt" && entry.path().stem() != "CMakeLists")
      names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::uint64_t seed() {
  const char* given = std::getenv("WEIR_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261129;
}

class HttpTranscript : public ::testing::TestWithParam<std::string> {};

TEST_P(HttpTranscript, goes_as_written_however_it_is_split) {
  const Result<Transcript> transcript =
      read_transcript((std::filesystem::path(WEIR_TRANSCRIPTS) / (GetParam() + ".txt")).string());
  ASSERT_TRUE(transcript) << transcript.error().detail;
  EXPECT_EQ(play_all_ways(*transcript, make_session, seed()), "") << "WEIR_SEED=" << seed();
}

INSTANTIATE_TEST_SUITE_P(Door, HttpTranscript, ::testing::ValuesIn(transcripts()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace weir::wire
