// SPDX-License-Identifier: Apache-2.0
// The HTTP door: weir's own API (docs/api.md, /openapi.json) as a handler of whole requests. It
// sees the engine's header and nothing else: no sockets, no stores, no rules. README.md in this
// folder says what a client should know.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/http_message.h"
#include "base/result.h"
#include "core/job/retry.h"
#include "engine/engine.h"

namespace weir::doors {

// Value. What the wiring tells the door.
struct HttpDoorOptions {
  std::vector<std::string>
      allowed_hosts;  // names or addresses, without port, besides localhost and loopback
  std::vector<std::string>
      allowed_origins;  // web origins that may call besides the server's own, "https://ops.example"
  bool is_loopback = true;       // is the listener bound to loopback only?
  bool tokens_required = false;  // closed from the start, also before the first token
  std::string version = WEIR_VERSION;
  WallTime started_at;              // for /v1/info; none: the time of construction
  std::string durability = "sync";  // of queues by default, for /v1/info
  const Clock* clock = nullptr;     // none: the engine's last turn tells the time
  std::vector<core::RetryPolicy>
      retry_policies;  // named ones of the configuration, besides the presets
  // Writes a backup; none: engine.backup().
  std::function<Result<void>(const std::string& directory)> backup;
  // Runs a task once after a while on the I/O thread (heartbeats of event streams); none: no
  // heartbeats.
  std::function<void(std::int64_t delay_ms, std::function<void()> task)> after;
};

// Thread: I/O. The engine must outlive the door; the door must outlive the engine's last
// run_turn().
class HttpDoor final : public HttpHandler {
 public:
  HttpDoor(engine::Engine& engine, HttpDoorOptions options);
  ~HttpDoor() override;
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  HttpHeadVerdict on_head(const HttpRequest& head) override;
  void on_request(HttpRequest request, HttpResponderPtr responder) override;

  // Ends every event stream, so that a stopping server need not wait for their clients.
  void end_streams();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::doors
