// SPDX-License-Identifier: Apache-2.0
// What a door may say of this process and its machine.
#pragma once

#include "doors/beanstalk/beanstalk_door.h"

namespace weir::server {

doors::ProcessFacts process_facts();

}  // namespace weir::server
