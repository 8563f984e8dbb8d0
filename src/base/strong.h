// SPDX-License-Identifier: Apache-2.0
// Strong<Tag, Rep>: a number that is an id, not just a number. 0 means none.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace weir {

template <typename Tag, typename Rep>
struct Strong {
  Rep value = 0;
  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Strong&) const = default;
};

}  // namespace weir

template <typename Tag, typename Rep>
struct std::hash<weir::Strong<Tag, Rep>> {
  std::size_t operator()(weir::Strong<Tag, Rep> id) const noexcept {
    return static_cast<std::size_t>(id.value * 0x9E3779B97F4A7C15ULL);
  }
};
