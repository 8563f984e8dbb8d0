// SPDX-License-Identifier: Apache-2.0
// libFuzzer target of the HTTP/1.1 connection: never crashes, and how the input is split does not
// change the output. The first byte chooses the place of the cut. Built with clang and
// WEIR_FUZZ=ON; corpus: the transcripts of tests/wire.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/http_connection.h"

namespace weir::net {
namespace {

class Echo final : public HttpHandler {
 public:
  HttpHeadVerdict on_head(const HttpRequest& head) override {
    return {.accept = head.target != "/no", .body_bytes_max = 64};
  }
  void on_request(HttpRequest request, HttpResponderPtr responder) override {
    HttpResponse response;
    response.body = request.method + request.target + request.body;
    responder->respond(std::move(response));
  }
};

std::string run(std::string_view first, std::string_view second) {
  const HttpLimits limits{.header_bytes_max = 512, .header_count_max = 8};
  ManualClock clock;
  Echo handler;
  HttpDateCache date(clock);
  HttpConnection connection({handler, limits, clock, date}, "", false);
  connection.feed(first);
  connection.feed(second);
  return std::string(connection.output()) + (connection.should_close() ? "closed" : "open");
}

}  // namespace
}  // namespace weir::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t cut = data[0] % input.size();
  if (weir::net::run(input, "") != weir::net::run(input.substr(0, cut), input.substr(cut)))
    std::abort();
  return 0;
}
