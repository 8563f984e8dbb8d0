// SPDX-License-Identifier: Apache-2.0
// weir events: follows what happens to jobs, until it is interrupted.
#include <fmt/format.h>
#include <poll.h>

#include <memory>
#include <ostream>

#include "base/digest.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "worker/backoff.h"

namespace weir::cli {
namespace {

std::string event_line(std::string_view json) {
  const std::string from = field(json, "from");
  const std::string to = field(json, "to");
  return fmt::format("{}  {:<12}  {}  {}  {}{}{}\n", field(json, "at"),
                     printable(field(json, "event")), field(json, "job_id"),
                     printable(field(json, "queue")), from.empty() ? "-" : from, " -> ",
                     to.empty() ? "-" : to);
}

int follow(Session& session, const std::string& queue) {
  const auto client = make_client(session);
  worker::Backoff backoff({}, secure_random_u64());
  bool was_connected = false;
  std::string last_id;
  while (true) {
    const auto print = [&session, &was_connected, &last_id,
                        &backoff](const client::ServerEvent& event) {
      was_connected = true;
      backoff.reset();
      last_id = event.id;
      if (session.json) {
        print_json(session, event.data);
      } else {
        session.out << event_line(event.data);
      }
      session.out.flush();
      return session.out.good();  // the reader of a pipe may have gone
    };
    const Result<void> ended = client->follow_events({{"queue", queue}}, last_id, print);
    if (ended) return kExitOk;
    // A server that was there comes back; one that never was is the caller's to know of.
    if (ended.error().code != ErrorCode::unavailable || !was_connected)
      return report(session, ended.error());
    session.err << "weir: the stream was cut, connecting again\n";
    poll(nullptr, 0, static_cast<int>(backoff.next_ms(ended.error().retry_after_ms)));
  }
}

}  // namespace

void add_events(Command& root) {
  Command& command = root.add("events", "Follow what happens to jobs");
  const auto queue = std::make_shared<std::string>();
  command.examples = {"weir events", "weir events --queue emails --json"};
  command.add_text("--queue", "QUEUE", *queue, "Of this queue only");
  command.run = [queue](Session& session) { return follow(session, *queue); };
}

}  // namespace weir::cli
