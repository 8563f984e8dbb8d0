// SPDX-License-Identifier: Apache-2.0
// One handler a route, by group; verbs.cc ties them to paths. Each answers its call exactly once,
// now or later.
#pragma once

#include "doors/http/verbs.h"

namespace weir::doors::http {

// jobs.cc
void enqueue(const CallPtr& call);
void enqueue_batch(const CallPtr& call);
void cancel_job(const CallPtr& call);
void promote_job(const CallPtr& call);
void replay_job(const CallPtr& call);
void edit_job(const CallPtr& call);
void delete_job(const CallPtr& call);

// show_jobs.cc
void get_job(const CallPtr& call);
void list_jobs(const CallPtr& call);
void list_dead(const CallPtr& call);

// claim.cc
void claim(const CallPtr& call);
void ack_job(const CallPtr& call);
void fail_job(const CallPtr& call);
void release_job(const CallPtr& call);
void snooze_job(const CallPtr& call);
void extend_job(const CallPtr& call);
void report_progress(const CallPtr& call);

// items.cc
void ack_items(const CallPtr& call);
void fail_items(const CallPtr& call);
void extend_items(const CallPtr& call);

// queues.cc
void list_queues(const CallPtr& call);
void get_queue(const CallPtr& call);
void put_queue(const CallPtr& call);
void patch_queue(const CallPtr& call);
void delete_queue(const CallPtr& call);
void pause_queue(const CallPtr& call);
void resume_queue(const CallPtr& call);
void purge_queue(const CallPtr& call);

// tokens.cc
void list_tokens(const CallPtr& call);
void create_token(const CallPtr& call);
void revoke_token(const CallPtr& call);

// server.cc
void back_up(const CallPtr& call);
void list_audit(const CallPtr& call);
void get_info(const CallPtr& call);
void get_openapi(const CallPtr& call);
void get_livez(const CallPtr& call);
void get_readyz(const CallPtr& call);
void get_metrics(const CallPtr& call);

// events.cc
void follow_events(const CallPtr& call);

}  // namespace weir::doors::http
