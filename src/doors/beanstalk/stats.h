// SPDX-License-Identifier: Apache-2.0
// The statistics of beanstalkd 1.12 as YAML, key for key in its order, and its list of tubes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "doors/beanstalk/door_impl.h"
#include "engine/engine.h"

namespace weir::doors::beanstalk {

// "default" first, then by name: those that a connection uses or watches, and those with jobs.
std::vector<std::string> tube_names(const BeanstalkDoor::Impl& door);
// Is it one of these?
bool has_tube(const BeanstalkDoor::Impl& door, std::string_view name);

// The job, if this door shows it: not_found for what has ended otherwise than dead, and for jobs of
// other namespaces.
Result<engine::JobView> find_job(const BeanstalkDoor::Impl& door, std::uint64_t id);

std::string server_stats(const BeanstalkDoor::Impl& door);
std::string tube_stats(const BeanstalkDoor::Impl& door, std::string_view name);
std::string job_stats(const BeanstalkDoor::Impl& door, const engine::JobView& job);

}  // namespace weir::doors::beanstalk
