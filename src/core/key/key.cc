// SPDX-License-Identifier: Apache-2.0
#include "core/key/key.h"

#include <array>

namespace weir::core {

std::string_view to_string(Scope scope) {
  switch (scope) {
    case Scope::enqueue:
      return "enqueue";
    case Scope::work:
      return "work";
    case Scope::read:
      return "read";
    case Scope::operate:
      return "operate";
    case Scope::admin:
      return "admin";
  }
  return "unknown";
}

std::optional<Scope> scope_from(std::string_view text) {
  constexpr std::array kScopes = {Scope::enqueue, Scope::work, Scope::read, Scope::operate,
                                  Scope::admin};
  for (const Scope scope : kScopes) {
    if (to_string(scope) == text) return scope;
  }
  return std::nullopt;
}

}  // namespace weir::core
