// SPDX-License-Identifier: Apache-2.0
#include "server/probes.h"

#include <atomic>
#include <thread>

#include "net/event_loop.h"
#include "net/http_server.h"

namespace weir::server {
namespace {

HttpResponse plain(int status, std::string body) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.headers.emplace_back("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

class ProbeHandler final : public HttpHandler {
 public:
  explicit ProbeHandler(const engine::Published& published) : published_(published) {}

  HttpHeadVerdict on_head(const HttpRequest&) override { return {}; }

  void on_request(HttpRequest request, HttpResponderPtr responder) override {
    responder->respond(answer(request));
  }

 private:
  HttpResponse answer(const HttpRequest& request) const {
    const std::string_view path =
        std::string_view(request.target).substr(0, request.target.find('?'));
    if (request.method != "GET" && request.method != "HEAD")
      return plain(405, "only GET is served here\n");
    if (path == "/livez")
      return published_.is_stopped ? plain(503, "stopped\n") : plain(200, "alive\n");
    if (path == "/readyz") {
      const std::string word(published_.readiness());
      return plain(word == "ready" ? 200 : 503, word + "\n");
    }
    if (path == "/metrics") {
      HttpResponse response = plain(200, *published_.metrics());
      response.content_type = "text/plain; version=0.0.4; charset=utf-8";
      return response;
    }
    return plain(404, "this listener serves /livez, /readyz and /metrics\n");
  }

  const engine::Published& published_;
};

}  // namespace

struct Probes::Impl {
  explicit Impl(const engine::Published& published) : handler(published), http(loop, handler) {}

  void run() {
    while (!stopping) {
      loop.run_round(-1);
      http.flush();
    }
  }

  net::EventLoop loop;
  ProbeHandler handler;
  net::HttpServer http;
  std::atomic<bool> stopping{false};
  std::thread thread;
};

Probes::Probes(const engine::Published& published) : impl_(std::make_unique<Impl>(published)) {}

Probes::~Probes() {
  impl_->stopping = true;
  impl_->loop.post([] {});  // wakes the round that waits
  if (impl_->thread.joinable()) impl_->thread.join();
}

Result<std::string> Probes::start(const std::string& address) {
  auto bound = impl_->http.listen(address);
  if (bound) impl_->thread = std::thread([this] { impl_->run(); });
  return bound;
}

}  // namespace weir::server
