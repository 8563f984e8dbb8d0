// SPDX-License-Identifier: Apache-2.0
// One seed for every random test: from WEIR_SEED, or fresh. The test prints it with the command to
// repeat.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::test {

// WEIR_SEED as a number, else a fresh one.
std::uint64_t seed_from_environment();
// Is WEIR_SEED set? Then lists of other seeds are left out.
bool is_seed_given();
// A count of rounds from the environment variable `name`, else `otherwise`.
std::uint64_t count_from_environment(const char* name, std::uint64_t otherwise);
// "WEIR_SEED=<seed> <program> --gtest_filter=<test>".
std::string how_to_repeat(std::uint64_t seed, std::string_view program, std::string_view test);

}  // namespace weir::test
