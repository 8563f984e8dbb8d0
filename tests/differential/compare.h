// SPDX-License-Identifier: Apache-2.0
// Compares two stores through the port: everything that can be read of them.
#pragma once

#include <string>

#include "base/prng.h"
#include "store/store.h"

namespace weir::differential {

// The first difference in words, or empty. Jobs, counts, order in lanes, due things, next instants,
// queues, tokens, audit.
std::string difference(store::Store& model, store::Store& other, Now now);
// The same for pages of a random query, and for body, history and result of a job.
std::string page_difference(store::Store& model, store::Store& other, Prng& prng);
std::string text_difference(store::Store& model, store::Store& other, core::JobId id);

}  // namespace weir::differential
