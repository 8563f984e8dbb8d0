// SPDX-License-Identifier: Apache-2.0
// Server-sent events come out the same wherever the bytes are split.
#include "client/sse.h"

#include <gtest/gtest.h>

#include <vector>

namespace weir::client {
namespace {

TEST(Sse, splits_do_not_matter) {
  const std::string stream =
      ": weir\r\nretry: 1000\r\n\r\nid: 1\nevent: ack\ndata: a\ndata: b\n\n:\n\ndata:c\n\nevent: "
      "lost\n\n";
  for (std::size_t step = 1; step <= stream.size(); ++step) {
    std::vector<std::string> seen;
    SseParser parser([&seen](const ServerEvent& event) {
      seen.push_back(event.id + "|" + event.name + "|" + event.data);
      return true;
    });
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(parser.feed(std::string_view(stream).substr(at, step)));
    }
    EXPECT_EQ(seen, (std::vector<std::string>{"1|ack|a\nb", "1|message|c"})) << step;
  }
}

TEST(Sse, an_endless_line_ends_the_stream) {
  SseParser parser([](const ServerEvent&) { return true; });
  const std::string piece(64 * 1024, 'x');
  bool goes_on = true;
  for (int i = 0; i < 100 && goes_on; ++i) goes_on = parser.feed(piece);
  EXPECT_FALSE(goes_on);
}

}  // namespace
}  // namespace weir::client
