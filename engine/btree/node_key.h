// Small functions on key bytes, shared by the files of the B+tree page.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/btree/node_format.h"

namespace latchkey {

/// The first four bytes of `suffix` as a number whose order is the bytes' order, zero padded.
inline uint32_t LoadHead(std::string_view suffix) {
  uint32_t bytes = 0;
  if (suffix.size() >= sizeof(bytes)) {
    std::memcpy(&bytes, suffix.data(), sizeof(bytes));
    return __builtin_bswap32(bytes);
  }
  for (const char c : suffix) bytes = (bytes << 8) | static_cast<unsigned char>(c);
  // Shifting by 32 is undefined; an empty suffix has head 0 either way.
  return bytes << ((8 * (sizeof(bytes) - suffix.size())) & 31);
}

inline void StoreHead(uint32_t head, char* to) {
  const uint32_t bytes = __builtin_bswap32(head);
  std::memcpy(to, &bytes, sizeof(bytes));
}

inline uint32_t CommonPrefixLength(std::string_view a, std::string_view b) {
  const size_t limit = std::min(a.size(), b.size());
  return static_cast<uint32_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(limit), b.begin()).first -
      a.begin());
}

/// Length of the prefix that every key in [lower, upper) must have.
inline uint32_t FencePrefixLength(std::string_view lower,
                                  const std::optional<std::string_view>& upper) {
  return upper ? CommonPrefixLength(lower, *upper) : 0;
}

/// The shortest key s with left < s <= right. REQUIRES: left < right.
inline std::string_view ShortestSeparator(std::string_view left, std::string_view right) {
  return right.substr(0, CommonPrefixLength(left, right) + 1);
}

}  // namespace latchkey
