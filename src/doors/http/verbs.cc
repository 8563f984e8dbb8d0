// SPDX-License-Identifier: Apache-2.0
#include "doors/http/verbs.h"

#include <array>

#include "base/text.h"
#include "core/limits.h"
#include "doors/http/handlers.h"

namespace weir::doors::http {
namespace {

constexpr ScopeMask kEnqueue = scope_bit(core::Scope::enqueue);
constexpr ScopeMask kWork = scope_bit(core::Scope::work);
constexpr ScopeMask kRead = scope_bit(core::Scope::read);
constexpr ScopeMask kOperate = scope_bit(core::Scope::operate);
constexpr ScopeMask kAdmin = scope_bit(core::Scope::admin);

constexpr std::size_t kSmall = 64 * core::kKiB;
// Base64 takes a third more, escapes up to six times; a payload at its limit fits in either form
// that people send.
constexpr std::size_t kOneJob = 2 * core::kPayloadBytesMax + kSmall;
constexpr std::size_t kWhole = core::kRequestBytesMax;
constexpr std::size_t kVerb = core::kMiB;  // a result, or an error message that is cut

constexpr Route kRoutes[] = {
    // producers
    {"POST", "/v1/queues/{queue}/jobs", Access::token, kEnqueue, Repeat::stored, kOneJob, enqueue,
     "enqueue",
     "Makes a job. With another Content-Type than JSON the body is the payload and options come in "
     "Weir-* headers.",
     "", "NewJob", "Enqueued", 202},
    {"POST", "/v1/queues/{queue}/jobs/batch", Access::token, kEnqueue, Repeat::stored, kWhole,
     enqueue_batch, "enqueueBatch", "Makes up to 1,000 jobs, all or none.", "", "NewJobs",
     "EnqueuedBatch", 202},
    // workers
    {"POST", "/v1/claim", Access::token, kWork, Repeat::refused, kSmall, claim, "claim",
     "Leases jobs; waits up to 60 s for the first.", "", "Claim", "Claimed"},
    {"POST", "/v1/jobs/{id}/ack", Access::token, kWork, Repeat::stored, kVerb, ack_job, "ack",
     "The work is done.", "", "Ack", "Moved"},
    {"POST", "/v1/jobs/{id}/fail", Access::token, kWork, Repeat::stored, kVerb, fail_job, "fail",
     "The attempt failed; the rules decide between retry and dead.", "", "Fail", "Moved"},
    {"POST", "/v1/jobs/{id}/release", Access::token, kWork, Repeat::stored, kSmall, release_job,
     "release", "Gives the job back, uncharged.", "", "Release", "Moved"},
    {"POST", "/v1/jobs/{id}/snooze", Access::token, kWork, Repeat::stored, kSmall, snooze_job,
     "snooze", "Puts the job off, uncharged.", "", "Snooze", "Moved"},
    {"POST", "/v1/jobs/{id}/extend", Access::token, kWork, Repeat::stored, kSmall, extend_job,
     "extend", "Moves the lease's deadline.", "", "Extend", "Extended"},
    {"POST", "/v1/jobs/{id}/progress", Access::token, kWork, Repeat::stored, kSmall,
     report_progress, "progress", "Notes how far the work is.", "", "Progress", "Moved"},
    {"POST", "/v1/ack", Access::token, kWork, Repeat::stored, kWhole, ack_items, "ackItems",
     "Many acks at once.", "", "AckItems", "Results"},
    {"POST", "/v1/fail", Access::token, kWork, Repeat::stored, kWhole, fail_items, "failItems",
     "Many fails at once.", "", "FailItems", "Results"},
    {"POST", "/v1/extend", Access::token, kWork, Repeat::stored, kWhole, extend_items,
     "extendItems", "Many extends at once.", "", "ExtendItems", "Results"},
    // reading
    {"GET", "/v1/jobs", Access::token, kRead, Repeat::read, 0, list_jobs, "listJobs",
     "Jobs by filter, in pages; status takes several words with commas.",
     "queue,status,kind,tag,group,unique_key,limit,cursor,order", "", "JobPage"},
    {"GET", "/v1/jobs/{id}", Access::token, kRead, Repeat::read, 0, get_job, "getJob",
     "A job, with payload; wait answers once it has ended.", "history,wait,payload", "", "Job"},
    {"GET", "/v1/queues/{queue}/dead", Access::token, kRead, Repeat::read, 0, list_dead, "listDead",
     "The dead letters of a queue.", "kind,tag,group,limit,cursor,order,payload,history", "",
     "JobPage"},
    {"GET", "/v1/queues", Access::token, kRead, Repeat::read, 0, list_queues, "listQueues",
     "Every queue.", "", "", "QueueList"},
    {"GET", "/v1/queues/{queue}", Access::token, kRead, Repeat::read, 0, get_queue, "getQueue",
     "Settings, counts by state, oldest age.", "", "", "Queue"},
    {"GET", "/v1/events", Access::token, kRead, Repeat::read, 0, follow_events, "events",
     "What happens from now on, as server-sent events.", "queue", "", ""},
    // operators
    {"POST", "/v1/jobs/{id}/cancel", Access::token, kOperate, Repeat::stored, kSmall, cancel_job,
     "cancel", "Stops a job that has not ended.", "", "Reason", "Moved"},
    {"POST", "/v1/jobs/{id}/promote", Access::token, kOperate, Repeat::stored, kSmall, promote_job,
     "promote", "Makes a scheduled or failed job claimable now.", "", "Nothing", "Moved"},
    {"POST", "/v1/jobs/{id}/replay", Access::token, kOperate, Repeat::stored, kSmall, replay_job,
     "replay", "Runs a dead, cancelled or expired job again.", "", "Reason", "Moved"},
    {"PATCH", "/v1/jobs/{id}", Access::token, kOperate, Repeat::stored, kOneJob, edit_job,
     "editJob", "Changes a waiting job; If-Match guards against a lost update.", "", "JobEdit",
     "Moved"},
    {"DELETE", "/v1/jobs/{id}", Access::token, kOperate, Repeat::stored, kSmall, delete_job,
     "deleteJob", "Removes a job that nobody holds.", "", "", "Removed"},
    {"PUT", "/v1/queues/{queue}", Access::token, kOperate, Repeat::stored, kSmall, put_queue,
     "putQueue", "Makes a queue, or gives it these settings and the defaults for the rest.", "",
     "QueueSettings", "QueueChanged"},
    {"PATCH", "/v1/queues/{queue}", Access::token, kOperate, Repeat::stored, kSmall, patch_queue,
     "patchQueue", "Changes some settings.", "", "QueueSettings", "QueueChanged"},
    {"DELETE", "/v1/queues/{queue}", Access::token, kOperate, Repeat::stored, kSmall, delete_queue,
     "deleteQueue", "Removes a queue; one that is not empty only with force=1.", "force", "",
     "Removed"},
    {"POST", "/v1/queues/{queue}/pause", Access::token, kOperate, Repeat::stored, kSmall,
     pause_queue, "pauseQueue", "The queue gives no jobs.", "", "Nothing", "QueueChanged"},
    {"POST", "/v1/queues/{queue}/resume", Access::token, kOperate, Repeat::stored, kSmall,
     resume_queue, "resumeQueue", "The queue gives jobs again.", "", "Nothing", "QueueChanged"},
    {"POST", "/v1/queues/{queue}/purge", Access::token, kOperate, Repeat::natural, kSmall,
     purge_queue, "purgeQueue", "Removes the waiting jobs.", "", "Nothing", "Removed"},
    // administrators
    {"POST", "/v1/tokens", Access::token, kAdmin, Repeat::stored, kSmall, create_token,
     "createToken", "Makes a token; its secret is shown this once.", "", "NewToken", "TokenCreated",
     201},
    {"GET", "/v1/tokens", Access::token, kAdmin, Repeat::read, 0, list_tokens, "listTokens",
     "Every token, without secrets.", "", "", "TokenList"},
    {"DELETE", "/v1/tokens/{token}", Access::token, kAdmin, Repeat::stored, kSmall, revoke_token,
     "revokeToken", "Ends a token.", "", "", "TokenRevoked"},
    {"POST", "/v1/store/backup", Access::token, kAdmin, Repeat::natural, kSmall, back_up, "backup",
     "Writes one consistent cut of the store into a directory of the server.", "", "Backup",
     "BackedUp"},
    {"GET", "/v1/audit", Access::token, kAdmin, Repeat::read, 0, list_audit, "listAudit",
     "What operators did, newest first.", "limit", "", "AuditList"},
    // the server itself
    {"GET", "/v1/info", Access::token, 0, Repeat::read, 0, get_info, "info",
     "Version, store, limits.", "", "", "Info"},
    {"GET", "/metrics", Access::token, kRead, Repeat::read, 0, get_metrics, "metrics",
     "Prometheus text.", "", "", ""},
    {"GET", "/openapi.json", Access::open, 0, Repeat::read, 0, get_openapi, "openapi",
     "This description.", "", "", "Any"},
    {"GET", "/livez", Access::open, 0, Repeat::read, 0, get_livez, "livez", "Is the process alive?",
     "", "", "Probe"},
    {"GET", "/readyz", Access::open, 0, Repeat::read, 0, get_readyz, "readyz", "Does it take work?",
     "", "", "Probe"},
};

constexpr std::size_t kSegmentsMax = 6;

// Segments of a path without its first '/'; 0 when there are more than fit.
std::size_t take_apart(std::string_view path,
                       std::array<std::string_view, kSegmentsMax>& segments) {
  if (!path.starts_with('/')) return 0;
  path.remove_prefix(1);
  for (std::size_t count = 0; count < kSegmentsMax;) {
    const std::size_t slash = path.find('/');
    segments[count++] = path.substr(0, slash);
    if (slash == std::string_view::npos) return count;
    path.remove_prefix(slash + 1);
  }
  return 0;
}

struct Pattern {
  std::array<std::string_view, kSegmentsMax> segments;
  std::size_t count = 0;
};

// Taken apart once.
const std::array<Pattern, std::size(kRoutes)>& patterns() {
  static const auto all = [] {
    std::array<Pattern, std::size(kRoutes)> made;
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i].count = take_apart(kRoutes[i].path, made[i].segments);
    return made;
  }();
  return all;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

Match match_route(std::string_view method, std::string_view path) {
  Match match;
  std::array<std::string_view, kSegmentsMax> segments;
  const std::size_t count = take_apart(path, segments);
  for (std::size_t i = 0; i < std::size(kRoutes); ++i) {
    const Pattern& pattern = patterns()[i];
    if (pattern.count != count) continue;
    std::string_view parameter;
    bool fits = true;
    for (std::size_t k = 0; k < count && fits; ++k) {
      if (pattern.segments[k].starts_with('{')) {
        parameter = segments[k];
        // An empty queue name goes on, so that it is refused as a name and not as a path.
        fits = !parameter.empty() || pattern.segments[k] == "{queue}";
      } else {
        fits = pattern.segments[k] == segments[k];
      }
    }
    if (!fits) continue;
    if (kRoutes[i].method != method) {
      match.methods.push_back(kRoutes[i].method);
      continue;
    }
    match.route = &kRoutes[i];
    match.is_bad_escape = !percent_decode(parameter, match.parameter);
    return match;
  }
  return match;
}

}  // namespace weir::doors::http
