// SPDX-License-Identifier: Apache-2.0
// See job_view.h.
#include "cli/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/digest.h"
#include "base/text.h"
#include "cli/answer.h"
#include "cli/table.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {

constexpr std::uint64_t kPageMax = 1'000;
constexpr std::size_t kErrorWidth = 60;

std::string payload_text(std::string_view json) {
  const std::string raw(client::json_member(json, "payload"));
  if (!raw.empty()) return raw;
  const std::string encoded = field(json, "payload_base64");
  std::string bytes;
  if (encoded.empty() || !base64_decode(encoded, bytes)) return encoded;
  return is_valid_utf8(bytes) ? bytes : fmt::format("{} bytes: {}", bytes.size(), encoded);
}

std::string history_text(std::string_view json) {
  const auto attempts = client::json_elements(client::json_member(json, "history"));
  if (attempts.empty()) return {};
  Table table({"ATTEMPT", "OUTCOME", "STARTED", "ENDED", "WORKER", "ERROR"});
  for (const std::string_view attempt : attempts) {
    const std::string error_class = field(attempt, "error.class");
    const std::string message = field(attempt, "error.message");
    table.add({field(attempt, "attempt"), field(attempt, "outcome"), field(attempt, "started_at"),
               field(attempt, "ended_at"), field(attempt, "worker_id"),
               error_class.empty() ? message : error_class + ": " + message});
  }
  return "\n" + table.text();
}

void add_row(Table& table, std::string_view job) {
  std::string note = field(job, "reason");
  if (note.empty()) note = field(job, "last_error");
  table.add({field(job, "id"), field(job, "queue"), field(job, "status"), field(job, "class"),
             field(job, "kind"),
             fmt::format("{}/{}", field(job, "attempts"), field(job, "max_attempts")),
             field(job, "created_at"), std::string(cut_utf8(note, kErrorWidth))});
}

std::string job_text(std::string_view json) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const char* name : {"id", "queue", "status", "kind", "class", "priority"}) {
    pairs.emplace_back(name, field(json, name));
  }
  pairs.emplace_back("attempts",
                     fmt::format("{} of {}", field(json, "attempts"), field(json, "max_attempts")));
  for (const char* name :
       {"reason", "last_error", "created_at", "run_at", "claimed_at", "retry_after",
        "lease_expires_at", "completed_at", "dead_at", "worker_id", "progress.percent",
        "progress.message", "group", "key", "unique_key", "ttl", "created_by"}) {
    pairs.emplace_back(name, field(json, name));
  }
  pairs.emplace_back("tags", joined(json, "tags", ", "));
  pairs.emplace_back("content_type", field(json, "content_type"));
  pairs.emplace_back("payload", payload_text(json));
  pairs.emplace_back("result", std::string(client::json_member(json, "result")));
  return list_text(pairs) + history_text(json);
}

}  // namespace

int print_job(Session& session, const std::string& id, const client::Query& query) {
  const auto answer =
      make_client(session)->request("GET", "/v1/jobs/" + client::path_segment(id), query);
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, *answer);
  } else {
    session.out << job_text(*answer);
  }
  return kExitOk;
}

int print_jobs(Session& session, const std::string& path, const client::Query& filter,
               std::uint64_t limit) {
  const auto client = make_client(session);
  Table table({"ID", "QUEUE", "STATUS", "CLASS", "KIND", "ATTEMPTS", "CREATED", "NOTE"});
  std::string cursor;
  std::uint64_t count = 0;
  if (session.json) session.out << "{\"jobs\":[";
  while (count < limit) {
    client::Query query = filter;
    query.emplace_back("limit", fmt::format("{}", std::min(limit - count, kPageMax)));
    query.emplace_back("cursor", cursor);
    const auto page = client->request("GET", path, query);
    if (!page) {
      if (session.json) session.out << "]}\n";
      return report(session, page.error());
    }
    for (const std::string_view job : client::json_elements(client::json_member(*page, "jobs"))) {
      if (session.json) {
        session.out << (count == 0 ? "" : ",\n") << job;
      } else {
        add_row(table, job);
      }
      ++count;
    }
    cursor = field(*page, "next_cursor");
    if (cursor.empty()) break;
  }
  if (session.json) {
    session.out << "],\"next_cursor\":" << (cursor.empty() ? "null" : json_string(cursor)) << "}\n";
    return kExitOk;
  }
  session.out << table.text();
  if (!cursor.empty())
    session.err << fmt::format("weir: the first {}; --all shows every one\n", count);
  return kExitOk;
}

int each_job(Session& session, const std::vector<std::string>& ids, const std::string& method,
             const std::string& suffix, const std::string& reason, const std::string& done) {
  const auto client = make_client(session);
  int code = kExitOk;
  for (const std::string& id : ids) {
    const std::string body =
        reason.empty() ? std::string() : fmt::format("{{\"reason\":{}}}", json_string(reason));
    const auto answer =
        client->request(method, "/v1/jobs/" + client::path_segment(id) + suffix, {}, body);
    if (!answer) {
      Error error = answer.error();
      error.detail = fmt::format("job {}: {}", id, error.detail);
      const int refused = report(session, error);
      if (code == kExitOk) code = refused;
      continue;
    }
    if (session.json) {
      print_json(session, *answer);
    } else {
      const std::string status = field(*answer, "status");
      session.out << fmt::format("{}  {}\n", printable(id),
                                 status.empty() ? done : printable(status));
    }
  }
  return code;
}

}  // namespace weir::cli
