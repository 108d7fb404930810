// Numbers of things in messages: "1 row", "2 rows".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace latchkey {

/// `count` and `noun`, which takes an s unless the count is 1. REQUIRES: the plural of `noun` is
/// regular.
inline std::string CountOf(uint64_t count, std::string_view noun) {
  return std::to_string(count) + ' ' + std::string(noun) + (count == 1 ? "" : "s");
}

}  // namespace latchkey
