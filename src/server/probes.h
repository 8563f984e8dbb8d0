// SPDX-License-Identifier: Apache-2.0
// Probes and metrics on a listener and a thread of their own, over published atomics: they answer
// while a disk hangs.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace weir::server {

class Probes {
 public:
  // `published` must outlive the probes.
  explicit Probes(const engine::Published& published);
  ~Probes();  // stops the thread

  // Listens and starts the thread. Returns the address bound. Errors: those of HttpServer::listen.
  Result<std::string> start(const std::string& address);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weir::server
