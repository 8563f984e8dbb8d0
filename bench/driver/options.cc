// SPDX-License-Identifier: Apache-2.0
// Options by a table of names.
#include "driver/options.h"

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>

#include "base/text.h"

namespace weir::bench {
namespace {

constexpr const char* kHelp =
    "  --host H --port P      where the server listens\n"
    "  --producers N          connections that put (1)\n"
    "  --consumers N          connections that claim and ack (1)\n"
    "  --both N               instead: connections that put, claim and ack\n"
    "  --depth N              requests in flight on each connection (1)\n"
    "  --jobs N               jobs to put and to take\n"
    "  --before N             jobs that earlier runs put; numbers go on from there (0)\n"
    "  --taken N              of them: jobs that earlier runs took (0)\n"
    "  --hold 1               say \"ready\" once connected, start at a byte on stdin, stay\n"
    "                         connected after the result until stdin ends\n"
    "  --batch N              jobs a request, where the protocol has such requests (1)\n"
    "  --backlog N            jobs put and not acked at most (2 x connections that put x depth)\n"
    "  --payload N            bytes a job, at least 16 (100)\n"
    "  --queue NAME           (bench)\n"
    "  --queues N             with --consumers 0: spread the puts over NAME-0 .. (1)\n"
    "  --delay S              seconds that every put is delayed (0)\n"
    "  --pollers N            connections that wait for a job that never comes (0)\n"
    "  --poll-queues N        over so many queues (1)\n";

[[noreturn]] void usage(const char* program, const char* modes, int code) {
  std::fprintf(code == 0 ? stdout : stderr, "usage: %s --port P --jobs N [...]\n%s", program,
               kHelp);
  if (modes[0] != '\0') std::printf("  --mode MODE            %s\n", modes);
  std::exit(code);
}

std::uint64_t number(const std::string& name, const std::string& text) {
  const auto parsed = parse_u64(name, text);
  if (!parsed) die(name + ": " + text + " is not a number");
  return *parsed;
}

}  // namespace

void die(const std::string& why) {
  std::fprintf(stderr, "driver: %s\n", why.c_str());
  std::exit(1);
}

std::int64_t Options::backlog_max() const {
  if (!has_consumer()) return std::numeric_limits<std::int64_t>::max() / 2;
  return static_cast<std::int64_t>(backlog > 0 ? backlog : 2 * (producers + both) * depth);
}

Options read_options(int count, char** arguments, const char* modes) {
  Options options;
  std::map<std::string, std::function<void(std::uint64_t)>> numbers = {
      {"--port", [&](std::uint64_t n) { options.port = static_cast<std::uint16_t>(n); }},
      {"--producers", [&](std::uint64_t n) { options.producers = n; }},
      {"--consumers", [&](std::uint64_t n) { options.consumers = n; }},
      {"--both", [&](std::uint64_t n) { options.both = n; }},
      {"--depth", [&](std::uint64_t n) { options.depth = n; }},
      {"--jobs", [&](std::uint64_t n) { options.jobs = n; }},
      {"--before", [&](std::uint64_t n) { options.before = n; }},
      {"--backlog", [&](std::uint64_t n) { options.backlog = n; }},
      {"--hold", [&](std::uint64_t n) { options.holds = n != 0; }},
      {"--batch", [&](std::uint64_t n) { options.batch = n; }},
      {"--taken", [&](std::uint64_t n) { options.taken = n; }},
      {"--payload", [&](std::uint64_t n) { options.payload_bytes = n; }},
      {"--queues", [&](std::uint64_t n) { options.queues = n; }},
      {"--delay", [&](std::uint64_t n) { options.delay_s = n; }},
      {"--pollers", [&](std::uint64_t n) { options.pollers = n; }},
      {"--poll-queues", [&](std::uint64_t n) { options.poll_queues = n; }}};
  std::map<std::string, std::string*> texts = {
      {"--host", &options.host}, {"--queue", &options.queue}, {"--mode", &options.mode}};
  for (int i = 1; i < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--help" || name == "-h") usage(arguments[0], modes, 0);
    const auto as_number = numbers.find(name);
    const auto as_text = texts.find(name);
    if (i + 1 >= count || (as_number == numbers.end() && as_text == texts.end()))
      usage(arguments[0], modes, 2);
    if (as_number != numbers.end()) {
      as_number->second(number(name, arguments[i + 1]));
    } else {
      *as_text->second = arguments[i + 1];
    }
  }
  if (options.both > 0) options.producers = options.consumers = 0;
  if (options.port == 0 || options.jobs == 0) usage(arguments[0], modes, 2);
  if (options.payload_bytes < 16) die("--payload is at least 16: a job carries its number");
  if (options.depth == 0 || options.batch == 0) die("--depth and --batch are at least 1");
  if (options.taken > options.before) die("--taken is at most --before");
  if (!options.has_producer() && options.waiting_before() < options.jobs)
    die("nobody puts: at least --jobs must wait");
  return options;
}

}  // namespace weir::bench
