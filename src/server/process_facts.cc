// SPDX-License-Identifier: Apache-2.0
#include "server/process_facts.h"

#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

namespace weir::server {

doors::ProcessFacts process_facts() {
  doors::ProcessFacts facts{.pid = ::getpid()};
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    facts.user_us = std::int64_t{usage.ru_utime.tv_sec} * 1'000'000 + usage.ru_utime.tv_usec;
    facts.system_us = std::int64_t{usage.ru_stime.tv_sec} * 1'000'000 + usage.ru_stime.tv_usec;
  }
  utsname machine{};
  if (::uname(&machine) == 0) {
    facts.hostname = machine.nodename;
    facts.os = machine.version;
    facts.platform = machine.machine;
  }
  return facts;
}

}  // namespace weir::server
