// SPDX-License-Identifier: Apache-2.0
#include "support/seed.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/digest.h"

namespace weir::test {

bool is_seed_given() {
  const char* text = std::getenv("WEIR_SEED");
  return text != nullptr && *text != '\0';
}

std::uint64_t count_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t seed_from_environment() {
  return is_seed_given() ? count_from_environment("WEIR_SEED", 0) : secure_random_u64();
}

std::string how_to_repeat(std::uint64_t seed, std::string_view program, std::string_view test) {
  return fmt::format("to repeat: WEIR_SEED={} {} --gtest_filter={}", seed, program, test);
}

}  // namespace weir::test
