// SPDX-License-Identifier: Apache-2.0
// Every command of weir, one file each, and the tree of them all.
#pragma once

#include <memory>

#include "cli/command.h"

namespace weir::cli {

void add_enqueue(Command& root);
void add_work(Command& root);
void add_job(Command& root);
void add_queue(Command& root);
void add_dead(Command& root);
void add_token(Command& root);
void add_events(Command& root);
void add_store(Command& root);
void add_serve(Command& root);
void add_check(Command& root);
void add_completion(Command& root);
void add_version(Command& root);

// The tree, with the options of every command bound to `session`, which must outlive it.
std::unique_ptr<Command> command_tree(Session& session);

}  // namespace weir::cli
