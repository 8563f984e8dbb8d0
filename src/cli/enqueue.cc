// SPDX-License-Identifier: Apache-2.0
// weir enqueue: one job from the command line, a file or stdin, or many from NDJSON.
#include <fmt/format.h>

#include <fstream>
#include <istream>
#include <memory>
#include <ostream>

#include "base/text.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/ndjson.h"
#include "cli/option_values.h"
#include "client/json_slice.h"

namespace weir::cli {
namespace {

// How many batches between two lines of progress.
constexpr std::uint64_t kProgressEvery = 10;

struct Flags {
  std::string queue, data, kind, priority_class, priority, delay, at, key, ttl, group, content_type,
      max_attempts, retry, lease, timeout, unique_key, unique_window, idempotency_key;
  std::vector<std::string> headers, tags;
  bool batch = false;
  bool has_data = false;
};

Result<client::NewJob> job_of(const Flags& flags) {
  client::NewJob job;
  job.content_type = flags.content_type;
  job.kind = flags.kind;
  job.priority_class = flags.priority_class;
  job.group = flags.group;
  job.key = flags.key;
  job.unique_key = flags.unique_key;
  job.retry = flags.retry;
  job.tags = flags.tags;
  WEIR_TRY_ASSIGN(job.priority, integer_option("--priority", flags.priority));
  WEIR_TRY_ASSIGN(job.delay_ms, duration_option("--delay", flags.delay));
  WEIR_TRY_ASSIGN(job.ttl_ms, duration_option("--ttl", flags.ttl));
  WEIR_TRY_ASSIGN(job.lease_ms, duration_option("--lease", flags.lease));
  WEIR_TRY_ASSIGN(job.timeout_ms, duration_option("--timeout", flags.timeout));
  WEIR_TRY_ASSIGN(job.unique_window_ms, duration_option("--unique-window", flags.unique_window));
  WEIR_TRY_ASSIGN(job.max_attempts, count_option("--max-attempts", flags.max_attempts, 1, 100'000));
  if (!flags.at.empty()) {
    if (job.delay_ms)
      return failure(ErrorCode::invalid_argument, "--delay and --at exclude each other");
    if (!parse_rfc3339(flags.at)) {
      return failure(ErrorCode::invalid_argument,
                     fmt::format("--at: \"{}\" is no time; write 2030-01-31T08:00:00Z",
                                 cut_utf8(flags.at, 64)));
    }
    job.run_at = flags.at;
  }
  for (const std::string& header : flags.headers) {
    const std::size_t equals = header.find('=');
    if (equals == std::string::npos || equals == 0) {
      return failure(ErrorCode::invalid_argument,
                     fmt::format("--header: \"{}\" is not NAME=VALUE", cut_utf8(header, 64)));
    }
    job.headers.emplace_back(header.substr(0, equals), header.substr(equals + 1));
  }
  return job;
}

int enqueue_one(Session& session, const Flags& flags) {
  Result<client::NewJob> job = job_of(flags);
  if (!job) return usage(session, job.error().detail);
  if (flags.has_data) {
    Result<std::string> data = read_data(session, flags.data);
    if (!data) return report(session, data.error());
    job->payload = std::move(*data);
  }
  const auto answer = make_client(session)->enqueue(flags.queue, *job, flags.idempotency_key);
  if (!answer) return report(session, answer.error());
  if (session.json) {
    print_json(session, answer->json);
  } else {
    session.out << fmt::format("{}  {}{}{}\n", answer->id, answer->status,
                               answer->duplicate ? "  duplicate" : "",
                               answer->durable ? "" : "  not durable yet");
  }
  return kExitOk;
}

// What the options of a single job would do is not possible for many: each line says it itself.
std::string option_that_batch_lacks(const Flags& flags) {
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, const std::string&>>{
           {"--kind", flags.kind},
           {"--class", flags.priority_class},
           {"--priority", flags.priority},
           {"--delay", flags.delay},
           {"--at", flags.at},
           {"--key", flags.key},
           {"--ttl", flags.ttl},
           {"--group", flags.group},
           {"--content-type", flags.content_type},
           {"--max-attempts", flags.max_attempts},
           {"--retry", flags.retry},
           {"--lease", flags.lease},
           {"--timeout", flags.timeout},
           {"--unique-key", flags.unique_key},
           {"--unique-window", flags.unique_window}}) {
    if (!value.empty()) return name;
  }
  if (!flags.headers.empty()) return "--header";
  if (!flags.tags.empty()) return "--tag";
  return {};
}

int batch_failed(Session& session, Error error, const Batch& batch, std::uint64_t done) {
  error.detail = fmt::format("{} (in the batch of lines {} to {}; {} jobs before it were enqueued)",
                             error.detail, batch.lines.front(), batch.lines.back(), done);
  const int code = report(session, error);
  return error.code == ErrorCode::invalid_argument || error.code == ErrorCode::too_large
             ? kExitBadData
             : code;
}

int enqueue_many(Session& session, const Flags& flags) {
  if (const std::string option = option_that_batch_lacks(flags); !option.empty()) {
    return usage(
        session,
        fmt::format("{} does not go with --batch: each line is a whole job and says it itself",
                    option));
  }
  std::ifstream file;
  if (flags.has_data && flags.data != "-") {
    if (!flags.data.starts_with('@'))
      return usage(session, "--batch reads from @FILE or from stdin");
    file.open(flags.data.substr(1), std::ios::binary);
    if (!file)
      return report(
          session, {.code = ErrorCode::not_found, .detail = "cannot read " + flags.data.substr(1)});
  }
  NdjsonReader reader(file.is_open() ? static_cast<std::istream&>(file) : session.in);
  const auto client = make_client(session);
  std::uint64_t done = 0;
  std::uint64_t duplicates = 0;
  for (std::uint64_t number = 0;; ++number) {
    const Result<Batch> batch = reader.next();
    if (!batch) {
      report(session, {.code = ErrorCode::invalid_argument,
                       .detail = fmt::format("{}; {} jobs before it were enqueued",
                                             batch.error().detail, done)});
      return kExitBadData;
    }
    if (batch->jobs.empty()) break;
    // Each batch is a request of its own, so it needs a key of its own.
    const std::string key = flags.idempotency_key.empty()
                                ? std::string()
                                : fmt::format("{}-{}", flags.idempotency_key, number);
    const Result<std::string> answer = client->enqueue_batch(flags.queue, batch->jobs, key);
    if (!answer) return batch_failed(session, answer.error(), *batch, done);
    done += batch->jobs.size();
    duplicates += client::json_elements(client::json_member(*answer, "duplicates")).size();
    if (session.json) print_json(session, *answer);
    if (number % kProgressEvery == kProgressEvery - 1)
      session.err << fmt::format("weir: {} jobs enqueued\n", done);
  }
  if (!session.json) {
    session.out << fmt::format(
        "{} jobs enqueued{}\n", done,
        duplicates == 0 ? std::string() : fmt::format(", {} of them duplicates", duplicates));
  }
  return kExitOk;
}

}  // namespace

void add_enqueue(Command& root) {
  Command& command = root.add("enqueue", "Put a job into a queue");
  const auto flags = std::make_shared<Flags>();
  command.details =
      "DATA is the payload itself, @FILE, or - for stdin; without it the payload is null. What is "
      "JSON is kept as it\n"
      "is, to the last digit; everything else travels as bytes. With --batch, @FILE or stdin has "
      "one job a line, as the\n"
      "API takes it: {\"payload\":…,\"kind\":…}; each 1,000 lines are one request, all of it or "
      "nothing.";
  command.examples = {
      "weir enqueue emails '{\"to\":\"a@example.org\"}' --kind welcome",
      "weir enqueue reports @report.json --class P3 --delay 10m --tag nightly",
      "weir enqueue images - --content-type image/png < picture.png",
      "weir enqueue imports @jobs.ndjson --batch",
      "weir enqueue billing '{\"invoice\":17}' --idempotency-key invoice-17",
  };
  Option& queue =
      command.add_text("queue", "QUEUE", flags->queue, "The queue; the first job creates it");
  queue.required = true;
  command.add_text("data", "DATA", flags->data, "The payload, @FILE, or - for stdin").given =
      &flags->has_data;
  command.add_text("--kind", "KIND", flags->kind, "What sort of work");
  command
      .add_text("--class", "CLASS", flags->priority_class, "Priority class instead of the queue's")
      .choices = {"P0", "P1", "P2", "P3", "P4"};
  command.add_text("--priority", "N", flags->priority, "Inside the class; lower is more urgent");
  command.add_text("--delay", "DURATION", flags->delay, "Not before so long from now");
  command.add_text("--at", "TIME", flags->at, "Not before this time (RFC 3339)");
  command.add_text("--key", "KEY", flags->key, "Key for limits and fairness");
  command.add_text("--group", "GROUP", flags->group, "One at a time and in order within the group");
  command.add_text("--ttl", "DURATION", flags->ttl, "Expires unless started within this time");
  command.add_list("--header", "NAME=VALUE", flags->headers, "Header that goes along");
  command.add_list("--tag", "TAG", flags->tags, "Tag to find it by");
  command.add_text("--max-attempts", "N", flags->max_attempts, "Attempts before it is dead");
  command.add_text("--retry", "POLICY", flags->retry,
                   "Retry policy: ladder, exp2 or a configured name");
  command.add_text("--lease", "DURATION", flags->lease, "Length of a lease");
  command.add_text("--timeout", "DURATION", flags->timeout, "Longest run of one attempt");
  command.add_text("--unique-key", "KEY", flags->unique_key, "At most one living job of this key");
  command.add_text("--unique-window", "DURATION", flags->unique_window,
                   "Keep the key so long instead");
  command.add_text("--content-type", "TYPE", flags->content_type, "Type of the payload");
  command.add_text("--idempotency-key", "KEY", flags->idempotency_key,
                   "A repeat with this key makes no second job");
  command.add_flag("--batch", flags->batch, "Read many jobs, one JSON object a line");
  command.run = [flags](Session& session) {
    return flags->batch ? enqueue_many(session, *flags) : enqueue_one(session, *flags);
  };
}

}  // namespace weir::cli
